"""Subscriptions over several dimensions, drawn and matched by the letter."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .reference import Drawn, drawn, holds, overlaps


class DrawnSubscriptions(NamedTuple):
    offsets: np.ndarray
    dimension: np.ndarray
    given: Drawn
    n_dimensions: int

    def arguments(self):
        """For `RankedIndex.build`."""
        arguments, ends = self.given.arguments()
        return (self.offsets, self.dimension, *arguments), {**ends, "n_dimensions": self.n_dimensions}


def drawn_subscriptions(n, n_dimensions, seed, n_scores=4, absent=0.4):
    rng = np.random.default_rng(seed)
    is_there = rng.random((n, n_dimensions)) >= absent
    given = drawn(int(is_there.sum()), seed, n_values=8, n_scores=n_scores)
    np.abs(given.score, out=given.score)
    offsets = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))])
    return DrawnSubscriptions(offsets, np.nonzero(is_there)[1], given, n_dimensions)


def drawn_event(n_dimensions, rng, with_intervals=False):
    event: dict[int, Any] = {}
    for dimension in range(n_dimensions):
        if rng.random() < 0.8:
            low = int(rng.integers(-1, 24)) / 2
            event[dimension] = low
            if with_intervals and rng.random() < 0.6:
                event[dimension] = (low, low + int(rng.integers(0, 6)) / 2)
    return event


def meets(given, entry, value):
    ends = given.left[entry], given.right[entry], given.left_open[entry], given.right_open[entry]
    if isinstance(value, tuple):
        return overlaps(*ends, *value) if value[0] < value[1] else holds(*ends, value[0])
    return holds(*ends, value)


def best(subscriptions, event, k, mode, combine="sum", weights=None, own_scores=None):
    """Ids and scores of the best k: each subscription is looked at, from its first dimension to its last."""
    found = []
    for s in range(len(subscriptions.offsets) - 1):
        total, n_met = 0.0, 0
        entries = range(subscriptions.offsets[s], subscriptions.offsets[s + 1])
        for entry in entries:
            dimension = int(subscriptions.dimension[entry])
            if dimension in event and meets(subscriptions.given, entry, event[dimension]):
                score = float(subscriptions.given.score[entry])
                score *= 1.0 if weights is None else weights[dimension]
                total = total + score if combine == "sum" else max(total, score)
                n_met += 1
        if (mode == "exact" and n_met == len(entries)) or (mode == "relaxed" and n_met > 0):
            found.append((s, total if own_scores is None else float(own_scores[s])))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]

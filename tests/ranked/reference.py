"""Scored intervals by the letter: every interval looked at for every query, ends open and closed as they were given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Drawn(NamedTuple):
    left: np.ndarray
    right: np.ndarray
    score: np.ndarray
    left_open: np.ndarray
    right_open: np.ndarray

    @property
    def n(self):
        return len(self.left)

    def arguments(self):
        """For `build` and `insert`."""
        return (*self[:3],), {"left_open": self.left_open, "right_open": self.right_open}

    def part(self, first, last):
        return Drawn(*(array[first:last] for array in self))


def drawn(n, seed, n_values=20, n_scores=5):
    """Few values and scores, so that points, duplicates, ties, shared and infinite ends of all kinds occur."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_values, n).astype(np.float64)
    right = left + rng.integers(0, 6, n) * rng.integers(0, 3, n)
    left[rng.random(n) < 0.06] = -np.inf
    right[rng.random(n) < 0.06] = np.inf
    score = rng.integers(-1, n_scores, n) / 2
    return Drawn(left, right, score, rng.random(n) < 0.3, rng.random(n) < 0.3)


def queries(n_values=20):
    """All ends that are drawn, what lies between them, and what lies beyond."""
    return [-np.inf, *np.arange(-1, n_values + 12, 0.5).tolist(), np.inf]


def holds(left, right, left_open, right_open, point):
    after = left < point or (left == point and not left_open)
    before = point < right or (point == right and not right_open)
    return after and before


def overlaps(left, right, left_open, right_open, low, high):
    """Whether an interval shares a number with [low, high]: the ends and the middle of what they share are tried."""
    begin, end = max(left, low), min(right, high)
    if begin > end:
        return False
    middle = begin / 2 + end / 2 if np.isfinite([begin, end]).all() else 0.0 if begin < 0 < end else np.nan
    if np.isinf(begin) != np.isinf(end):
        middle = end - 1 if np.isinf(begin) else begin + 1
    return any(holds(left, right, left_open, right_open, point) for point in (begin, end, middle))


def ranked(given, is_found):
    """Ids and scores of what is found, by score and then by id."""
    found = [(i, float(given.score[i])) for i in range(given.n) if is_found(i)]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def stabbed(given, point, without=()):
    def is_found(i):
        ends = given.left[i], given.right[i], given.left_open[i], given.right_open[i]
        return i not in without and holds(*ends, point)

    return ranked(given, is_found)


def overlapped(given, low, high):
    def is_found(i):
        ends = given.left[i], given.right[i], given.left_open[i], given.right_open[i]
        return overlaps(*ends, low, high)

    return ranked(given, is_found)


def pairs(found):
    """A `Ranked`, as the reference gives it."""
    return list(zip(found.ids.tolist(), found.scores.tolist(), strict=True))

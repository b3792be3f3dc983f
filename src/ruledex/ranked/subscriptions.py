"""Subscriptions over several dimensions and events in them: read, checked, and what they score.

A subscription's intervals lie together, closed, in the order of dimensions. An event is a number or an interval in some
of the dimensions, and has one list per dimension, read from a tree as far as it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.ranking import precedes, push, sort_heap
from ruledex.errors import EventError, RuledexError
from ruledex.ranked.intervals import closed_intervals, doubles
from ruledex.ranked.tree import Ranked, ScoredTree

SUM, MAX = 0, 1
NO_ENTRY = -1
SubscriptionArrays = tuple[NDArray[Any], ...]
Floats = NDArray[np.float64]
Value = float | tuple[float, float]
EventLike = Mapping[int, Value] | Sequence[float] | NDArray[np.float64]


class Subscriptions(NamedTuple):
    """An entry is an interval of a subscription in one dimension; a subscription's are in the order of dimensions."""

    offsets: NDArray[np.int64]  # [n_subscriptions + 1]
    dimension: NDArray[np.int32]  # [n_entries]
    ends: NDArray[np.float64]  # [2 * n_entries]
    score: NDArray[np.float64]  # [n_entries] finite and not negative
    owner: NDArray[np.int32]  # [n_entries] the subscription


class Event(NamedTuple):
    """An event by dimension: its interval, NaN where it has none, and the weight of the dimension."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: NDArray[np.float64]


@inlined
def combine_scores(combination: int, score: float, other: float) -> float:
    """Combine two scores. The result is never less than the larger one, and grows with each, in floating point too."""
    return score + other if combination == SUM else max(score, other)


@inlined
def relaxed_score(
    offsets: NDArray[np.int64],
    dimension: NDArray[np.int32],
    ends: NDArray[np.float64],
    score: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    weight: NDArray[np.float64],
    combination: int,
    subscription: int,
) -> float:
    """Return the score of the intervals that the event meets, in the order of dimensions; -1 if it meets none."""
    # There are no branches, since half of them would be predicted wrong. An interval that is not met adds 0, which
    # changes no bit of the sum.
    total, n_met = 0.0, 0
    for entry in range(offsets[subscription], offsets[subscription + 1]):
        d = dimension[entry]
        is_met = (ends[2 * entry] <= high[d]) & (ends[2 * entry + 1] >= low[d])
        points = weight[d] * score[entry]
        total = combine_scores(combination, total, points if is_met else 0.0)
        n_met += is_met
    return total if n_met > 0 else -1.0


@inlined
def matches(
    offsets: NDArray[np.int64],
    dimension: NDArray[np.int32],
    ends: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    subscription: int,
) -> bool:
    """Return whether the event meets all of a subscription's intervals."""
    entry, last = offsets[subscription], offsets[subscription + 1]
    while entry < last:
        d = dimension[entry]
        if not (ends[2 * entry] <= high[d] and ends[2 * entry + 1] >= low[d]):
            break
        entry += 1
    return bool(entry == last)


@jit
def full_scores(subscription_arrays: SubscriptionArrays, combination: int, out: NDArray[np.float64]) -> None:
    """Write what each subscription scores when all its intervals are met."""
    subscriptions = Subscriptions(*subscription_arrays)
    for subscription in range(out.size):
        total = 0.0
        for entry in range(subscriptions.offsets[subscription], subscriptions.offsets[subscription + 1]):
            total = combine_scores(combination, total, subscriptions.score[entry])
        out[subscription] = total


@jit
def choose_access_entries(
    subscription_arrays: SubscriptionArrays, likelihood: NDArray[np.float64], out: NDArray[np.int32]
) -> None:
    """Write for each subscription the entry that is met least often, by which it is found.

    None for those that have no intervals, and for those with one that holds nothing.
    """
    subscriptions = Subscriptions(*subscription_arrays)
    ends = subscriptions.ends
    for subscription in range(out.size):
        best = NO_ENTRY
        for entry in range(subscriptions.offsets[subscription], subscriptions.offsets[subscription + 1]):
            if np.isnan(ends[2 * entry]):
                best = NO_ENTRY
                break
            if best == NO_ENTRY or likelihood[entry] < likelihood[best]:
                best = entry
        out[subscription] = best


@jit
def relaxed_scan(
    subscription_arrays: SubscriptionArrays,
    event: Event,
    combination: int,
    ranks: NDArray[np.float64],
    found: NDArray[np.int32],
) -> int:
    """Write the best subscriptions, as many as there is room for, by a look at each of them; return how many."""
    subscriptions = Subscriptions(*subscription_arrays)
    offsets, dimension = subscriptions.offsets, subscriptions.dimension
    ends, score = subscriptions.ends, subscriptions.score
    low, high, weight = event.low, event.high, event.weight
    n_held = 0
    for subscription in range(offsets.size - 1):
        rank = relaxed_score(offsets, dimension, ends, score, low, high, weight, combination, subscription)
        if rank >= 0.0 and (n_held < ranks.size or precedes(rank, subscription, ranks[0], found[0])):
            n_held = push(ranks, found, n_held, rank, subscription)
    sort_heap(ranks, found, n_held)
    return n_held


def subscriptions_of(
    offsets: ArrayLike,
    dimension: ArrayLike,
    left: ArrayLike,
    right: ArrayLike,
    score: ArrayLike,
    n_dimensions: int,
    weights: ArrayLike | None,
    left_open: ArrayLike | None,
    right_open: ArrayLike | None,
) -> Subscriptions:
    """Check the entries; scores are multiplied by the weights of their dimensions."""
    intervals = closed_intervals(left, right, score, left_open, right_open)
    starts, dimensions = np.asarray(offsets), np.asarray(dimension)
    n_entries = len(intervals.score)
    if dimensions.shape != (n_entries,):
        raise RuledexError(
            f"dimension has the shape {dimensions.shape}, but needs one entry for each of {n_entries:,} intervals"
        )
    is_ascending = starts.ndim == 1 and len(starts) > 0 and bool(np.all(np.diff(starts) >= 0))
    if not is_ascending or starts[0] != 0 or starts[-1] != n_entries:
        raise RuledexError(f"offsets must ascend from 0 to the {n_entries:,} entries")
    if np.any((dimensions < 0) | (dimensions >= n_dimensions)):
        raise RuledexError(f"dimensions must be from 0 to {n_dimensions - 1}")
    owner = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    in_order = (owner[1:] != owner[:-1]) | (dimensions[1:] > dimensions[:-1])
    if not in_order.all():
        subscription = int(owner[1:][~in_order][0])
        raise RuledexError(f"subscription {subscription:,}: dimensions must ascend, and each may occur once")
    points = intervals.score * check_dimension_weights(weights, n_dimensions)[dimensions]
    if np.any(points < 0) or not np.isfinite(points).all():
        raise RuledexError("scores must be finite and not negative, also when multiplied by their weights")
    return Subscriptions(
        frozen(starts, np.int64),
        frozen(dimensions, np.int32),
        intervals.ends,
        frozen(points, np.float64),
        frozen(owner, np.int32),
    )


def check_dimension_weights(weights: ArrayLike | None, n_dimensions: int) -> Floats:
    """Return the weight of each dimension, 1 where none are given; refuse wrong ones."""
    if weights is None:
        return np.ones(n_dimensions)
    given = doubles("weights", weights)
    if len(given) != n_dimensions or not np.isfinite(given).all() or np.any(given < 0):
        raise RuledexError(f"weights must be {n_dimensions} finite numbers that are not negative")
    return given


def from_columns(
    left: ArrayLike, right: ArrayLike, score: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats, Floats]:
    """Return offsets, dimensions, ends and scores of subscriptions given by dimension, each of shape (dimensions, n).

    A subscription that lacks a dimension has NaN there, at both ends.
    """
    lefts, rights, scores = (np.asarray(values, np.float64) for values in (left, right, score))
    if lefts.ndim != 2 or lefts.shape != rights.shape or lefts.shape != scores.shape:
        shapes = f"{lefts.shape}, {rights.shape} and {scores.shape}"
        raise RuledexError(f"left, right and score must have one shape of two dimensions, not {shapes}")
    is_there = ~(np.isnan(lefts) & np.isnan(rights)).T
    offsets = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))])
    dimension = np.nonzero(is_there)[1].astype(np.int32)
    return offsets, dimension, lefts.T[is_there], rights.T[is_there], scores.T[is_there]


class EventRows(NamedTuple):
    """An event by dimension, the dimensions that it has, ascending, and whether it has a number in each of them."""

    event: Event
    dimensions: NDArray[np.int32]
    is_point: bool


def event_rows(event: EventLike, n_dimensions: int, weights: ArrayLike | None = None) -> EventRows:
    """Read a mapping of dimensions to numbers or pairs (low, high), or one number for each dimension.

    What is NaN is not there.
    """
    if isinstance(event, Mapping):
        low, high = np.full(n_dimensions, np.nan), np.full(n_dimensions, np.nan)
        for dimension, value in event.items():
            if not 0 <= dimension < n_dimensions:
                raise EventError(f"the event has dimension {dimension}, but the index has only {n_dimensions}")
            low[dimension], high[dimension] = value if isinstance(value, tuple) else (value, value)
    else:
        low = np.array(event, np.float64)
        high = low
        if low.shape != (n_dimensions,):
            raise EventError(
                f"the event has the shape {low.shape}, but needs one number for each of {n_dimensions} dimensions"
            )
    if np.any(np.isnan(low) != np.isnan(high)) or np.any(low > high):
        raise EventError("an interval of the event must be two numbers, the smaller first")
    dimensions = np.flatnonzero(~np.isnan(low)).astype(np.int32)
    is_point = low is high or bool(np.all(low[dimensions] == high[dimensions]))
    return EventRows(Event(low, high, check_dimension_weights(weights, n_dimensions)), dimensions, is_point)


class RankedLists:
    """Rows of ids and scores, the best first: `n_filled` of each, and more to come where `has_more` is not 0.

    A list that comes from no tree may be given as one more row, the last.
    """

    def __init__(self, tree: ScoredTree, rows: EventRows, n_room: int, whole: Ranked | None = None) -> None:
        n_rows = len(rows.dimensions) + (whole is not None)
        self._tree = tree
        self._trees = rows.dimensions
        self._low, self._high = rows.event.low[rows.dimensions], rows.event.high[rows.dimensions]
        self._cursors = tree.new_cursors(n_rows, rows.is_point)
        self.has_more = self._cursors.n_held
        n_room = max(n_room, 0 if whole is None else len(whole.ids))
        self.ids, self.scores = np.empty((n_rows, n_room), np.int32), np.empty((n_rows, n_room))
        self.n_filled = np.zeros(n_rows, np.int64)
        if whole is not None:
            self.has_more[-1], self.n_filled[-1] = 0, len(whole.ids)
            self.ids[-1, : len(whole.ids)], self.scores[-1, : len(whole.ids)] = whole

    def fill(self, wanted: NDArray[np.int64]) -> None:
        """Read on until each row of a tree has as many entries as are wanted of it, or all that there are."""
        n_rows, n_room = self.ids.shape
        n_needed, n_before = int(wanted.max(initial=0)), int(self.n_filled.max(initial=0))
        if n_needed > n_room:
            ids, scores = np.empty((n_rows, n_needed), np.int32), np.empty((n_rows, n_needed))
            ids[:, :n_before], scores[:, :n_before] = self.ids[:, :n_before], self.scores[:, :n_before]
            self.ids, self.scores = ids, scores
        self._tree.fill(
            self._trees,
            self._low,
            self._high,
            self._cursors,
            False,
            wanted,
            self.ids,
            self.scores,
            self.n_filled,
        )

"""Users' intervals as the trees take them: closed at both ends, checked, in the order of their scores.

An open end is the next number within: over numbers of 64 bits, (a, b) holds exactly what [next(a), previous(b)] holds,
so no tree and no kernel knows of open ends. Infinity is a number like others: [5, inf] holds it, [5, inf) does not. An
interval that holds nothing, such as (3, 3], keeps its id and is in no tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ruledex.compiled.arrays import frozen
from ruledex.errors import RuledexError

LARGEST_EXACT = 2**53  # above it, not every whole number is a double
MOST_INTERVALS = 2**31 - 1  # ids are int32

Floats = NDArray[np.float64]


class Intervals(NamedTuple):
    """Closed intervals by id. `ends` has the low end of interval i at 2i and the high one at 2i + 1.

    Both are NaN where the interval holds nothing.
    """

    ends: Floats
    score: Floats


class Entries(NamedTuple):
    """What trees are built from: tree t has the entries from `offsets[t]` up to `offsets[t + 1]`.

    Within a tree the largest score comes first and ties are by id. `score` is by id, not by entry.
    """

    offsets: NDArray[np.int64]
    ends: Floats  # [2 * n_entries]
    ids: NDArray[np.int32]
    score: Floats


def doubles(name: str, values: ArrayLike) -> Floats:
    """Return numbers in one dimension as doubles; refuse those that 64 bits would change."""
    given = np.atleast_1d(np.asarray(values))
    if given.ndim != 1 or given.dtype.kind not in "biuf":
        raise RuledexError(f"{name} must be one dimension of numbers, not {given.dtype} of shape {given.shape}")
    if given.dtype.kind in "iu" and np.any((given > LARGEST_EXACT) | (given < -LARGEST_EXACT)):
        raise RuledexError(f"{name} holds whole numbers beyond 2**53, which are not exact as doubles")
    return given.astype(np.float64)


def closed_intervals(
    left: ArrayLike,
    right: ArrayLike,
    score: ArrayLike,
    left_open: ArrayLike | None = None,
    right_open: ArrayLike | None = None,
) -> Intervals:
    """Check the intervals, and close those ends that are open."""
    low, high, points = doubles("left", left), doubles("right", right), doubles("score", score)
    for name, values in (("right", high), ("score", points)):
        if len(values) != len(low):
            raise RuledexError(f"{name} has {len(values):,} entries, left has {len(low):,}")
    if len(low) > MOST_INTERVALS:
        raise RuledexError(f"{len(low):,} intervals are more than the {MOST_INTERVALS:,} that have ids")
    for name, values in (("left", low), ("right", high)):
        refuse(np.isnan(values), f"{name} is not a number")
    refuse(~np.isfinite(points), "the score is not a finite number")
    refuse(low > high, "left is larger than right")
    opens = _flags("left_open", left_open, len(low)), _flags("right_open", right_open, len(low))
    is_empty = (low == high) & (opens[0] | opens[1])
    for values, is_open, inwards in ((low, opens[0], np.inf), (high, opens[1], -np.inf)):
        with np.errstate(over="ignore"):  # next to the largest number is infinity, as it should be
            values[is_open] = np.nextafter(values[is_open], inwards)
    ends = np.empty(2 * len(low))
    ends[0::2], ends[1::2] = low, high
    ends.reshape(-1, 2)[is_empty | (low > high)] = (
        np.nan
    )  # no comparison with it holds, so that it overlaps no interval either
    return Intervals(frozen(ends, np.float64), frozen(points, np.float64))


def _flags(name: str, given: ArrayLike | None, n_intervals: int) -> NDArray[np.bool_]:
    """Return whether each end is open, by a flag for each or by one for all."""
    flags = np.asarray(False if given is None else given, np.bool_)
    if flags.shape not in ((), (n_intervals,)):
        raise RuledexError(f"{name} has the shape {flags.shape}, but needs one entry per interval")
    return np.broadcast_to(flags, n_intervals)


def refuse(is_wrong: NDArray[np.bool_], what: str) -> None:
    """Raise an error that names the first interval that is wrong."""
    if is_wrong.any():
        raise RuledexError(f"interval {int(np.argmax(is_wrong)):,}: {what}")


def entries_of(intervals: Intervals, tree: NDArray[np.integer] | None = None, n_trees: int = 1) -> Entries:
    """Return the intervals that hold something, by tree and then by score; `tree` has the tree of each, or is None."""
    ids = np.flatnonzero(intervals.ends[0::2] <= intervals.ends[1::2])
    if tree is None:
        order = np.argsort(-intervals.score[ids], kind="stable")
        offsets = np.array([0, len(ids)])
    else:
        order = np.lexsort((-intervals.score[ids], tree[ids]))
        offsets = np.searchsorted(tree[ids][order], np.arange(n_trees + 1))
    ids = ids[order]
    ends = intervals.ends.reshape(-1, 2)[ids].reshape(-1)
    return Entries(
        frozen(offsets, np.int64), frozen(ends, np.float64), frozen(ids, np.int32), frozen(intervals.score, np.float64)
    )

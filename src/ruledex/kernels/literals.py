"""Whether a literal holds of one event, looked up in the event's ascending cells.

These are compiled into the kernels that call them, take arrays and not tuples of them, and have one end each: else
Numba counts references to every array at every call, which costs several times the work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import inlined, jit

NO_WEIGHT = -1.0  # weights are not negative


class Literals(NamedTuple):
    """The literals of a Program, under the names that they have there."""

    interval_offsets: NDArray[np.int64]
    interval_low: NDArray[np.int32]
    interval_high: NDArray[np.int32]
    negative_presence: NDArray[np.int32]
    negative_of: NDArray[np.int32]


@jit
def first_at_least(values: NDArray[np.int32], begin: int, end: int, value: int) -> int:
    """The first place in the ascending `values[begin:end]` that is not below `value`, or `end`."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@inlined
def positive_holds(
    interval_offsets: NDArray[np.int64],
    interval_low: NDArray[np.int32],
    interval_high: NDArray[np.int32],
    literal: int,
    cells: NDArray[np.int32],
    begin: int,
    end: int,
) -> bool:
    """Whether the event whose cells are `cells[begin:end]` has one within the literal's intervals.

    The fewer of intervals and cells are gone through, and each is looked up among the others.
    """
    first, last = interval_offsets[literal], interval_offsets[literal + 1]
    holds = False
    if last - first <= end - begin:
        while first < last and not holds:
            place = first_at_least(cells, begin, end, interval_low[first])
            holds = place < end and cells[place] <= interval_high[first]
            first += 1
    else:
        while begin < end and not holds:
            interval = first_at_least(interval_high, first, last, cells[begin])
            holds = interval < last and interval_low[interval] <= cells[begin]
            begin += 1
    return holds


@inlined
def literal_holds(
    interval_offsets: NDArray[np.int64],
    interval_low: NDArray[np.int32],
    interval_high: NDArray[np.int32],
    negative_presence: NDArray[np.int32],
    negative_of: NDArray[np.int32],
    node: int,
    cells: NDArray[np.int32],
    begin: int,
    end: int,
) -> bool:
    """Whether the literal `node`, positive or negative, is true of the event."""
    n_positive = interval_offsets.size - 1
    literal, may_hold, wanted = node, True, True
    if node >= n_positive:
        presence = negative_presence[node - n_positive]
        place = first_at_least(cells, begin, end, presence)
        literal, may_hold, wanted = negative_of[node - n_positive], place < end and cells[place] == presence, False
    if may_hold:
        holds = positive_holds(interval_offsets, interval_low, interval_high, literal, cells, begin, end)
        may_hold = holds == wanted
    return may_hold


@inlined
def positive_weight(
    interval_offsets: NDArray[np.int64],
    interval_low: NDArray[np.int32],
    interval_high: NDArray[np.int32],
    literal: int,
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
) -> float:
    """The largest of the event's weights within the literal's intervals, or NO_WEIGHT where it has no cell there."""
    best = NO_WEIGHT
    first, last = interval_offsets[literal], interval_offsets[literal + 1]
    if weights.size == 0:
        if positive_holds(interval_offsets, interval_low, interval_high, literal, cells, begin, end):
            best = 1.0
    elif last - first <= end - begin:
        for interval in range(first, last):
            place = first_at_least(cells, begin, end, interval_low[interval])
            while place < end and cells[place] <= interval_high[interval]:
                best = max(best, weights[place])
                place += 1
    else:
        for place in range(begin, end):
            interval = first_at_least(interval_high, first, last, cells[place])
            if interval < last and interval_low[interval] <= cells[place]:
                best = max(best, weights[place])
    return best

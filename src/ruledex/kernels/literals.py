"""Whether a literal holds of one event, looked up in the event's ascending cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit

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


@jit
def positive_holds(literals: Literals, literal: int, cells: NDArray[np.int32], begin: int, end: int) -> bool:
    """Whether the event whose cells are `cells[begin:end]` has one within the literal's intervals."""
    first, last = literals.interval_offsets[literal], literals.interval_offsets[literal + 1]
    if last - first <= end - begin:
        for interval in range(first, last):
            place = first_at_least(cells, begin, end, literals.interval_low[interval])
            if place < end and cells[place] <= literals.interval_high[interval]:
                return True
        return False
    for place in range(begin, end):
        interval = first_at_least(literals.interval_high, first, last, cells[place])
        if interval < last and literals.interval_low[interval] <= cells[place]:
            return True
    return False


@jit
def literal_holds(literals: Literals, node: int, cells: NDArray[np.int32], begin: int, end: int) -> bool:
    """Whether the literal `node`, positive or negative, is true of the event."""
    n_positive = literals.interval_offsets.size - 1
    if node < n_positive:
        return positive_holds(literals, node, cells, begin, end)
    presence = literals.negative_presence[node - n_positive]
    place = first_at_least(cells, begin, end, presence)
    if place == end or cells[place] != presence:
        return False
    return not positive_holds(literals, literals.negative_of[node - n_positive], cells, begin, end)


@jit
def positive_weight(
    literals: Literals,
    literal: int,
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
) -> float:
    """The largest of the event's weights within the literal's intervals, or NO_WEIGHT where it has no cell there."""
    if weights.size == 0:
        return 1.0 if positive_holds(literals, literal, cells, begin, end) else NO_WEIGHT
    best = NO_WEIGHT
    first, last = literals.interval_offsets[literal], literals.interval_offsets[literal + 1]
    if last - first <= end - begin:
        for interval in range(first, last):
            place = first_at_least(cells, begin, end, literals.interval_low[interval])
            while place < end and cells[place] <= literals.interval_high[interval]:
                best = max(best, weights[place])
                place += 1
        return best
    for place in range(begin, end):
        interval = first_at_least(literals.interval_high, first, last, cells[place])
        if interval < last and literals.interval_low[interval] <= cells[place]:
            best = max(best, weights[place])
    return best

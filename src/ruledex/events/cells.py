"""Find the cells of columns of values, collect them as pairs of an event and a cell, and sort them by event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL, EVERY, OFFSET
from ruledex.compiled.decorator import jit

_LARGEST_INSERTION_SORT = 48
_EVENT: Final = np.int32
_NO_EVENTS: Final = np.empty(0, _EVENT)
_NO_CELLS: Final = np.empty(0, CELL)


@jit
def integer_cells(
    values: NDArray[np.int64],
    floors: NDArray[np.int64],
    is_whole: NDArray[np.bool_],
    near: NDArray[np.int32],
    first_cell: int,
    out: NDArray[np.int32],
) -> None:
    """Write the cell of each integer among cuts that need not be integers.

    `floors` are the cuts rounded down, ascending; a whole cut comes before others of the same floor. A cut is below an
    integer exactly if its floor is. If `near` is not empty, it has the cells of all integers from the first floor to
    the last, counted from `first_cell`: a look-up costs much less than a search.
    """
    n_cuts = floors.size
    for place in range(values.size):
        value = values[place]
        cell = 0
        if near.size != 0:
            if value > floors[n_cuts - 1]:
                cell = 2 * n_cuts
            elif value >= floors[0]:
                cell = near[value - floors[0]]
        else:
            low, high = 0, n_cuts
            while low < high:
                middle = (low + high) >> 1
                if floors[middle] < value:
                    low = middle + 1
                else:
                    high = middle
            cell = 2 * low + (1 if low < n_cuts and floors[low] == value and is_whole[low] else 0)
        out[place] = first_cell + cell


@jit
def double_cells(
    values: NDArray[np.float64], cuts: NDArray[np.float64], first_cell: int, out: NDArray[np.int32]
) -> None:
    """Write the cell of each double, none of them NaN, among ascending doubles."""
    for place in range(values.size):
        value = values[place]
        low, high = 0, cuts.size
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] < value:
                low = middle + 1
            else:
                high = middle
        is_point = low < cuts.size and cuts[low] == value
        out[place] = first_cell + 2 * low + (1 if is_point else 0)


@jit
def compare_bytes(
    left: NDArray[np.uint8], begin: int, end: int, right: NDArray[np.uint8], right_begin: int, right_end: int
) -> int:
    """Return a negative number, 0 or a positive one if the left text sorts before, like or after the right one."""
    length = min(end - begin, right_end - right_begin)
    for place in range(length):
        one, other = left[begin + place], right[right_begin + place]
        if one != other:
            return -1 if one < other else 1
    return (end - begin) - (right_end - right_begin)


@jit
def text_cells(
    offsets: NDArray[np.int64],
    text: NDArray[np.uint8],
    cut_offsets: NDArray[np.int64],
    cut_text: NDArray[np.uint8],
    first_cell: int,
    out: NDArray[np.int32],
) -> None:
    """Write the cell of each text among ascending texts. All are UTF-8, whose bytes sort as its characters do."""
    for place in range(offsets.size - 1):
        begin, end = offsets[place], offsets[place + 1]
        low, high = 0, cut_offsets.size - 1
        is_point = False
        while low < high:
            middle = (low + high) >> 1
            order = compare_bytes(text, begin, end, cut_text, cut_offsets[middle], cut_offsets[middle + 1])
            if order > 0:
                low = middle + 1
            else:
                is_point = is_point or order == 0
                high = middle
        out[place] = first_cell + 2 * low + (1 if is_point else 0)


@jit
def gather_pairs(
    events: NDArray[np.int64],
    codes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    out_events: NDArray[np.int64],
    out_cells: NDArray[np.int32],
) -> None:
    """Write pairs of an event and a cell, for all cells of the event's code: a CSR list of `cells`."""
    n_pairs = 0
    for place in range(events.size):
        for at in range(offsets[codes[place]], offsets[codes[place] + 1]):
            out_events[n_pairs] = events[place]
            out_cells[n_pairs] = cells[at]
            n_pairs += 1


@jit
def count_pairs(events: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
    """Fill `offsets`, which is zero at first, with room for the pairs of each event and for `EVERY`."""
    for event in events:
        offsets[event + 1] += 1
    for event in range(offsets.size - 1):
        offsets[event + 1] += offsets[event] + 1


@jit
def place_cells(
    events: NDArray[np.int32],
    cells: NDArray[np.int32],
    offsets: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write `EVERY` and the cells of its pairs to each event's part of `out`; `ends` is scratch, one per event."""
    for event in range(ends.size):
        out[offsets[event]] = EVERY
        ends[event] = offsets[event] + 1
    for place in range(events.size):
        event = events[place]
        out[ends[event]] = cells[place]
        ends[event] += 1


@jit
def order_cells(offsets: NDArray[np.int64], cells: NDArray[np.int32]) -> int:
    """Sort each event's cells in place, drop duplicates and close the gaps; return the number of cells."""
    n_cells = 0
    begin = offsets[0]
    for event in range(offsets.size - 1):
        end = offsets[event + 1]
        if end - begin > _LARGEST_INSERTION_SORT:
            cells[begin:end] = np.sort(cells[begin:end])
        else:
            for place in range(begin + 1, end):
                cell = cells[place]
                at = place
                while at > begin and cells[at - 1] > cell:
                    cells[at] = cells[at - 1]
                    at -= 1
                cells[at] = cell
        for place in range(begin, end):
            if place == begin or cells[place] != cells[n_cells - 1]:
                cells[n_cells] = cells[place]
                n_cells += 1
        begin = end
        offsets[event + 1] = n_cells
    return n_cells


class Pairs:
    """Pairs of an event and a cell, in any order."""

    def __init__(self) -> None:
        self.single = True  # whether no event has two values of one attribute
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int32] | int]] = []

    def add(self, events: NDArray[np.int64], cells: NDArray[np.int32] | int) -> None:
        """Add one cell per event, or one cell for all of them."""
        self._parts.append((events, cells))

    def add_each(self, events: NDArray[np.int64], cells: Iterable[int]) -> None:
        """Add each of the cells for each event."""
        for cell in cells:
            self.add(events, cell)

    def gather(self, events: NDArray[np.int64], codes: NDArray[np.int64], table: CellTable) -> None:
        """Add all cells of its code for each event."""
        n_pairs = int(np.diff(table.offsets)[codes].sum())
        if n_pairs:
            out_events, out_cells = np.empty(n_pairs, np.int64), np.empty(n_pairs, CELL)
            gather_pairs(events, codes, *table, out_events, out_cells)
            self.add(out_events, out_cells)

    def all(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the events and the cells of all pairs."""
        if not self._parts:
            return _NO_EVENTS, _NO_CELLS
        n_pairs = sum(len(events) for events, _ in self._parts)
        all_events, all_cells = np.empty(n_pairs, _EVENT), np.empty(n_pairs, CELL)
        begin = 0
        for events, cells in self._parts:
            end = begin + len(events)
            all_events[begin:end] = events
            all_cells[begin:end] = cells
            begin = end
        return all_events, all_cells


class CellTable(NamedTuple):
    """The cells of each code, as CSR lists."""

    offsets: NDArray[np.int64]
    cells: NDArray[np.int32]


def cell_table(cells: Sequence[Sequence[int]]) -> CellTable:
    """Return the table of codes with these cells."""
    offsets = np.zeros(len(cells) + 1, OFFSET)
    np.cumsum([len(row) for row in cells], out=offsets[1:])
    return CellTable(offsets, np.array([cell for row in cells for cell in row], CELL))

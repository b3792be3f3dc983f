"""Collect pairs of an event and a cell, for all values of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL, OFFSET
from ruledex.events.cells import gather_pairs

_EVENT: Final = np.int32
_NO_EVENTS: Final = np.empty(0, _EVENT)
_NO_CELLS: Final = np.empty(0, CELL)


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

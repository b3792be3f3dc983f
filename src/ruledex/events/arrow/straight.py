"""Encode all columns of plain types in one pass of compiled code, from their buffers straight to cells.

Integers, doubles, truth values and texts are read where Arrow has them: the C data interface gives the addresses of all
buffers in one call, whatever the number of columns, and the kernels read them through handles (compiled/handles.py).
What else a table has is encoded column by column as pairs of an event and a cell, which the pass takes in.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import CELL, EVERY, OFFSET, WEIGHT
from ruledex.compiled.handles import Handle
from ruledex.events.arrow.straight_kernels import (
    BOOLEAN,
    BUFFERS,
    DOUBLE,
    IN_FIRST,
    IN_SECOND,
    INTEGER,
    RELEASE,
    SIZE_BITS,
    STRUCT,
    TEXT,
    find_buffers,
    place_columns,
)
from ruledex.events.batch import EventBatch
from ruledex.events.cells import Pairs, order_cells

_KINDS: Final[dict[int, tuple[int, int, int]]] = {  # of each type: how, bytes per value or offset, and whether signed
    pa.int8().id: (INTEGER, 1, 1),
    pa.int16().id: (INTEGER, 2, 1),
    pa.int32().id: (INTEGER, 4, 1),
    pa.int64().id: (INTEGER, 8, 1),
    pa.uint8().id: (INTEGER, 1, 0),
    pa.uint16().id: (INTEGER, 2, 0),
    pa.uint32().id: (INTEGER, 4, 0),
    pa.float64().id: (DOUBLE, 8, 1),
    pa.bool_().id: (BOOLEAN, 1, 0),
    pa.string().id: (TEXT, 4, 1),
    pa.large_string().id: (TEXT, 8, 1),
}
_RELEASER: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_EXPORTED: Final = STRUCT + 6
_NO_WEIGHTS: Final = frozen(np.empty(0, WEIGHT), WEIGHT)
_NO_LONGS: Final = np.empty(0, np.int64)
_NO_INTS: Final = np.empty(0, np.int32)
_NO_BYTES: Final = np.empty(0, np.uint8)


class StraightCells(NamedTuple):
    """What a slot gives to the values of one type.

    `emissions` are ascending: cells that all values have, and the signs for cells in the domains. Of truth values,
    `near` has the cells of false, and then those of true.
    """

    emissions: Sequence[int]
    first_cell: int = 0
    cuts: NDArray[np.int64] = _NO_LONGS
    cut_bytes: NDArray[np.uint8] = _NO_BYTES  # of texts, or whether each cut is a whole number
    cut_offsets: NDArray[np.int64] = _NO_LONGS  # of texts
    near: NDArray[np.int32] = _NO_INTS
    second_cell: int = 0
    second_cuts: NDArray[np.int64] = _NO_LONGS


def reading_of(kind: Any) -> int | None:
    """Return how values of a type are read; None if not here."""
    found = _KINDS.get(kind.id)
    return None if found is None else found[0]


def double_keys(doubles: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return integers that are ordered as the doubles are, none of which is NaN."""
    bits = (doubles + 0.0).view(np.int64)  # which turns -0.0 into 0.0
    return np.where(bits < 0, bits ^ SIZE_BITS, bits)


def text_keys(texts: Sequence[bytes]) -> NDArray[np.int64]:
    """Return integers that are ordered as the first eight bytes of each text are."""
    firsts = np.frombuffer(b"".join(text[:8].ljust(8, b"\0") for text in texts), ">u8").astype(np.uint64)
    return (firsts ^ np.uint64(1 << 63)).view(np.int64)


class StraightColumns:
    """Encodes columns of a table by their places. Made once for all batches of a schema."""

    def __init__(self, columns: Sequence[tuple[int, Any, StraightCells]]) -> None:
        self._places = [place for place, _, _ in columns]  # in the order of their cells
        emissions: list[int] = []
        forms: list[tuple[int, ...]] = []
        constants: list[NDArray[Any]] = []
        for _, kind, cells in columns:
            begin, end = len(emissions), len(emissions) + len(cells.emissions)
            forms.append((*_KINDS[kind.id], cells.first_cell, cells.second_cell, begin, end))
            emissions += cells.emissions
            constants += [cells.cuts, cells.cut_offsets, cells.near, cells.cut_bytes, cells.second_cuts]
        self._forms = np.array(forms, np.int64).reshape(-1)
        self._emissions = np.array(emissions, CELL)
        self._handle = Handle(constants)
        self._is_ascending = _is_ascending([cells for _, _, cells in columns])

    def select(self, table: Any) -> Any | None:
        """Return these columns of a table as one record batch; None if they do not fit one, as 2 GB of texts."""
        chosen = table.select(self._places)
        if isinstance(chosen, pa.RecordBatch):
            return chosen
        batches = chosen.to_batches()
        if len(batches) != 1:
            batches = chosen.combine_chunks().to_batches()
        return batches[0] if len(batches) == 1 else None

    def encode(self, batch: Any, pairs: Pairs) -> EventBatch:
        """Return the cells of each row of what `select` returned. `pairs` are what further columns give."""
        # One array, since to ask for an address takes as long as the work on several columns: Arrow's struct with three
        # entries of a handle, and the handle of the buffers.
        scratch = np.zeros(_EXPORTED + 2 * BUFFERS * len(self._places), np.int64)
        address = scratch.ctypes.data
        batch._export_to_c(address)
        try:
            return self._encode(scratch, address, batch.num_rows, pairs)
        finally:
            _RELEASER(int(scratch[RELEASE]))(address)

    def _encode(self, scratch: NDArray[np.int64], address: int, n_events: int, pairs: Pairs) -> EventBatch:
        begins = np.empty(len(self._places), np.int64)
        offsets = np.zeros(n_events + 1, OFFSET)
        events, cells = pairs.all()
        forms, handle = self._forms, address + scratch.itemsize * _EXPORTED
        n_cells = find_buffers(scratch, address, forms, scratch[_EXPORTED:], handle, begins) + len(events)
        out: NDArray[np.int32] = np.empty(n_cells, CELL)
        place_columns(handle, begins, forms, self._handle.address, self._emissions, events, cells, offsets, out)
        n_cells = int(offsets[-1])  # NaN has none
        if len(events) or not self._is_ascending:
            n_cells = order_cells(offsets, out[:n_cells])
        out = out[:n_cells]
        offsets.flags.writeable = out.flags.writeable = False  # as engines want them
        return EventBatch(offsets, out, _NO_WEIGHTS, pairs.single)


def _is_ascending(columns: Sequence[StraightCells]) -> bool:
    """Whether the cells of an event ascend if each column gives its own in turn."""
    last = EVERY
    for cells in columns:
        n_emissions = len(cells.emissions)
        for place, cell in enumerate(cells.emissions):
            low = high = cell
            if not len(cells.cuts) and len(cells.near):  # truth values
                low, high = sorted((int(cells.near[place]), int(cells.near[n_emissions + place])))
            elif cell == IN_FIRST:
                low, high = cells.first_cell, cells.first_cell + 2 * len(cells.cuts)
            elif cell == IN_SECOND:
                low, high = cells.second_cell, cells.second_cell + 2 * len(cells.second_cuts)
            if low <= last:
                return False
            last = high
    return True

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

from ruledex.compiled.constants import CELL, EVERY, OFFSET, WEIGHT
from ruledex.compiled.decorator import inlined, jit
from ruledex.compiled.handles import Handle, bytes_at, int32_at, int64_at
from ruledex.events.arrow.buffers import set_bits
from ruledex.events.arrow.pairs import Pairs
from ruledex.events.batch import EventBatch
from ruledex.events.cells import compare_bytes, order_cells

# How the values of a column are read.
INTEGER, DOUBLE, BOOLEAN, TEXT = range(4)

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

# The numbers of a column in `forms`.
_FORM: Final = 7
_KIND, _WIDTH, _IS_SIGNED, _FIRST, _SECOND, _BEGIN, _END = range(_FORM)

# What an emission stands for if it is not a cell: the cell of a value in the first or the second domain.
IN_FIRST, IN_SECOND = -1, -2

# The arrays of a column in the handle of constants, and those in the handle of buffers.
_CONSTANTS: Final = 5
_CUTS, _CUT_OFFSETS, _NEAR, _CUT_BYTES, _SECOND_CUTS = range(_CONSTANTS)
_BUFFERS: Final = 4
_BITMAP, _LONGS, _INTS, _BYTES = range(_BUFFERS)

# Arrow's struct of one array in C: its words, and those that are read.
_STRUCT: Final = 10
_LENGTH, _OFFSET, _N_BUFFERS, _N_CHILDREN, _BUFFERS_AT, _CHILDREN_AT, _RELEASE = 0, 2, 3, 4, 5, 6, 8
_RELEASER: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_NO_LONGS: Final = np.empty(0, np.int64)
_NO_INTS: Final = np.empty(0, np.int32)
_NO_BYTES: Final = np.empty(0, np.uint8)
_INFINITY: Final = 0x7FF << 52  # the bits of the largest double; those of NaN are above
_SIZE_BITS: Final = (1 << 63) - 1  # all but the sign
_SIGN_BIT: Final = np.int64(-1 << 63)


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
    return np.where(bits < 0, bits ^ _SIZE_BITS, bits)


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
        n_events = batch.num_rows
        exported = np.zeros(_STRUCT + 6, np.int64)  # and three entries of a handle
        address = exported.ctypes.data
        batch._export_to_c(address)
        try:
            return self._encode(exported, address, n_events, pairs)
        finally:
            _RELEASER(int(exported[_RELEASE]))(address)

    def _encode(self, exported: NDArray[np.int64], address: int, n_events: int, pairs: Pairs) -> EventBatch:
        n_columns = len(self._places)
        buffers = np.zeros(2 * _BUFFERS * n_columns, np.int64)
        begins = np.empty(n_columns, np.int64)
        places = np.empty(n_events, np.int64)
        offsets = np.zeros(n_events + 1, OFFSET)
        events, cells = pairs.all()
        forms = self._forms
        n_cells = count_columns(
            exported, address, forms, buffers, buffers.ctypes.data, begins, n_events, events, places, offsets
        )
        out: NDArray[np.int32] = np.empty(n_cells, CELL)
        is_sorted = place_columns(
            buffers.ctypes.data,
            begins,
            forms,
            self._handle.address,
            self._emissions,
            events,
            cells,
            places,
            offsets,
            out,
        )
        if not is_sorted:
            out = out[: order_cells(offsets, out)]
        return EventBatch(offsets, out, np.empty(0, WEIGHT), pairs.single)


@jit
def count_columns(
    exported: NDArray[np.int64],
    exported_address: int,
    forms: NDArray[np.int64],
    buffers: NDArray[np.int64],
    buffers_address: int,
    begins: NDArray[np.int64],
    n_events: int,
    pair_events: NDArray[np.int32],
    places: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> int:
    """Fill `offsets`, which is zero at first, with room for the cells of each event; return the number of cells.

    `exported` begins with Arrow's struct, and has the given address. `buffers` becomes a handle of the columns'
    buffers, `begins` has the place of the first value of each in them, and `places` is scratch, one per event.
    """
    exported[_STRUCT], exported[_STRUCT + 1] = exported[_CHILDREN_AT], exported[_N_CHILDREN]
    children = int64_at(exported_address, 5)
    n_always = 1
    for column in range(begins.size):
        exported[_STRUCT + 2], exported[_STRUCT + 3] = children[column], _STRUCT
        child = int64_at(exported_address, 6)
        exported[_STRUCT + 4], exported[_STRUCT + 5] = child[_BUFFERS_AT], child[_N_BUFFERS]
        given = int64_at(exported_address, 7)
        form = _FORM * column
        kind, width = forms[form + _KIND], forms[form + _WIDTH]
        n_emissions = forms[form + _END] - forms[form + _BEGIN]
        offset, length = child[_OFFSET], child[_LENGTH]
        begins[column] = offset
        entry = _BUFFERS * column
        if given[0] != 0 and length != 0:
            buffers[2 * (entry + _BITMAP)], buffers[2 * (entry + _BITMAP) + 1] = given[0], (offset + length + 7) >> 3
        n_values = offset + length + (1 if kind == TEXT else 0)
        if length == 0:
            pass
        elif kind == BOOLEAN:
            buffers[2 * (entry + _BYTES)], buffers[2 * (entry + _BYTES) + 1] = given[1], (offset + length + 7) >> 3
        elif width == 8:
            buffers[2 * (entry + _LONGS)], buffers[2 * (entry + _LONGS) + 1] = given[1], n_values
        elif width == 4:
            buffers[2 * (entry + _INTS)], buffers[2 * (entry + _INTS) + 1] = given[1], n_values
        else:
            buffers[2 * (entry + _BYTES)], buffers[2 * (entry + _BYTES) + 1] = given[1], width * n_values
        longs = int64_at(buffers_address, entry + _LONGS)
        if kind == TEXT and length != 0:
            ints = int32_at(buffers_address, entry + _INTS)
            n_bytes = longs[n_values - 1] if width == 8 else np.int64(ints[n_values - 1])
            if n_bytes != 0:
                buffers[2 * (entry + _BYTES)], buffers[2 * (entry + _BYTES) + 1] = given[2], n_bytes
        bitmap = bytes_at(buffers_address, entry + _BITMAP)
        if n_emissions == 0:
            pass
        elif kind == DOUBLE:
            n_there = length if bitmap.size == 0 else set_bits(bitmap, offset, length, places)
            for number in range(n_there):
                event = number if bitmap.size == 0 else places[number]
                if (longs[offset + event] & _SIZE_BITS) <= _INFINITY:
                    offsets[event + 1] += n_emissions
        elif bitmap.size == 0:
            n_always += n_emissions
        else:
            for number in range(set_bits(bitmap, offset, length, places)):
                offsets[places[number] + 1] += n_emissions
    for place in range(pair_events.size):
        offsets[pair_events[place] + 1] += 1
    for event in range(n_events):
        offsets[event + 1] += offsets[event] + n_always
    n_cells: int = offsets[n_events]
    return n_cells


@jit
def place_columns(
    buffers: int,
    begins: NDArray[np.int64],
    forms: NDArray[np.int64],
    constants: int,
    emissions: NDArray[np.int32],
    pair_events: NDArray[np.int32],
    pair_cells: NDArray[np.int32],
    places: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> bool:
    """Write the cells of each event to its part of `out`; return whether all parts are ascending.

    `places` is scratch. The arguments are those that `count_columns` filled.
    """
    n_events = offsets.size - 1
    ends = np.empty(n_events, np.int64)
    for event in range(n_events):
        out[offsets[event]] = EVERY
        ends[event] = offsets[event] + 1
    is_sorted = True
    for column in range(begins.size):
        form = _FORM * column
        kind, width, is_signed = forms[form + _KIND], forms[form + _WIDTH], forms[form + _IS_SIGNED] != 0
        first_cell, second_cell = forms[form + _FIRST], forms[form + _SECOND]
        begin, end = forms[form + _BEGIN], forms[form + _END]
        if begin == end:
            continue
        entry, known = _BUFFERS * column, _CONSTANTS * column
        bitmap, data = bytes_at(buffers, entry + _BITMAP), bytes_at(buffers, entry + _BYTES)
        longs, ints = int64_at(buffers, entry + _LONGS), int32_at(buffers, entry + _INTS)
        cuts, cut_offsets = int64_at(constants, known + _CUTS), int64_at(constants, known + _CUT_OFFSETS)
        near, cut_bytes = int32_at(constants, known + _NEAR), bytes_at(constants, known + _CUT_BYTES)
        second_cuts = int64_at(constants, known + _SECOND_CUTS)
        offset = begins[column]
        n_there = n_events if bitmap.size == 0 else set_bits(bitmap, offset, n_events, places)
        for number in range(n_there):
            event = number if bitmap.size == 0 else places[number]
            at = offset + event
            first, second = first_cell, second_cell
            if kind == INTEGER:
                if width == 8:
                    value = longs[at]
                elif width == 4:
                    value = np.int64(ints[at])
                    if not is_signed:
                        value &= np.int64(0xFFFFFFFF)
                elif width == 2:
                    value = np.int64(data[2 * at]) | np.int64(data[2 * at + 1]) << np.int64(8)
                    if is_signed and value > 0x7FFF:
                        value -= np.int64(0x10000)
                else:
                    value = np.int64(data[at])
                    if is_signed and value > 0x7F:
                        value -= np.int64(0x100)
                first += _number_cell(value, cuts, cut_bytes, near)
            elif kind == DOUBLE:
                value = longs[at]
                if (value & _SIZE_BITS) > _INFINITY:  # NaN
                    continue
                if value < 0:
                    value = value ^ np.int64(_SIZE_BITS)
                    if value == -1:  # -0.0
                        value = np.int64(0)
                first += _number_cell(value, cuts, cut_bytes, near)
                second += _number_cell(value, second_cuts, cut_bytes, near)
            elif kind == BOOLEAN:
                first = (np.int64(data[at >> 3]) >> (at & 7) & 1) * (end - begin)
            else:
                text = longs[at] if width == 8 else np.int64(ints[at])
                text_end = longs[at + 1] if width == 8 else np.int64(ints[at + 1])
                first += _text_cell(data, text, text_end, cuts, cut_offsets, cut_bytes)
            target = ends[event]
            for emission in range(begin, end):
                cell = emissions[emission]
                if kind == BOOLEAN:
                    cell = near[first + emission - begin]
                elif cell == IN_FIRST:
                    cell = np.int32(first)
                elif cell == IN_SECOND:
                    cell = np.int32(second)
                is_sorted &= out[target - 1] < cell
                out[target] = cell
                target += 1
            ends[event] = target
    for place in range(pair_events.size):
        target = ends[pair_events[place]]
        is_sorted &= out[target - 1] < pair_cells[place]
        out[target] = pair_cells[place]
        ends[pair_events[place]] = target + 1
    return is_sorted


@inlined
def _number_cell(
    value: np.int64, cuts: NDArray[np.int64], is_whole: NDArray[np.uint8], near: NDArray[np.int32]
) -> np.int64:
    """Return the cell of a number among cuts, as `integer_cells` in events/cells.py does.

    If `is_whole` is empty, all cuts are.
    """
    n_cuts = cuts.size
    cell = np.int64(0)
    if near.size != 0:
        if value > cuts[n_cuts - 1]:
            cell = np.int64(2 * n_cuts)
        elif value >= cuts[0]:
            cell = np.int64(near[value - cuts[0]])
    else:
        low, high = 0, n_cuts
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] < value:
                low = middle + 1
            else:
                high = middle
        is_point = low < n_cuts and cuts[low] == value and (is_whole.size == 0 or is_whole[low] != 0)
        cell = np.int64(2 * low + (1 if is_point else 0))
    return cell


@inlined
def _text_cell(
    data: NDArray[np.uint8],
    begin: Any,
    end: Any,
    keys: NDArray[np.int64],
    cut_offsets: NDArray[np.int64],
    cut_bytes: NDArray[np.uint8],
) -> np.int64:
    """Return the cell of a text among ascending texts: by its first eight bytes, and by all where those are equal."""
    wanted = np.int64(0)
    for place in range(begin, min(end, begin + 8)):
        wanted |= np.int64(data[place]) << np.int64(56 - 8 * (place - begin))
    wanted ^= _SIGN_BIT
    low, high = 0, keys.size
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    is_point = False
    if low < keys.size and keys[low] == wanted:
        first_above, high = low + 1, keys.size
        if first_above < high and keys[first_above] == wanted:
            while first_above < high:
                middle = (first_above + high) >> 1
                if keys[middle] <= wanted:
                    first_above = middle + 1
                else:
                    high = middle
        high, size = first_above, end - begin
        while low < high:
            middle = (low + high) >> 1
            cut_size = cut_offsets[middle + 1] - cut_offsets[middle]
            order = size - cut_size  # of two texts that end within the eight bytes, the shorter is the first
            if size > 8 or cut_size > 8:
                order = np.int64(
                    compare_bytes(data, begin, end, cut_bytes, cut_offsets[middle], cut_offsets[middle + 1])
                )
            if order > 0:
                low = middle + 1
            else:
                is_point = is_point or order == 0
                high = middle
    return np.int64(2 * low + (1 if is_point else 0))

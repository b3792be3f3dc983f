"""Read columns of plain types from their buffers, and write the cells of each event.

Events are processed in tiles: the cells of a tile's events and all scratch stay in the nearest cache while column after
column adds to them. Within a tile each step is a loop of its own over one column: which values are there, what integer
stands for each, which cell that is among the constants, and where it is written. Such loops have no branch that depends
on a value, save for rare ones: a wrong guess of the processor costs as much as all steps of a value.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import ONE, ZERO, eight_bytes, n_bits, swapped_bytes
from ruledex.compiled.constants import EVERY
from ruledex.compiled.decorator import inlined, jit
from ruledex.compiled.handles import bytes_at, int32_at, int64_at
from ruledex.events.arrow.buffers import set_bits, valid_bits
from ruledex.events.cells import compare_bytes

# How the values of a column are read.
INTEGER, DOUBLE, BOOLEAN, TEXT = range(4)

# The numbers of a column in `forms`. An emission that is no cell stands for the cell of a value in the first or the
# second domain.
FORM: Final = 7
KIND, WIDTH, IS_SIGNED, FIRST, SECOND, BEGIN, END = range(FORM)
IN_FIRST, IN_SECOND = -1, -2

# The arrays of a column in the handle of constants, and those in the handle of buffers.
CONSTANTS: Final = 5
CUTS, CUT_OFFSETS, NEAR, CUT_BYTES, SECOND_CUTS = range(CONSTANTS)
BUFFERS: Final = 4
BITMAP, LONGS, INTS, BYTES = range(BUFFERS)

# Arrow's struct of one array in C: its words, and those that are read.
STRUCT: Final = 10
LENGTH, N_NULLS, OFFSET, N_BUFFERS, N_CHILDREN, BUFFERS_AT, CHILDREN_AT, RELEASE = 0, 1, 2, 3, 4, 5, 6, 8

TILE: Final = 1024  # events
INFINITY: Final = 0x7FF << 52  # the bits of the largest double; those of NaN are above
SIZE_BITS: Final = (1 << 63) - 1  # all but the sign
_SIGN_BIT: Final = np.uint64(1 << 63)
_THREE, _SEVEN = np.uint64(3), np.uint64(7)
_ALL: Final = ~ZERO
_FEW_CUTS: Final = 12  # which are compared one after the other


@jit
def find_buffers(
    exported: NDArray[np.int64],
    exported_address: int,
    forms: NDArray[np.int64],
    buffers: NDArray[np.int64],
    buffers_address: int,
    begins: NDArray[np.int64],
) -> int:
    """Find the buffers of all columns; return how many cells their values have at most.

    `exported` begins with Arrow's struct, and has the given address. `buffers` becomes a handle of the columns'
    buffers, and `begins` has the place of the first value of each in them.
    """
    exported[STRUCT], exported[STRUCT + 1] = exported[CHILDREN_AT], exported[N_CHILDREN]
    children = int64_at(exported_address, 5)
    n_cells = exported[LENGTH]
    for column in range(begins.size):
        exported[STRUCT + 2], exported[STRUCT + 3] = children[column], STRUCT
        child = int64_at(exported_address, 6)
        exported[STRUCT + 4], exported[STRUCT + 5] = child[BUFFERS_AT], child[N_BUFFERS]
        given = int64_at(exported_address, 7)
        form = FORM * column
        kind, width = forms[form + KIND], forms[form + WIDTH]
        offset, length = child[OFFSET], child[LENGTH]
        begins[column] = offset
        if length == 0:
            continue
        at = 2 * BUFFERS * column
        n_values = offset + length + (1 if kind == TEXT else 0)
        n_nulls = child[N_NULLS]
        if given[0] == 0:
            n_nulls = 0
        elif n_nulls != 0:
            buffers[at + 2 * BITMAP], buffers[at + 2 * BITMAP + 1] = given[0], (offset + length + 7) >> 3
        if kind == BOOLEAN:
            buffers[at + 2 * BYTES], buffers[at + 2 * BYTES + 1] = given[1], (offset + length + 7) >> 3
        elif width == 8:
            buffers[at + 2 * LONGS], buffers[at + 2 * LONGS + 1] = given[1], n_values
        elif width == 4:
            buffers[at + 2 * INTS], buffers[at + 2 * INTS + 1] = given[1], n_values
        else:
            buffers[at + 2 * BYTES], buffers[at + 2 * BYTES + 1] = given[1], width * n_values
        if kind == TEXT:
            if width == 8:
                n_bytes = int64_at(buffers_address, BUFFERS * column + LONGS)[n_values - 1]
            else:
                n_bytes = np.int64(int32_at(buffers_address, BUFFERS * column + INTS)[n_values - 1])
            if n_bytes != 0:
                buffers[at + 2 * BYTES], buffers[at + 2 * BYTES + 1] = given[2], n_bytes
        if n_nulls < 0:  # nobody has counted them yet
            n_nulls = length - _n_set(bytes_at(buffers_address, BUFFERS * column + BITMAP), offset, length)
        n_cells += (length - n_nulls) * (forms[form + END] - forms[form + BEGIN])
    return int(n_cells)


@jit
def _n_set(bitmap: NDArray[np.uint8], first: np.int64, n_values: np.int64) -> int:
    n_found = 0
    for start in range(0, n_values, 64):
        n_found += n_bits(valid_bits(bitmap, np.uint64(first + start), np.uint64(n_values - start)))
    return n_found


@jit
def place_columns(
    buffers: int,
    begins: NDArray[np.int64],
    forms: NDArray[np.int64],
    constants: int,
    emissions: NDArray[np.int32],
    pair_events: NDArray[np.int32],
    pair_cells: NDArray[np.int32],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Fill `offsets`, which is zero at first, and write to `out` the cells of each event, column by column.

    `pair_events` and `pair_cells` are what further columns give, which comes last. `out` has room for all cells.
    """
    n_events, n_columns = offsets.size - 1, begins.size
    ends = np.empty(n_events, np.int64)
    n_largest = min(TILE, n_events)
    everyone, chosen = np.empty(n_largest, np.uint64), np.empty(n_largest, np.uint64)
    for event in range(n_largest):
        everyone[event] = np.uint64(event)
    values, sizes = np.empty(n_largest, np.int64), np.empty(n_largest, np.int64)
    found, second_found = np.empty(n_largest, np.int64), np.empty(n_largest, np.int64)
    # What a tile's columns give, in their order: cells, and the event of each.
    n_most = min(out.size, n_largest * emissions.size)
    tile_cells, tile_events = np.empty(n_most, np.int32), np.empty(n_most, np.uint16)
    counts = np.empty(n_largest, np.int64)
    for pair in range(pair_events.size):
        offsets[pair_events[pair] + 1] += 1
    for first in range(0, n_events, TILE):
        n_tile = min(TILE, n_events - first)
        counts[:] = 0
        n_always, n_cells = 1, 0
        for column in range(n_columns):
            form, entry, known = FORM * column, BUFFERS * column, CONSTANTS * column
            begin, stop = forms[form + BEGIN], forms[form + END]
            if begin == stop:
                continue
            kind, width = forms[form + KIND], forms[form + WIDTH]
            bitmap, at = bytes_at(buffers, entry + BITMAP), begins[column] + first
            longs, ints = int64_at(buffers, entry + LONGS), int32_at(buffers, entry + INTS)
            data = bytes_at(buffers, entry + BYTES)
            places, n_there = everyone, n_tile
            if bitmap.size != 0:
                places, n_there = chosen, set_bits(bitmap, at, n_tile, chosen)
            if kind == DOUBLE:
                n_there = _without_nan(longs, at, places, n_there, chosen)
                places = chosen
            if bitmap.size == 0 and kind != DOUBLE:
                n_always += stop - begin
            else:
                for number in range(n_there):
                    counts[places[number]] += stop - begin
            if n_there == 0:
                continue
            cuts, near = int64_at(constants, known + CUTS), int32_at(constants, known + NEAR)
            cut_bytes = bytes_at(constants, known + CUT_BYTES)
            if kind == INTEGER:
                _read_integers(longs, ints, data, width, forms[form + IS_SIGNED] != 0, at, places, n_there, values)
                _number_cells(values, n_there, cuts, cut_bytes, near, found)
            elif kind == DOUBLE:
                _read_doubles(longs, at, places, n_there, values)
                _number_cells(values, n_there, cuts, cut_bytes, near, found)
                _number_cells(values, n_there, int64_at(constants, known + SECOND_CUTS), cut_bytes, near, second_found)
            elif kind == BOOLEAN:
                for number in range(n_there):
                    bit = np.uint64(at) + places[number]
                    found[number] = np.int64(data[bit >> _THREE] >> (bit & _SEVEN) & ONE) * (stop - begin)
            elif cuts.size == 0:
                found[:n_there] = 0
            else:
                cut_offsets = int64_at(constants, known + CUT_OFFSETS)
                _read_texts(longs, ints, data, width, at, places, n_there, values, sizes)
                n_odd = _text_cells(values, sizes, n_there, cuts, cut_offsets, found)
                for number in range(n_there if n_odd != 0 else 0):
                    if found[number] < 0:
                        place = np.uint64(at) + places[number]
                        text = longs[place] if width == 8 else np.int64(ints[place])
                        found[number] = long_text_cell(
                            data, text, text + sizes[number], ~found[number], cuts, cut_offsets, cut_bytes
                        )
            for emission in range(begin, stop):
                cell = emissions[emission]
                added = tile_cells[n_cells : n_cells + n_there]
                if kind == BOOLEAN:
                    for number in range(n_there):
                        added[number] = near[np.uint64(found[number] + emission - begin)]
                elif cell == IN_FIRST:
                    for number in range(n_there):
                        added[number] = forms[form + FIRST] + found[number]
                elif cell == IN_SECOND:
                    for number in range(n_there):
                        added[number] = forms[form + SECOND] + second_found[number]
                else:
                    added[:] = cell
                for number in range(n_there):
                    tile_events[n_cells + number] = places[number]
                n_cells += n_there
        end = offsets[first]
        for event in range(first, first + n_tile):
            out[end] = EVERY
            ends[event] = end + 1
            end += offsets[event + 1] + counts[event - first] + n_always
            offsets[event + 1] = end
        tile_ends = ends[first : first + n_tile]
        for number in range(n_cells):
            place = np.uint64(tile_events[number])
            target = tile_ends[place]
            out[np.uint64(target)] = tile_cells[number]
            tile_ends[place] = target + 1
    for pair in range(pair_events.size):
        event = pair_events[pair]
        out[ends[event]] = pair_cells[pair]
        ends[event] += 1


@jit
def _without_nan(
    doubles: NDArray[np.int64], at: int, places: NDArray[np.uint64], n_places: int, kept: NDArray[np.uint64]
) -> int:
    """Write the places of doubles, given by their bits, that are numbers; return how many there are.

    `kept` may be `places` itself.
    """
    n_kept = 0
    for number in range(n_places):
        place = places[number]
        kept[n_kept] = place
        n_kept += 1 if (doubles[np.uint64(at) + place] & SIZE_BITS) <= INFINITY else 0
    return n_kept


@jit
def _read_integers(
    longs: NDArray[np.int64],
    ints: NDArray[np.int32],
    data: NDArray[np.uint8],
    width: int,
    is_signed: bool,
    at: int,
    places: NDArray[np.uint64],
    n_there: int,
    values: NDArray[np.int64],
) -> None:
    start = np.uint64(at)
    if width == 8:
        for number in range(n_there):
            values[number] = longs[start + places[number]]
    elif width == 4 and is_signed:
        for number in range(n_there):
            values[number] = ints[start + places[number]]
    elif width == 4:
        for number in range(n_there):
            values[number] = np.int64(ints[start + places[number]]) & np.int64(0xFFFFFFFF)
    else:
        sign = np.int64(1 << (8 * width - 1)) if is_signed else np.int64(0)
        for number in range(n_there):
            place = (start + places[number]) * np.uint64(width)
            value = np.int64(data[place])
            if width == 2:
                value |= np.int64(data[place + ONE]) << np.int64(8)
            values[number] = (value ^ sign) - sign


@jit
def _read_doubles(
    longs: NDArray[np.int64], at: int, places: NDArray[np.uint64], n_there: int, values: NDArray[np.int64]
) -> None:
    """Write integers that are ordered as the doubles are."""
    for number in range(n_there):
        value = longs[np.uint64(at) + places[number]]
        if value < 0:
            value = value ^ np.int64(SIZE_BITS)
            if value == -1:  # -0.0
                value = np.int64(0)
        values[number] = value


@jit
def _read_texts(
    longs: NDArray[np.int64],
    ints: NDArray[np.int32],
    data: NDArray[np.uint8],
    width: int,
    at: int,
    places: NDArray[np.uint64],
    n_there: int,
    values: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Write the size of each text, and integers that are ordered as the first eight bytes are."""
    start, n_bytes = np.uint64(at), data.size
    for number in range(n_there):
        place = start + places[number]
        if width == 8:
            text, size = longs[place], longs[place + ONE] - longs[place]
        else:
            text, size = np.int64(ints[place]), np.int64(ints[place + ONE]) - np.int64(ints[place])
        if text + 8 <= n_bytes:
            word = swapped_bytes(eight_bytes(data, np.uint64(text)))
        else:
            word = ZERO
            for byte in range(text, min(text + size, text + 8)):
                word |= np.uint64(data[byte]) << np.uint64(56 - 8 * (byte - text))
        word &= ~(_ALL >> np.uint64(8 * min(size, 7))) if size < 8 else _ALL
        values[number] = np.int64(word ^ _SIGN_BIT)
        sizes[number] = size


@jit
def _count_below(cuts: NDArray[np.int64], values: NDArray[np.int64], n_values: int, found: NDArray[np.int64]) -> None:
    """Write how many of the cuts, of which there is one at least, are less than each value.

    All values take each step of the search together, and a step has no branch: the compiler would make one of any
    comparison, and every other guess of the processor would be wrong.
    """
    found[:n_values] = 0
    if cuts.size <= _FEW_CUTS:
        for at in range(cuts.size):
            cut = cuts[at]
            for number in range(n_values):
                found[number] += 1 if cut < values[number] else 0
        return
    length = cuts.size
    while length > 1:
        half = length >> 1
        for number in range(n_values):
            cut = cuts[np.uint64(found[number] + half - 1)]
            found[number] += half & _all_if_less(cut, values[number])
        length -= half
    for number in range(n_values):
        found[number] += 1 & _all_if_less(cuts[np.uint64(found[number])], values[number])


@inlined
def _all_if_less(left: np.int64, right: np.int64) -> np.int64:
    """Return -1, which has all bits, if the left number is less than the right one, else 0.

    Numbers of one sign are told apart by a difference that cannot overflow.
    """
    return ((left & ~right) | (~(left ^ right) & ((left & SIZE_BITS) - (right & SIZE_BITS)))) >> 63


@jit
def _number_cells(
    values: NDArray[np.int64],
    n_there: int,
    cuts: NDArray[np.int64],
    is_whole: NDArray[np.uint8],
    near: NDArray[np.int32],
    found: NDArray[np.int64],
) -> None:
    """Write the cells of numbers among cuts, as `integer_cells` in events/cells.py does.

    If `is_whole` is empty, all cuts are.
    """
    n_cuts = cuts.size
    if n_cuts == 0:
        found[:n_there] = 0
    elif near.size != 0:
        first, last = cuts[0], cuts[n_cuts - 1]
        for number in range(n_there):
            value = min(max(values[number], first), last)  # which is of the same sign, so that nothing overflows
            cell = np.int64(near[np.uint64(value - first)])
            cell = np.int64(0) if values[number] < first else cell
            found[number] = np.int64(2 * n_cuts) if values[number] > last else cell
    else:
        _count_below(cuts, values, n_there, found)
        most, has_parts = np.uint64(n_cuts - 1), is_whole.size != 0
        for number in range(n_there):
            low = np.uint64(found[number])
            at = min(low, most)
            is_point = (cuts[at] == values[number]) & (low <= most)
            if has_parts:
                is_point &= is_whole[at] != 0
            found[number] = np.int64(low + low + (ONE if is_point else ZERO))


@jit
def _text_cells(
    values: NDArray[np.int64],
    sizes: NDArray[np.int64],
    n_there: int,
    keys: NDArray[np.int64],
    cut_offsets: NDArray[np.int64],
    found: NDArray[np.int64],
) -> int:
    """Write the cells of texts among ascending texts, by their first eight bytes.

    Where these do not tell it, the number is negative: ~i, where i is the first text that begins alike. Returns how
    many such there are.
    """
    _count_below(keys, values, n_there, found)
    most, n_odd = np.uint64(keys.size - 1), 0
    for number in range(n_there):
        low = np.uint64(found[number])
        at = min(low, most)
        cut_size = cut_offsets[at + ONE] - cut_offsets[at]
        is_alike = (keys[at] == values[number]) & (low <= most)
        is_point = is_alike & (cut_size == sizes[number]) & (cut_size <= 8)
        is_odd = is_alike & ~is_point
        cell = np.int64(low + low + (ONE if is_point else ZERO))
        found[number] = ~np.int64(low) if is_odd else cell
        n_odd += 1 if is_odd else 0
    return n_odd


@jit
def long_text_cell(
    data: NDArray[np.uint8],
    begin: Any,
    end: Any,
    first: Any,
    keys: NDArray[np.int64],
    cut_offsets: NDArray[np.int64],
    cut_bytes: NDArray[np.uint8],
) -> int:
    """Return the cell of a text whose first eight bytes are those of the constant `first`, and maybe of others."""
    low = first_above = first
    high = keys.size
    while first_above < high:
        middle = (first_above + high) >> 1
        if keys[middle] <= keys[first]:
            first_above = middle + 1
        else:
            high = middle
    high, size, is_point = first_above, end - begin, 0
    while low < high:
        middle = (low + high) >> 1
        cut_size = cut_offsets[middle + 1] - cut_offsets[middle]
        order = size - cut_size  # of two texts that end within the eight bytes, the shorter is the first
        if size > 8 or cut_size > 8:
            order = np.int64(compare_bytes(data, begin, end, cut_bytes, cut_offsets[middle], cut_offsets[middle + 1]))
        if order > 0:
            low = middle + 1
        else:
            is_point = 1 if order == 0 else is_point
            high = middle
    return int(2 * low + is_point)

"""Read the bytes that `marshal` writes of a list of dicts, and write the cells of each event.

`marshal` tells types apart exactly, writes numbers as they lie in memory, and writes an object that it has written
before as a number (marshalled.py has its format). So a name costs one look-up per block of events, and a value of a
plain type leads to its cells as it does in an Arrow table. What is of another type is left to Python: it is noted as
*odd*.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import eight_bytes, swapped_bytes
from ruledex.compiled.constants import EVERY
from ruledex.compiled.decorator import inlined, jit
from ruledex.compiled.handles import bytes_at, int32_at, int64_at
from ruledex.events.arrow.straight_kernels import (
    BEGIN,
    BOOLEAN,
    CONSTANTS,
    CUT_BYTES,
    CUT_OFFSETS,
    CUTS,
    DOUBLE,
    END,
    FIRST,
    FORM,
    IN_FIRST,
    IN_SECOND,
    INFINITY,
    INTEGER,
    NEAR,
    SECOND,
    SECOND_CUTS,
    SIZE_BITS,
    TEXT,
    long_text_cell,
)
from ruledex.events.dicts.marshalled import (
    DICT,
    FALSE,
    FLAG,
    FLOAT,
    INT,
    IS_FULL,
    LONG,
    MOST_DEEP,
    N_CELLS,
    N_ODD,
    N_REFERENCES,
    N_WANTED,
    NONE,
    NULL,
    REFERENCE,
    TRUE,
    TYPE,
    UNRESOLVED,
    after_value,
    is_text_type,
    signed,
    text_begin,
    text_size,
    unsigned,
)

# The arrays of the names in their handle. A name is a code: its place in the order of all paths of attributes.
NAMES: Final = 6
BUCKETS, NAME_OFFSETS, PARENTS, KINDS, NAME_BYTES, IS_OPEN = range(NAMES)
# What values of one type of a name give, if it is not the number of a form.
N_TYPES: Final = 4
UNMADE, ODD, NOTHING = -1, -2, -3
TOP: Final = -1  # the parent of a name of the event itself
NO_NAME: Final = -1
_FIRST_EVENT: Final = -3
WHOLE_EVENT: Final = -1  # in place of an odd name

_HASH_FACTOR: Final = 0x5BD1E995  # less than 2^31, so that its product with 32 bits fits a signed integer of 64 bits
_LOW: Final = 0xFFFFFFFF
_SIGN_BIT: Final = np.uint64(1 << 63)
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)


@jit
def hash_name(data: NDArray[np.uint8], begin: int, size: int, parent: int) -> int:
    """Return the hash of a name below another one."""
    found = np.int64(parent + 1) & np.int64(_LOW)
    for place in range(begin, begin + size):
        found = ((found ^ np.int64(data[np.uint64(place)])) * np.int64(_HASH_FACTOR)) & np.int64(_LOW)
        found ^= found >> np.int64(15)
    return int(found)


@jit
def fill_names(
    buckets: NDArray[np.int32], offsets: NDArray[np.int64], text: NDArray[np.uint8], parents: NDArray[np.int32]
) -> None:
    """Write each name to the first free of the buckets from its hash on; a free bucket has -1."""
    mask = buckets.size - 1
    for code in range(parents.size):
        bucket = hash_name(text, offsets[code], offsets[code + 1] - offsets[code], parents[code]) & mask
        while buckets[bucket] >= 0:
            bucket = (bucket + 1) & mask
        buckets[bucket] = code


@jit
def _code_of(names: int, data: NDArray[np.uint8], begin: int, size: int, parent: int) -> int:
    """Return the code of a name, or NO_NAME."""
    buckets, offsets = int32_at(names, BUCKETS), int64_at(names, NAME_OFFSETS)
    parents, text = int32_at(names, PARENTS), bytes_at(names, NAME_BYTES)
    mask = buckets.size - 1
    bucket = hash_name(data, begin, size, parent) & mask
    while buckets[bucket] >= 0:
        code = buckets[bucket]
        first = offsets[code]
        if parents[code] == parent and offsets[code + 1] - first == size:
            place = 0
            while place < size and text[first + place] == data[begin + place]:
                place += 1
            if place == size:
                return int(code)
        bucket = (bucket + 1) & mask
    return NO_NAME


@jit
def read_marshalled(
    data: NDArray[np.uint8],
    names: int,
    forms: NDArray[np.int64],
    constants: int,
    emissions: NDArray[np.int32],
    references: NDArray[np.int64],
    codes: NDArray[np.int64],
    wanted: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
    odd_events: NDArray[np.int32],
    odd_codes: NDArray[np.int32],
    report: NDArray[np.int64],
    n_spare: int,
) -> bool:
    """Write the cells of each event, in any order, and fill `offsets`. Returns False if the bytes are not known here.

    `references` and `codes` are scratch. `wanted` marks the types of names whose forms are not made; what they give is
    left out. `out` has room for the cells of all values, and for `n_spare` cells of events that stand there again.
    `report` says how much was written; if it says that `out` is full, the rest is missing.
    """
    kinds, is_open = int32_at(names, KINDS), bytes_at(names, IS_OPEN)
    stack, above = np.empty(MOST_DEEP, np.int64), np.empty(MOST_DEEP, np.int64)
    n_cells, n_odd = 0, 0
    n_references = 0
    if np.int64(data[0]) & FLAG:
        references[0], codes[0] = 0, UNRESOLVED
        n_references = 1
    report[:] = 0
    at = 5
    for event in range(offsets.size - 1):
        offsets[event] = n_cells
        out[n_cells] = EVERY
        n_cells += 1
        tag = np.int64(data[at])
        kind = tag & TYPE
        if kind != DICT:
            other = np.int64(-1)
            if kind == REFERENCE:
                other = np.int64(_FIRST_EVENT) - codes[unsigned(data, at + 1)]
            if other >= 0:  # it was read before
                begin, end = offsets[other] + 1, offsets[other + 1]
                n_spare -= end - begin
                if n_spare < 0:
                    report[IS_FULL] = 1
                    return True
                for place in range(begin, end):
                    out[n_cells] = out[place]
                    n_cells += 1
            if other < 0 or is_among(odd_events, n_odd, other):
                odd_events[n_odd], odd_codes[n_odd] = event, WHOLE_EVENT
                n_odd += 1
            report[N_REFERENCES] = n_references
            at = after_value(data, at, stack, references, codes, report)
            if at < 0:
                return False
            n_references = report[N_REFERENCES]
            continue
        if tag & FLAG:
            references[n_references], codes[n_references] = at, _FIRST_EVENT - event
            n_references += 1
        at += 1
        depth, top, parent = 0, NO_NAME, TOP
        while True:
            tag = np.int64(data[np.uint64(at)])
            kind = tag & TYPE
            if kind == NULL:  # the end of the dict
                at += 1
                if depth == 0:
                    break
                depth -= 1
                parent = above[depth]
                continue
            code = NO_NAME
            if kind == REFERENCE:
                number = unsigned(data, at + 1)
                at += 5
                if depth == 0 and codes[number] >= NO_NAME:
                    code = codes[number]
                else:
                    place = references[number]
                    kind = np.int64(data[place]) & TYPE
                    if is_text_type(kind):
                        code = _code_of(names, data, text_begin(kind, place), text_size(data, kind, place), parent)
                        if depth == 0:
                            codes[number] = code
            elif is_text_type(kind):
                begin, size = text_begin(kind, at), text_size(data, kind, at)
                code = _code_of(names, data, begin, size, parent)
                if tag & FLAG:
                    references[n_references] = at
                    codes[n_references] = code if depth == 0 else UNRESOLVED
                    n_references += 1
                at = begin + size
            else:
                report[N_REFERENCES] = n_references
                at = after_value(data, at, stack, references, codes, report)
                if at < 0:
                    return False
                n_references = report[N_REFERENCES]
            if depth == 0:
                top = code
            tag = np.int64(data[np.uint64(at)])
            kind = tag & TYPE
            place, is_again = at, False
            if kind == REFERENCE:
                place = references[unsigned(data, at + 1)]
                kind = np.int64(data[place]) & TYPE
                at += 5
                is_again = True
            found, type_ = np.int64(0), -1  # which cell it has among the constants
            begin, size = 0, np.int64(0)
            is_long = False
            if kind == NONE:
                end = place + 1
                type_ = -2
            elif kind == INT:
                found, type_ = signed(data, place + 1), INTEGER
                end = place + 5
            elif is_text_type(kind):
                begin, size, type_ = text_begin(kind, place), text_size(data, kind, place), TEXT
                end = begin + size
            elif kind == FLOAT:
                type_ = DOUBLE
                end = place + 9
            elif kind in (FALSE, TRUE):
                found, type_ = np.int64(1 if kind == TRUE else 0), BOOLEAN
                end = place + 1
            elif kind == LONG:
                n_digits = signed(data, place + 1)
                end = place + 5 + 2 * abs(n_digits)
                is_long = True
                if abs(n_digits) <= 4 or (abs(n_digits) == 5 and data[end - 2] < 8 and data[end - 1] == 0):
                    for digit in range(end - 2, place + 4, -2):
                        low = np.int64(data[digit]) | np.int64(data[digit + 1]) << np.int64(8)
                        found = found << np.int64(15) | low
                    found = -found if n_digits < 0 else found
                    type_ = INTEGER
            else:
                end = place
            if not is_again:
                if kind == DICT and code != NO_NAME and is_open[code] != 0:
                    if tag & FLAG:
                        references[n_references], codes[n_references] = at, UNRESOLVED
                        n_references += 1
                    at += 1
                    above[depth] = parent
                    parent = code
                    depth += 1
                    continue
                if type_ != -1 or is_long:
                    if tag & FLAG:
                        references[n_references], codes[n_references] = at, UNRESOLVED
                        n_references += 1
                    at = end
                else:
                    report[N_REFERENCES] = n_references
                    at = after_value(data, at, stack, references, codes, report)
                    if at < 0:
                        return False
                    n_references = report[N_REFERENCES]
            if code == NO_NAME or type_ == -2:
                continue
            form = np.int64(ODD if type_ < 0 else kinds[np.uint64(N_TYPES * code + type_)])
            if form < 0:
                if form == UNMADE:
                    wanted[N_TYPES * code + type_] = 1
                    report[N_WANTED] += 1
                elif form == ODD:
                    odd_events[n_odd], odd_codes[n_odd] = event, top
                    n_odd += 1
                continue
            first_emission, end_emission = forms[FORM * form + BEGIN], forms[FORM * form + END]
            known = int(CONSTANTS * form)
            cuts, near = int64_at(constants, known + CUTS), int32_at(constants, known + NEAR)
            second = np.int64(0)
            if type_ == INTEGER:
                found = _number_cell(found, cuts, bytes_at(constants, known + CUT_BYTES), near)
            elif type_ == TEXT:
                if cuts.size != 0:
                    cut_offsets, cut_bytes = (
                        int64_at(constants, known + CUT_OFFSETS),
                        bytes_at(constants, known + CUT_BYTES),
                    )
                    found = _text_cell(data, begin, size, cuts, cut_offsets, cut_bytes)
            elif type_ == DOUBLE:
                bits = np.int64(0)
                for byte in range(8):
                    bits |= np.int64(data[np.uint64(place + 1 + byte)]) << np.int64(8 * byte)
                if (bits & SIZE_BITS) > INFINITY:  # NaN is missing
                    continue
                if bits < 0:
                    bits = bits ^ np.int64(SIZE_BITS)
                    if bits == -1:  # -0.0
                        bits = np.int64(0)
                cut_bytes = bytes_at(constants, known + CUT_BYTES)
                found = _number_cell(bits, cuts, cut_bytes, near)
                second = _number_cell(bits, int64_at(constants, known + SECOND_CUTS), cut_bytes, near)
            for emission in range(first_emission, end_emission):
                cell = emissions[np.uint64(emission)]
                if type_ == BOOLEAN:
                    cell = near[found * (end_emission - first_emission) + emission - first_emission]
                elif cell == IN_FIRST:
                    cell = np.int32(forms[FORM * form + FIRST] + found)
                elif cell == IN_SECOND:
                    cell = np.int32(forms[FORM * form + SECOND] + second)
                out[np.uint64(n_cells)] = cell
                n_cells += 1
    offsets[offsets.size - 1] = n_cells
    report[N_CELLS], report[N_ODD] = n_cells, n_odd
    return True


@inlined
def _count_below(cuts: NDArray[np.int64], value: Any) -> Any:
    """Return how many of the cuts, of which there is one at least, are less than a value."""
    low, length = np.int64(0), np.int64(cuts.size)
    while length > 1:
        half = length >> 1
        low += half if cuts[np.uint64(low + half - 1)] < value else np.int64(0)
        length -= half
    return low + (1 if cuts[np.uint64(low)] < value else 0)


@inlined
def _number_cell(value: Any, cuts: NDArray[np.int64], is_whole: NDArray[np.uint8], near: NDArray[np.int32]) -> Any:
    """Return the cell of a number among cuts, counted from the first. If `is_whole` is empty, all cuts are."""
    n_cuts = np.int64(cuts.size)
    if n_cuts == 0:
        return np.int64(0)
    if near.size != 0:
        if value < cuts[0]:
            return np.int64(0)
        return 2 * n_cuts if value > cuts[n_cuts - 1] else np.int64(near[value - cuts[0]])
    low = _count_below(cuts, value)
    is_point = low < n_cuts and cuts[low] == value and (is_whole.size == 0 or is_whole[low] != 0)
    return 2 * low + (1 if is_point else 0)


@inlined
def _text_cell(
    data: NDArray[np.uint8],
    begin: Any,
    size: Any,
    keys: NDArray[np.int64],
    cut_offsets: NDArray[np.int64],
    cut_bytes: NDArray[np.uint8],
) -> Any:
    """Return the cell of a text among texts, of which there is one at least, by its first eight bytes and the rest."""
    if begin + 8 <= data.size:
        word = swapped_bytes(eight_bytes(data, np.uint64(begin)))
    else:
        word = np.uint64(0)
        for byte in range(begin, begin + min(size, 8)):
            word |= np.uint64(data[byte]) << np.uint64(56 - 8 * (byte - begin))
    if size < 8:
        word &= ~(_ALL >> np.uint64(8 * size))
    value = np.int64(word ^ _SIGN_BIT)
    low = _count_below(keys, value)
    if low == keys.size or keys[low] != value:
        return 2 * low
    cut_size = cut_offsets[low + 1] - cut_offsets[low]
    if cut_size == size and size <= 8:
        return 2 * low + 1
    return np.int64(long_text_cell(data, begin, begin + size, low, keys, cut_offsets, cut_bytes))


@jit
def is_among(events: NDArray[np.int32], n_events: int, event: Any) -> bool:
    """Return whether an event is among the first of some, which ascend."""
    low, high = 0, n_events
    while low < high:
        middle = (low + high) >> 1
        if events[middle] < event:
            low = middle + 1
        else:
            high = middle
    return low < n_events and events[low] == event


@jit
def insert_pairs(
    offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    events: NDArray[np.int32],
    pair_cells: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the cells of each event and those of its pairs, which are ascending by event, and update `offsets`."""
    n_out, pair = 0, 0
    for event in range(offsets.size - 1):
        begin, end = offsets[event], offsets[event + 1]
        offsets[event] = n_out
        for place in range(begin, end):
            out[n_out] = cells[place]
            n_out += 1
        while pair < events.size and events[pair] == event:
            out[n_out] = pair_cells[pair]
            n_out += 1
            pair += 1
    offsets[offsets.size - 1] = n_out

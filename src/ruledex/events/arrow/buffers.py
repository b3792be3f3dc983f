"""Read the buffers of one Arrow array: its bitmap, its values as they lie, and the places that are not null.

A validity bitmap has one bit per value, the lowest of the first byte first. An empty one says that no value is null. An
array begins `offset` bits into its bitmap, and a buffer made by another program may end anywhere, also within a word.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, ZERO, eight_bytes, lowest_bit
from ruledex.compiled.decorator import inlined, jit

BYTE: Final = np.dtype(np.uint8)
_THREE, _SEVEN, _EIGHT = np.uint64(3), np.uint64(7), np.uint64(8)


def there(array: Any) -> NDArray[np.int64]:
    """Return the places of the values that are not null."""
    n_there = len(array) - array.null_count
    if n_there == len(array):
        return np.arange(len(array))
    places = np.empty(n_there, np.int64)
    if n_there:
        set_bits(bitmap_of(array), array.offset, len(array), places)
    return places


def bitmap_of(array: Any) -> NDArray[np.uint8]:
    """Return the bytes of an array's bitmap, from the beginning of its buffer."""
    return view_buffer(array.buffers()[0], BYTE, 0, (array.offset + len(array) + 7) >> 3)


def view_buffer(buffer: Any, width: np.dtype[Any], offset: int, length: int) -> NDArray[Any]:
    """Return a read-only view of `length` values of a buffer, from value `offset` on."""
    if buffer is None:
        return np.empty(0, width)
    values = np.frombuffer(buffer, width, length, offset * width.itemsize)
    if buffer.is_mutable:
        values.flags.writeable = False  # as all others are: to a kernel a writable array is another type
    return values


@inlined
def valid_bits(bitmap: NDArray[np.uint8], bit: np.uint64, n_left: np.uint64) -> np.uint64:
    """Return 64 bits of a bitmap from `bit` on, without those behind the next `n_left`, of which there is one at least.

    An empty bitmap has all bits.
    """
    first, shift, size = bit >> _THREE, bit & _SEVEN, np.uint64(bitmap.size)
    word = ZERO if bitmap.size else ~ZERO
    if first + _EIGHT < size:
        word = eight_bytes(bitmap, first) >> shift
        if shift != ZERO:
            word |= np.uint64(bitmap[first + _EIGHT]) << (np.uint64(64) - shift)
    else:
        for place in range(first, size):
            position = _EIGHT * (np.uint64(place) - first)
            if position < shift:
                word |= np.uint64(bitmap[place]) >> shift
            elif position - shift <= LOW_SIX:
                word |= np.uint64(bitmap[place]) << (position - shift)
    if n_left <= LOW_SIX:
        word &= ~(~ZERO << n_left)
    return word


@jit
def set_bits(bitmap: NDArray[np.uint8], offset: int, length: int, out: NDArray[np.int64] | NDArray[np.uint64]) -> int:
    """Write the places of the values that are not null, of `length` from `offset` on; return their number."""
    n_set = 0
    for start in range(0, length, 64):
        word = valid_bits(bitmap, np.uint64(offset + start), np.uint64(length - start))
        while word != ZERO:
            out[n_set] = start + lowest_bit(word)
            n_set += 1
            word &= word - ONE
    return n_set


@inlined
def _two_bytes(data: NDArray[np.uint8], at: np.uint64) -> np.int64:
    return np.int64(data[at]) | np.int64(data[at + ONE]) << np.int64(8)


@inlined
def _four_bytes(data: NDArray[np.uint8], at: np.uint64) -> np.int64:
    return _two_bytes(data, at) | _two_bytes(data, at + np.uint64(2)) << np.int64(16)


@jit
def take_integers(
    bitmap: NDArray[np.uint8],
    offset: int,
    length: int,
    data: NDArray[np.uint8],
    width: int,
    is_signed: bool,
    out_places: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    """Write the places and the values of the integers that are not null; return their number.

    The integers have `width` bytes each in `data`, the lowest first. Unsigned ones of 64 bits wrap around. Values are
    read after all places are known, so that the processor can wait for many of them at once.
    """
    n_taken = set_bits(bitmap, offset, length, out_places)
    shift = np.int64(64 - 8 * width if is_signed else 0)
    for number in range(n_taken):
        at = np.uint64(out_places[number]) * np.uint64(width)
        if width == 4:
            value = _four_bytes(data, at)
        elif width == 8:
            value = _four_bytes(data, at) | _four_bytes(data, at + np.uint64(4)) << np.int64(32)
        elif width == 2:
            value = _two_bytes(data, at)
        else:
            value = np.int64(data[at])
        out[number] = (value << shift) >> shift
    return n_taken


@jit
def take_doubles(
    bitmap: NDArray[np.uint8],
    offset: int,
    length: int,
    singles: NDArray[np.float32],
    doubles: NDArray[np.float64],
    out_places: NDArray[np.int64],
    out: NDArray[np.float64],
) -> int:
    """Write the places and the values of the numbers that are neither null nor NaN; return how many there are.

    The numbers are in `singles` or in `doubles`; the other is empty.
    """
    n_taken = 0
    for number in range(set_bits(bitmap, offset, length, out_places)):
        place = out_places[number]
        value = np.float64(singles[place]) if doubles.size == 0 else doubles[place]
        if value == value:
            out_places[n_taken] = place
            out[n_taken] = value
            n_taken += 1
    return n_taken

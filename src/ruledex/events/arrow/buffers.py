"""Read the buffers of one Arrow array: its bitmap, its values as they lie, and the places that are not null.

A validity bitmap has one bit per value, the lowest of the first byte first. An empty one says that no value is null. An
array begins `offset` bits into its bitmap, and a buffer made by another program may end anywhere, also within a word.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import ONE, ZERO, lowest_bit
from ruledex.compiled.decorator import inlined, jit

BYTE: Final = np.dtype(np.uint8)


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
def _word(bitmap: NDArray[np.uint8], number: int, offset: int, length: int) -> np.uint64:
    """Return 64 bits of a bitmap, with those outside of the array cleared."""
    word = ~ZERO
    if bitmap.size != 0:
        word = ZERO
        for place in range(8 * number, min(8 * number + 8, bitmap.size)):
            word |= np.uint64(bitmap[place]) << np.uint64(8 * (place - 8 * number))
    first = 64 * number - offset
    if first < 0:
        word &= ~ZERO << np.uint64(-first)
    if first + 64 > length:
        word &= ~ZERO >> np.uint64(first + 64 - length)
    return word


@jit
def set_bits(bitmap: NDArray[np.uint8], offset: int, length: int, out: NDArray[np.int64]) -> int:
    """Write the places of the values that are not null; return their number."""
    n_set = 0
    for number in range(offset >> 6, (offset + length + 63) >> 6):
        word = _word(bitmap, number, offset, length)
        while word != ZERO:
            out[n_set] = 64 * number - offset + lowest_bit(word)
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

"""The buffers of one Arrow array: its bitmap, its values as they lie, and the places that are not null."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.arrow_values import set_bits

BYTE: Final = np.dtype(np.uint8)


def there(array: Any) -> NDArray[np.int64]:
    """The places of the values that are not null."""
    n_there = len(array) - array.null_count
    if n_there == len(array):
        return np.arange(len(array))
    places = np.empty(n_there, np.int64)
    if n_there:
        set_bits(bitmap_of(array), array.offset, len(array), places)
    return places


def bitmap_of(array: Any) -> NDArray[np.uint8]:
    """The bits that say which values are there, from the first of the buffer on."""
    return values_in(array.buffers()[0], BYTE, 0, (array.offset + len(array) + 7) >> 3)


def values_in(buffer: Any, width: np.dtype[Any], offset: int, length: int) -> NDArray[Any]:
    """Some values of a buffer, for reading."""
    if buffer is None:
        return np.empty(0, width)
    values = np.frombuffer(buffer, width, length, offset * width.itemsize)
    if buffer.is_mutable:
        values.flags.writeable = False  # as all others are: a kernel takes it for another type otherwise
    return values

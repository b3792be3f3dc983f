"""Handles: all arrays of an index given to compiled code as one number.

Each array that a call passes costs a tenth of a microsecond, which is as much as a small match takes in all. A handle
is the address of a table with the address and the length of each array. A kernel makes arrays of it again, without
copies. These functions are the plain forms; compiler.py has what they compile to.

The holder of a Handle keeps its arrays alive, and calls kernels only as long as it lives itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BYTES = 16  # of an entry: the address and the length, 64 bits each


class Handle:
    """A table of arrays of one dimension in C order. `address` is what a kernel takes."""

    __slots__ = ("_arrays", "_table", "address")

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        assert all(array.ndim == 1 and array.flags.c_contiguous for array in arrays)
        self._arrays = tuple(arrays)  # so that nobody frees them
        self._table = np.array([(array.ctypes.data, len(array)) for array in arrays], np.int64)
        self.address: int = self._table.ctypes.data

    def __len__(self) -> int:
        return len(self._arrays)

    def extended(self, arrays: Sequence[NDArray[Any]]) -> Handle:
        """Return a handle with these arrays after its own."""
        more, made = Handle(arrays), Handle(())
        made._arrays = self._arrays + more._arrays
        made._table = np.concatenate([self._table.reshape(-1, 2), more._table.reshape(-1, 2)])
        made.address = made._table.ctypes.data
        return made


def int32_at(handle: int, number: int) -> NDArray[np.int32]:
    """Return the array of this number of a handle, which nobody writes to."""
    return _array_at(handle, number, np.dtype(np.int32), writable=False)


def int64_at(handle: int, number: int) -> NDArray[np.int64]:
    """Return the array of this number of a handle, which nobody writes to."""
    return _array_at(handle, number, np.dtype(np.int64), writable=False)


def scratch32_at(handle: int, number: int) -> NDArray[np.int32]:
    """Return the array of this number of a handle, to write to."""
    return _array_at(handle, number, np.dtype(np.int32), writable=True)


def scratch64_at(handle: int, number: int) -> NDArray[np.int64]:
    """Return the array of this number of a handle, to write to."""
    return _array_at(handle, number, np.dtype(np.int64), writable=True)


def bytes_at(handle: int, number: int) -> NDArray[np.uint8]:
    """Return the array of this number of a handle, which nobody writes to."""
    return _array_at(handle, number, np.dtype(np.uint8), writable=False)


def words_at(handle: int, number: int) -> NDArray[np.uint64]:
    """Return the bitmap of this number of a handle, to write to."""
    return _array_at(handle, number, np.dtype(np.uint64), writable=True)


def _array_at(handle: int, number: int, dtype: np.dtype[Any], *, writable: bool) -> NDArray[Any]:
    address, length = (ctypes.c_int64 * 2).from_address(handle + _BYTES * number)
    if length == 0:
        return np.empty(0, dtype)
    memory: Any = (ctypes.c_char * (length * dtype.itemsize)).from_address(address)
    array: NDArray[Any] = np.frombuffer(memory, dtype)
    array.flags.writeable = writable
    return array

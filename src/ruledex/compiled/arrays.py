"""Arrays and hash tables that grow: what the states of text interning and of the node table are made of."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit

FREE = -1  # a slot of a hash table that holds nothing
HASH_MASK = 0xFFFFFFFF
# Smaller than 2^31, so that its product with a hash of 32 bits fits a signed integer of 64 bits.
HASH_FACTOR = 0x5BD1E995

Scalar = TypeVar("Scalar", bound=np.generic)


def lengthened(array: NDArray[Scalar], n_room: int) -> NDArray[Scalar]:
    """The array with room for `n_room` entries, and half as many again as it had at least; itself if it has that."""
    if len(array) >= n_room:
        return array
    made = np.empty((max(n_room, len(array) + len(array) // 2), *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """A view that cannot be written, as Arrow's buffers are: a kernel is compiled anew for each type of array."""
    view = array.view()
    view.flags.writeable = False
    return view


def slots_for(slots: NDArray[np.int32], hashes: NDArray[np.int64], n_room: int) -> NDArray[np.int32]:
    """A table of at least twice as many slots as `n_room`, with the places of the hashes in it; itself if it is one."""
    if len(slots) >= 2 * n_room:
        return slots
    made = np.full(1 << (2 * n_room - 1).bit_length(), FREE, np.int32)
    _fill_slots(made, np.ascontiguousarray(hashes))
    return made


@jit
def _fill_slots(slots: NDArray[np.int32], hashes: NDArray[np.int64]) -> None:
    mask = slots.size - 1
    for entry in range(hashes.size):
        slot = hashes[entry] & mask
        while slots[slot] != FREE:
            slot = (slot + 1) & mask
        slots[slot] = entry


def frozen(array: NDArray[Any], dtype: type[Scalar]) -> NDArray[Scalar]:
    """A read-only plain view in C order, copied only where the array is of another type or order."""
    if type(array) is np.ndarray and array.dtype == dtype and not array.flags.writeable and array.flags.c_contiguous:
        return array
    plain = np.ascontiguousarray(array, dtype).view(np.ndarray)
    plain.flags.writeable = False
    return plain

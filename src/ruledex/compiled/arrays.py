"""Read-only arrays, arrays that grow, and the hash tables that compiled code looks into.

A kernel is compiled once per type of array, and a writable array is another type than a read-only one. So whatever is
only read is made read-only here first. A hash table is an array of *buckets* with open addressing; their number is a
power of two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit

FREE = -1  # a bucket that holds nothing
HASH_MASK = 0xFFFFFFFF
# Smaller than 2^31, so that its product with a hash of 32 bits fits a signed integer of 64 bits.
HASH_FACTOR = 0x5BD1E995

Scalar = TypeVar("Scalar", bound=np.generic)


def lengthen(array: NDArray[Scalar], n_room: int) -> NDArray[Scalar]:
    """Return the array itself if it has room for `n_room` entries, else a copy that is at least half as long again."""
    if len(array) >= n_room:
        return array
    made = np.empty((max(n_room, len(array) + len(array) // 2), *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a read-only view of the array."""
    view = array.view()
    view.flags.writeable = False
    return view


def frozen(array: NDArray[Any], dtype: type[Scalar]) -> NDArray[Scalar]:
    """Return a read-only plain view in C order; copies only an array of another type or order."""
    if type(array) is np.ndarray and array.dtype == dtype and not array.flags.writeable and array.flags.c_contiguous:
        return array
    plain = np.ascontiguousarray(array, dtype).view(np.ndarray)
    plain.flags.writeable = False
    return plain


def freeze_all(arrays: Iterable[tuple[NDArray[Any], type[np.generic]]]) -> list[NDArray[Any]]:
    """Return arrays with their types as `frozen` does, all in one call."""
    return [frozen(array, dtype) for array, dtype in arrays]


def buckets_for(buckets: NDArray[np.int32], hashes: NDArray[np.int64], n_room: int) -> NDArray[np.int32]:
    """Return buckets with room for `n_room` entries: the given ones, or at least 2 * `n_room` new ones.

    Entry i has the hash `hashes[i]`, and new buckets hold all entries.
    """
    if len(buckets) >= 2 * n_room:
        return buckets
    made = np.full(1 << (2 * n_room - 1).bit_length(), FREE, np.int32)
    _fill_buckets(made, np.ascontiguousarray(hashes))
    return made


@jit
def _fill_buckets(buckets: NDArray[np.int32], hashes: NDArray[np.int64]) -> None:
    mask = buckets.size - 1
    for entry in range(hashes.size):
        bucket = hashes[entry] & mask
        while buckets[bucket] != FREE:
            bucket = (bucket + 1) & mask
        buckets[bucket] = entry

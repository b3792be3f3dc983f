"""Numbers for texts: equal slices of bytes get the same number, 0, 1, 2, … in the order in which they are first met.

A `TextTable` holds a copy of each distinct slice, so that the buffers in which slices were found can be dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE, HASH_MASK, buckets_for, lengthen
from ruledex.compiled.bits import prefetch
from ruledex.compiled.decorator import jit

_FIRST_ROOM = 64  # slices that a new table has room for
_FNV_OFFSET, _FNV_PRIME = 2166136261, 16777619
AHEAD = 8


class TextTable(NamedTuple):
    """The distinct slices. The arrays have room for more."""

    text: NDArray[np.uint8]  # the distinct slices, one behind the other
    offsets: NDArray[np.int64]  # number n is text[offsets[n]:offsets[n + 1]]
    hashes: NDArray[np.uint32]
    buckets: NDArray[np.int32]  # of the hash table: numbers
    counts: NDArray[np.int64]  # [1] how many there are

    @property
    def n_texts(self) -> int:
        """The number of distinct slices."""
        return int(self.counts[0])

    def slices(self, numbers: Iterable[int] | NDArray[np.int64]) -> list[bytes]:
        """Return the slices that have these numbers."""
        return [self.text[self.offsets[number] : self.offsets[number + 1]].tobytes() for number in numbers]


def empty_text_table() -> TextTable:
    """Return a table without slices."""
    n_room = _FIRST_ROOM
    buckets = np.full(2 * n_room, FREE, np.int32)
    offsets, hashes = np.zeros(n_room + 1, np.int64), np.empty(n_room, np.uint32)
    return TextTable(np.empty(1024, np.uint8), offsets, hashes, buckets, np.zeros(1, np.int64))


def intern_slices(
    table: TextTable, text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[TextTable, NDArray[np.int32]]:
    """Return the new table, and the numbers of the slices `text[starts[i]:ends[i]]`.

    The given table must not be used again. The text is read-only.
    """
    hashed = np.empty(len(starts), np.uint32)
    _hash_slices(text, starts, ends, hashed)
    numbers = np.empty(len(starts), np.int32)
    n_done = 0
    while (n_done := _intern_from(table, text, starts, ends, hashed, n_done, numbers)) < len(starts):
        n_texts = table.n_texts
        n_room = n_texts + n_texts // 2 + 64
        hashes = lengthen(table.hashes, n_room)
        table = TextTable(
            lengthen(table.text, int(table.offsets[n_texts] + ends[n_done] - starts[n_done])),
            lengthen(table.offsets, n_room + 1),
            hashes,
            buckets_for(table.buckets, hashes[:n_texts].astype(np.int64), n_room),
            table.counts,
        )
    return table, numbers


@jit
def _hash_slices(
    text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], out: NDArray[np.uint32]
) -> None:
    """Write each slice's hash: FNV-1a of 32 bits, with its high bits mixed into the low ones."""
    for place in range(starts.size):
        hashed = _FNV_OFFSET
        for position in range(starts[place], ends[place]):
            hashed = ((hashed ^ int(text[position])) * _FNV_PRIME) & HASH_MASK
        out[place] = hashed ^ (hashed >> 15)


@jit
def _intern_from(
    table: TextTable,
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    slice_hashes: NDArray[np.uint32],
    first: int,
    numbers: NDArray[np.int32],
) -> int:
    """Number slices from `first` on while there is room for one more; return the next slice."""
    known_text, offsets, hashes, buckets = table.text, table.offsets, table.hashes, table.buckets
    mask = buckets.size - 1
    n_texts = table.counts[0]
    place = first
    while place < starts.size:
        start, end = starts[place], ends[place]
        n_bytes = offsets[n_texts]
        is_full = n_texts >= hashes.size or n_texts + 1 >= offsets.size or 2 * n_texts >= buckets.size
        if is_full or n_bytes + end - start > known_text.size:
            break
        # A large table lies outside the caches: prefetch what the next slices will read, step by step.
        if place + 3 * AHEAD < starts.size:
            prefetch(buckets, int(slice_hashes[place + 3 * AHEAD]) & mask)
            coming = buckets[int(slice_hashes[place + 2 * AHEAD]) & mask]
            prefetch(hashes, max(coming, 0))
            prefetch(offsets, max(coming, 0))
            coming = buckets[int(slice_hashes[place + AHEAD]) & mask]
            prefetch(known_text, offsets[max(coming, 0)])
        hashed = slice_hashes[place]
        bucket = int(hashed) & mask
        while True:
            number = buckets[bucket]
            if number < 0:
                break
            if hashes[number] == hashed:
                known = offsets[number]
                length = end - start
                if offsets[number + 1] - known == length:
                    same = 0
                    while same < length and known_text[known + same] == text[start + same]:
                        same += 1
                    if same == length:
                        break
            bucket = (bucket + 1) & mask
        if number < 0:
            number = n_texts
            buckets[bucket] = number
            hashes[number] = hashed
            for position in range(start, end):
                known_text[n_bytes + position - start] = text[position]
            n_texts += 1
            offsets[n_texts] = n_bytes + end - start
        numbers[place] = number
        place += 1
    table.counts[0] = n_texts
    return place

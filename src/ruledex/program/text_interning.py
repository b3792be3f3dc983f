"""Equal slices of bytes get one number: 0, 1, 2, … in the order in which they are first met.

The numbers, and a copy of each distinct slice, live in a `TextTable` that is passed in and out, so that rules can come
in chunks whose buffers are dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import (
    HASH_MASK,
    lengthened,
    read_only,
    slots_for,
)
from ruledex.compiled.bits import prefetch
from ruledex.compiled.decorator import jit

_FNV_OFFSET, _FNV_PRIME = 2166136261, 16777619
AHEAD = 8


class TextTable(NamedTuple):
    """Distinct slices. All arrays are longer than what is used of them."""

    text: NDArray[np.uint8]  # the distinct slices, one behind the other
    offsets: NDArray[np.int64]  # number n is text[offsets[n]:offsets[n + 1]]
    hashes: NDArray[np.uint32]
    slots: NDArray[np.int32]  # open addressing, a power of two long
    counts: NDArray[np.int64]  # [1] how many there are

    @property
    def n_texts(self) -> int:
        """How many distinct slices there are."""
        return int(self.counts[0])

    def bytes_of(self, number: int) -> bytes:
        """The slice of a number."""
        return self.text[self.offsets[number] : self.offsets[number + 1]].tobytes()


def empty_text_table() -> TextTable:
    """A table without slices."""
    slots = slots_for(np.empty(0, np.int32), np.empty(0, np.int64), 64)
    return TextTable(
        np.empty(1024, np.uint8), np.zeros(65, np.int64), np.empty(64, np.uint32), slots, np.zeros(1, np.int64)
    )


def intern_slices(
    table: TextTable, text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[TextTable, NDArray[np.int32]]:
    """The numbers of the slices `text[starts[i]:ends[i]]`, new ones added.

    Returns the table to go on with; the one given must not be used again.
    """
    text = read_only(text)
    hashed = np.empty(len(starts), np.uint32)
    _hash_slices(text, starts, ends, hashed)
    numbers = np.empty(len(starts), np.int32)
    n_done = 0
    while (n_done := _intern_from(table, text, starts, ends, hashed, n_done, numbers)) < len(starts):
        n_texts = table.n_texts
        n_room = n_texts + n_texts // 2 + 64
        hashes = lengthened(table.hashes, n_room)
        table = TextTable(
            lengthened(table.text, int(table.offsets[n_texts] + ends[n_done] - starts[n_done])),
            lengthened(table.offsets, n_room + 1),
            hashes,
            slots_for(table.slots, hashes[:n_texts].astype(np.int64), n_room),
            table.counts,
        )
    return table, numbers


@jit
def _hash_slices(
    text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], out: NDArray[np.uint32]
) -> None:
    """Write each slice's hash: FNV-1a of 32 bits, its high bits brought down."""
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
    """Number slices from `first` on as long as there is room for one more; return which comes next."""
    known_text, offsets, hashes, slots = table.text, table.offsets, table.hashes, table.slots
    mask = slots.size - 1
    n_texts = table.counts[0]
    place = first
    while place < starts.size:
        start, end = starts[place], ends[place]
        n_bytes = offsets[n_texts]
        is_full = n_texts >= hashes.size or n_texts + 1 >= offsets.size or 2 * n_texts >= slots.size
        if is_full or n_bytes + end - start > known_text.size:
            break
        # A large table lies outside the caches: what the next slices will look at is asked for ahead, step by step.
        if place + 3 * AHEAD < starts.size:
            prefetch(slots, int(slice_hashes[place + 3 * AHEAD]) & mask)
            coming = slots[int(slice_hashes[place + 2 * AHEAD]) & mask]
            prefetch(hashes, max(coming, 0))
            prefetch(offsets, max(coming, 0))
            coming = slots[int(slice_hashes[place + AHEAD]) & mask]
            prefetch(known_text, offsets[max(coming, 0)])
        hashed = slice_hashes[place]
        slot = int(hashed) & mask
        while True:
            number = slots[slot]
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
            slot = (slot + 1) & mask
        if number < 0:
            number = n_texts
            slots[slot] = number
            hashes[number] = hashed
            for position in range(start, end):
                known_text[n_bytes + position - start] = text[position]
            n_texts += 1
            offsets[n_texts] = n_bytes + end - start
        numbers[place] = number
        place += 1
    table.counts[0] = n_texts
    return place

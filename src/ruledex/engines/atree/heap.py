"""Lists that grow and shrink, all in one array: what the A-Tree keeps its links in.

A block has a size of 4, 6, 8, 12, 16, 24, … words, of which the first says which; a list's start is the word behind it,
and 0 is the start of a list without a block. Word 0 of the heap is where what was never used begins, the words behind
it hold the first free block of each size, and a free block holds the next one.

Nothing here checks whether there is room: a caller that changes a tree first finds out how much it may need
(`words_to_append`), so that a change is never left half done.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import inlined, jit

TOP = 0
_FIRST_FREE = 1
N_SIZES = 60
FIRST_WORD = _FIRST_FREE + N_SIZES
NO_BLOCK = 0
_STEPS_BEFORE_SHRINKING = 4  # sizes; four are a quarter


def empty_heap(n_words: int) -> NDArray[np.int32]:
    """Return a heap of so many words, none of them used."""
    heap = np.zeros(max(n_words, FIRST_WORD), np.int32)
    heap[TOP] = FIRST_WORD
    return heap


@inlined
def _words_of(size: int) -> int:
    return (2 + (size & 1)) << ((size >> 1) + 1)


@inlined
def _size_for(n_words: int) -> int:
    """Return the smallest size with room for so many words beside its own."""
    size = 0
    while _words_of(size) <= n_words:
        size += 1
    return size


@inlined
def _stays_in_size(n_words: int, n_after: int) -> bool:
    """Return whether a list that grows or shrinks is known to need a block of the same size as before.

    Sizes differ in the two highest bits alone, so most lists need not be asked: the word that says how large a block is
    lies far from the end of a long one.
    """
    return 4 * (n_words ^ n_after) <= min(n_words, n_after)


@inlined
def words_for(n_words: int) -> int:
    """Return how much of the heap a new list of so many words takes at the most."""
    return _words_of(_size_for(n_words)) if n_words > 0 else 0


@inlined
def words_to_append(heap: NDArray[np.int32], start: int, n_words: int, n_more: int) -> int:
    """Return how much of the heap it takes at the most to append to a list of `n_words`."""
    n_wanted = 0
    if not _stays_in_size(n_words, n_words + n_more):
        capacity = 0
        if start != NO_BLOCK:
            capacity = _words_of(heap[start - 1]) - 1
        if n_words + n_more > capacity:
            n_wanted = _words_of(_size_for(n_words + n_more))
    return n_wanted


@inlined
def new_block(heap: NDArray[np.int32], n_words: int) -> int:
    """Return the start of a block with room for this many words, if possible one that was given back."""
    size = _size_for(n_words)
    start = int(heap[_FIRST_FREE + size])
    if start != NO_BLOCK:
        heap[_FIRST_FREE + size] = heap[start]
    else:
        start = int(heap[TOP]) + 1
        heap[TOP] += _words_of(size)
    heap[start - 1] = size
    return start


@inlined
def free_block(heap: NDArray[np.int32], start: int) -> None:
    """Free the block of a list; that of a list without one is none."""
    if start != NO_BLOCK:
        size = heap[start - 1]
        heap[start] = heap[_FIRST_FREE + size]
        heap[_FIRST_FREE + size] = start


@jit
def _moved(heap: NDArray[np.int32], start: int, n_words: int, n_room: int) -> int:
    """Copy `n_words` to a block with room for `n_room`, and free the old one."""
    made = new_block(heap, n_room)
    for word in range(n_words):
        heap[made + word] = heap[start + word]
    free_block(heap, start)
    return made


@inlined
def with_room(heap: NDArray[np.int32], start: int, n_words: int, n_more: int) -> int:
    """Return the start of the same list where `n_more` words fit behind its `n_words`."""
    made = start
    if not _stays_in_size(n_words, n_words + n_more) and (
        start == NO_BLOCK or n_words + n_more > _words_of(heap[start - 1]) - 1
    ):
        made = _moved(heap, start, n_words, n_words + n_more)
    return made


@inlined
def without_waste(heap: NDArray[np.int32], start: int, n_words: int, n_gone: int) -> int:
    """The start of the same list once `n_gone` words have been taken off its end: in a smaller block if most is unused.

    Only one that was given back is taken: what was never used belongs to those who found out how much they need.
    """
    made = start
    if n_words == 0:
        free_block(heap, start)
        made = NO_BLOCK
    elif (
        not _stays_in_size(n_words + n_gone, n_words)
        and heap[start - 1] >= _size_for(n_words) + _STEPS_BEFORE_SHRINKING
    ):
        # One size larger than needed, so that the next word does not move it again.
        size = _size_for(n_words) + 1
        if heap[_FIRST_FREE + size] != NO_BLOCK:
            made = _moved(heap, start, n_words, _words_of(size) - 1)
    return made

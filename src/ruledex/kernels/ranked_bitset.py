"""A set of small numbers that gives its next and its previous member: a bitmap, and bitmaps of its words above it.

A level has a bit for each word of the level below that is not 0, so that 64**n numbers need n levels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit
from ruledex.kernels.jit import inlined, jit

NONE = -1


@jit
def level_offsets(n_places: int) -> NDArray[np.int64]:
    """Where each level of a set over `n_places` numbers begins, from the lowest, and where the words end."""
    offsets = np.zeros(12, np.int64)
    n_levels, n_bits = 0, max(n_places, 1)
    while True:
        n_words = (n_bits + 63) >> 6
        offsets[n_levels + 1] = offsets[n_levels] + n_words
        n_levels += 1
        if n_words == 1:
            return offsets[: n_levels + 1]
        n_bits = n_words


@inlined
def put(words: NDArray[np.uint64], offsets: NDArray[np.int64], place: int) -> None:
    """Make a number a member."""
    rest = np.uint64(place)
    for level in range(offsets.size - 1):
        word = np.uint64(offsets[level]) + (rest >> SIX)
        had_some = words[word] != ZERO
        words[word] |= ONE << (rest & LOW_SIX)
        if had_some:
            break
        rest >>= SIX


@inlined
def drop(words: NDArray[np.uint64], offsets: NDArray[np.int64], place: int) -> None:
    """Make a member none."""
    rest = np.uint64(place)
    for level in range(offsets.size - 1):
        word = np.uint64(offsets[level]) + (rest >> SIX)
        words[word] &= ~(ONE << (rest & LOW_SIX))
        if words[word] != ZERO:
            break
        rest >>= SIX


@inlined
def highest_bit(word: np.uint64) -> int:
    """The place of the highest set bit of a word that is not 0."""
    place = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(step) != ZERO:
            word >>= np.uint64(step)
            place += step
    return place


@inlined
def next_member(words: NDArray[np.uint64], offsets: NDArray[np.int64], place: int) -> int:
    """The smallest member that is not below `place`, or `NONE`."""
    n_levels = offsets.size - 1
    level, rest, found = 0, np.int64(place), np.int64(NONE)
    while level < n_levels and found == NONE:
        word = rest >> 6
        if word < offsets[level + 1] - offsets[level]:
            bits = words[offsets[level] + word] & (~ZERO << np.uint64(rest & 63))
            if bits != ZERO:
                found = (word << 6) + lowest_bit(bits)
                break
        rest = word + 1
        level += 1
    while found != NONE and level > 0:
        level -= 1
        found = (found << 6) + lowest_bit(words[offsets[level] + found])
    return int(found)


@inlined
def last_member(words: NDArray[np.uint64], offsets: NDArray[np.int64], place: int) -> int:
    """The largest member that is not above `place`, or `NONE`."""
    n_levels = offsets.size - 1
    level, rest, found = 0, np.int64(place), np.int64(NONE)
    while level < n_levels and rest >= 0 and found == NONE:
        word = rest >> 6
        bits = words[offsets[level] + word] & (~ZERO >> np.uint64(63 - (rest & 63)))
        if bits != ZERO:
            found = (word << 6) + highest_bit(bits)
            break
        rest = word - 1
        level += 1
    while found != NONE and level > 0:
        level -= 1
        found = (found << 6) + highest_bit(words[offsets[level] + found])
    return int(found)

"""Rows of eight words, a bit an event: what bit-parallel evaluation does with them.

Every function reads all eight words before it writes any, since the compiler cannot know that two arrays do not
overlap, and only so may it put several words into one register. Places are unsigned, which spares Numba's test for
negative indexes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import inlined

N_WORDS = 8
N_EVENTS = 64 * N_WORDS  # of a block

U0, U1, U2, U3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
U4, U5, U6, U7 = np.uint64(4), np.uint64(5), np.uint64(6), np.uint64(7)
ROW = np.uint64(N_WORDS)

Words = NDArray[np.uint64]


def empty_rows(n_rows: int) -> Words:
    """Room for rows, none of which lies in two lines of the cache: what NumPy gives starts in the middle of one."""
    words = np.zeros((n_rows + 1) * N_WORDS, np.uint64)
    first = -words.ctypes.data % (N_WORDS * words.itemsize) // words.itemsize
    return words[first : first + n_rows * N_WORDS]


@inlined
def copy_row(target: Words, t: np.uint64, source: Words, s: np.uint64) -> None:
    """The row at `t` becomes the one at `s`."""
    a, b, c, d = source[s], source[s + U1], source[s + U2], source[s + U3]
    e, f, g, h = source[s + U4], source[s + U5], source[s + U6], source[s + U7]
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h


@inlined
def or_row(target: Words, t: np.uint64, source: Words, s: np.uint64) -> None:
    """The row at `t` or the one at `s`."""
    a, b = target[t] | source[s], target[t + U1] | source[s + U1]
    c, d = target[t + U2] | source[s + U2], target[t + U3] | source[s + U3]
    e, f = target[t + U4] | source[s + U4], target[t + U5] | source[s + U5]
    g, h = target[t + U6] | source[s + U6], target[t + U7] | source[s + U7]
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h


@inlined
def and_row(target: Words, t: np.uint64, source: Words, s: np.uint64) -> bool:
    """The row at `t` and the one at `s`; whether a bit is left."""
    a, b = target[t] & source[s], target[t + U1] & source[s + U1]
    c, d = target[t + U2] & source[s + U2], target[t + U3] & source[s + U3]
    e, f = target[t + U4] & source[s + U4], target[t + U5] & source[s + U5]
    g, h = target[t + U6] & source[s + U6], target[t + U7] & source[s + U7]
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h
    return bool(((a | b) | (c | d)) | ((e | f) | (g | h)))


@inlined
def without_row(target: Words, t: np.uint64, source: Words, s: np.uint64) -> bool:
    """The row at `t` but for the bits of the one at `s`; whether a bit is left."""
    a, b = target[t] & ~source[s], target[t + U1] & ~source[s + U1]
    c, d = target[t + U2] & ~source[s + U2], target[t + U3] & ~source[s + U3]
    e, f = target[t + U4] & ~source[s + U4], target[t + U5] & ~source[s + U5]
    g, h = target[t + U6] & ~source[s + U6], target[t + U7] & ~source[s + U7]
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h
    return bool(((a | b) | (c | d)) | ((e | f) | (g | h)))


@inlined
def difference_row(target: Words, t: np.uint64, source: Words, s: np.uint64, u: np.uint64) -> None:
    """The row at `t` becomes the bits in which the rows at `s` and at `u` differ."""
    a, b = source[s] ^ source[u], source[s + U1] ^ source[u + U1]
    c, d = source[s + U2] ^ source[u + U2], source[s + U3] ^ source[u + U3]
    e, f = source[s + U4] ^ source[u + U4], source[s + U5] ^ source[u + U5]
    g, h = source[s + U6] ^ source[u + U6], source[s + U7] ^ source[u + U7]
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h


@inlined
def or_difference(target: Words, t: np.uint64, source: Words, s: np.uint64, u: np.uint64) -> None:
    """The row at `t` or the bits in which the rows at `s` and at `u` differ."""
    a, b = target[t] | (source[s] ^ source[u]), target[t + U1] | (source[s + U1] ^ source[u + U1])
    c, d = target[t + U2] | (source[s + U2] ^ source[u + U2]), target[t + U3] | (source[s + U3] ^ source[u + U3])
    e, f = target[t + U4] | (source[s + U4] ^ source[u + U4]), target[t + U5] | (source[s + U5] ^ source[u + U5])
    g, h = target[t + U6] | (source[s + U6] ^ source[u + U6]), target[t + U7] | (source[s + U7] ^ source[u + U7])
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h


@inlined
def and_difference(target: Words, t: np.uint64, source: Words, s: np.uint64, u: np.uint64) -> bool:
    """The row at `t` and the bits in which the rows at `s` and at `u` differ; whether a bit is left."""
    a, b = target[t] & (source[s] ^ source[u]), target[t + U1] & (source[s + U1] ^ source[u + U1])
    c, d = target[t + U2] & (source[s + U2] ^ source[u + U2]), target[t + U3] & (source[s + U3] ^ source[u + U3])
    e, f = target[t + U4] & (source[s + U4] ^ source[u + U4]), target[t + U5] & (source[s + U5] ^ source[u + U5])
    g, h = target[t + U6] & (source[s + U6] ^ source[u + U6]), target[t + U7] & (source[s + U7] ^ source[u + U7])
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h
    return bool(((a | b) | (c | d)) | ((e | f) | (g | h)))

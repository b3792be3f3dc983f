"""Rows of bits, one bit per event of a block: combine, count and write them.

A row is eight words. Every function on rows reads all eight before it writes any: the compiler cannot know that two
arrays do not overlap, and only so may it put several words into one register. Indexes are unsigned, which spares
Numba's test for negative ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import ONE, ZERO, lowest_bit
from ruledex.compiled.decorator import inlined, jit

N_WORDS = 8
N_EVENTS = 64 * N_WORDS  # of a block

U0, U1, U2, U3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
U4, U5, U6, U7 = np.uint64(4), np.uint64(5), np.uint64(6), np.uint64(7)
ROW = np.uint64(N_WORDS)

Words = NDArray[np.uint64]
N_DIGITS = 32  # of a column's sum, which is at most the number of rules
SIXTY_FOUR = np.uint64(64)


def empty_rows(n_rows: int) -> Words:
    """Room for rows, none of which lies in two lines of the cache: what NumPy gives starts in the middle of one."""
    words = np.zeros((n_rows + 1) * N_WORDS, np.uint64)
    first = -words.ctypes.data % (N_WORDS * words.itemsize) // words.itemsize
    return words[first : first + n_rows * N_WORDS]


@inlined
def copy_row(target: Words, t: np.uint64, source: Words, s: np.uint64) -> None:
    """Copy the row at `s` to the one at `t`."""
    a, b, c, d = source[s], source[s + U1], source[s + U2], source[s + U3]
    e, f, g, h = source[s + U4], source[s + U5], source[s + U6], source[s + U7]
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d


@inlined
def or_row(target: Words, t: np.uint64, source: Words, s: np.uint64) -> None:
    """OR the row at `t` with the one at `s`."""
    a, b = target[t] | source[s], target[t + U1] | source[s + U1]
    c, d = target[t + U2] | source[s + U2], target[t + U3] | source[s + U3]
    e, f = target[t + U4] | source[s + U4], target[t + U5] | source[s + U5]
    g, h = target[t + U6] | source[s + U6], target[t + U7] | source[s + U7]
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h


@inlined
def and_row(target: Words, t: np.uint64, source: Words, s: np.uint64) -> bool:
    """AND the row at `t` with the one at `s`; return whether a bit is left."""
    a, b = target[t] & source[s], target[t + U1] & source[s + U1]
    c, d = target[t + U2] & source[s + U2], target[t + U3] & source[s + U3]
    e, f = target[t + U4] & source[s + U4], target[t + U5] & source[s + U5]
    g, h = target[t + U6] & source[s + U6], target[t + U7] & source[s + U7]
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h
    return bool(((a | b) | (c | d)) | ((e | f) | (g | h)))


@inlined
def without_row(target: Words, t: np.uint64, source: Words, s: np.uint64) -> bool:
    """Clear in the row at `t` the bits of the one at `s`; return whether a bit is left."""
    a, b = target[t] & ~source[s], target[t + U1] & ~source[s + U1]
    c, d = target[t + U2] & ~source[s + U2], target[t + U3] & ~source[s + U3]
    e, f = target[t + U4] & ~source[s + U4], target[t + U5] & ~source[s + U5]
    g, h = target[t + U6] & ~source[s + U6], target[t + U7] & ~source[s + U7]
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h
    return bool(((a | b) | (c | d)) | ((e | f) | (g | h)))


@inlined
def difference_row(target: Words, t: np.uint64, source: Words, s: np.uint64, u: np.uint64) -> None:
    """Write to the row at `t` the bits in which the rows at `s` and at `u` differ."""
    a, b = source[s] ^ source[u], source[s + U1] ^ source[u + U1]
    c, d = source[s + U2] ^ source[u + U2], source[s + U3] ^ source[u + U3]
    e, f = source[s + U4] ^ source[u + U4], source[s + U5] ^ source[u + U5]
    g, h = source[s + U6] ^ source[u + U6], source[s + U7] ^ source[u + U7]
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d


@inlined
def or_difference(target: Words, t: np.uint64, source: Words, s: np.uint64, u: np.uint64) -> None:
    """OR the row at `t` with the bits in which the rows at `s` and at `u` differ."""
    a, b = target[t] | (source[s] ^ source[u]), target[t + U1] | (source[s + U1] ^ source[u + U1])
    c, d = target[t + U2] | (source[s + U2] ^ source[u + U2]), target[t + U3] | (source[s + U3] ^ source[u + U3])
    e, f = target[t + U4] | (source[s + U4] ^ source[u + U4]), target[t + U5] | (source[s + U5] ^ source[u + U5])
    g, h = target[t + U6] | (source[s + U6] ^ source[u + U6]), target[t + U7] | (source[s + U7] ^ source[u + U7])
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h


@inlined
def and_difference(target: Words, t: np.uint64, source: Words, s: np.uint64, u: np.uint64) -> bool:
    """AND the row at `t` with the bits in which the rows at `s` and at `u` differ; return whether a bit is left."""
    a, b = target[t] & (source[s] ^ source[u]), target[t + U1] & (source[s + U1] ^ source[u + U1])
    c, d = target[t + U2] & (source[s + U2] ^ source[u + U2]), target[t + U3] & (source[s + U3] ^ source[u + U3])
    e, f = target[t + U4] & (source[s + U4] ^ source[u + U4]), target[t + U5] & (source[s + U5] ^ source[u + U5])
    g, h = target[t + U6] & (source[s + U6] ^ source[u + U6]), target[t + U7] & (source[s + U7] ^ source[u + U7])
    target[t], target[t + U1], target[t + U2], target[t + U3] = a, b, c, d
    target[t + U4], target[t + U5], target[t + U6], target[t + U7] = e, f, g, h
    return bool(((a | b) | (c | d)) | ((e | f) | (g | h)))


@jit
def _add(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the carry and the sum of three bits, in 64 columns at once."""
    differ = a ^ b
    return (a & b) | (differ & c), differ ^ c


@jit
def count_rows(words: Words, n_rows: int, digits: Words, counts: NDArray[np.int64]) -> None:
    """Add to each event's count the number of rows that have its bit.

    Columns are added up as binary numbers whose digits are words, eight rows at a time (Harley and Seal's counting),
    so that no bit is looked at on its own. `digits` is scratch of N_DIGITS words.
    """
    for word in range(N_WORDS):
        digits[:] = ZERO
        place = np.uint64(word)
        row = 0
        while row + 8 <= n_rows:
            carry_a, ones = _add(digits[0], words[place], words[place + ROW])
            carry_b, ones = _add(ones, words[place + np.uint64(16)], words[place + np.uint64(24)])
            carry_c, twos = _add(digits[1], carry_a, carry_b)
            carry_a, ones = _add(ones, words[place + np.uint64(32)], words[place + np.uint64(40)])
            carry_b, digits[0] = _add(ones, words[place + np.uint64(48)], words[place + np.uint64(56)])
            carry_a, digits[1] = _add(twos, carry_a, carry_b)
            carry, digits[2] = _add(digits[2], carry_c, carry_a)
            _carry(digits, 3, carry)
            row += 8
            place += SIXTY_FOUR
        while row < n_rows:
            _carry(digits, 0, words[place])
            row += 1
            place += ROW
        for digit in range(N_DIGITS):
            left = digits[digit]
            while left != ZERO:
                counts[64 * word + lowest_bit(left)] += 1 << digit
                left &= left - ONE


@jit
def _carry(digits: Words, digit: int, carry: np.uint64) -> None:
    while carry != ZERO:
        next_carry = digits[digit] & carry
        digits[digit] ^= carry
        carry = next_carry
        digit += 1


@jit
def write_rows(
    rules: NDArray[np.int32],
    words: Words,
    n_rows: int,
    cursor: NDArray[np.uint64],
    out: NDArray[np.int32],
) -> None:
    """Write each row's rule to the place of each of its events, and move those places on."""
    place = U0
    for row in range(n_rows):
        rule = rules[row]
        first = U0
        for _ in range(N_WORDS):
            left = words[place]
            place += ONE
            while left != ZERO:
                event = first + np.uint64(lowest_bit(left))
                left &= left - ONE
                target = cursor[event]
                out[target] = rule
                cursor[event] = target + ONE
            first += SIXTY_FOUR

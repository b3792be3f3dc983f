"""From rows of bits, a bit an event, to answers an event: counted or written as CSR."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import ONE, ZERO, lowest_bit
from ruledex.kernels.jit import jit
from ruledex.kernels.words import N_WORDS, ROW, U0, Words

N_DIGITS = 32  # of a column's sum, which is at most the number of rules
SIXTY_FOUR = np.uint64(64)


@jit
def _add(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The carry and the sum of three bits, in 64 columns at once."""
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

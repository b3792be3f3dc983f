"""From rows of bits, a bit an event, to answers an event: counted, written as CSR, or ranked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import ONE, ZERO, lowest_bit
from ruledex.kernels.jit import jit
from ruledex.kernels.score import ScoreStack
from ruledex.kernels.score_literals import ScoreLiterals
from ruledex.kernels.top import Ranking, precedes, push, rank_bound, rank_in_event
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


@jit
def rank_rows(
    literals: ScoreLiterals,
    ranking: Ranking,
    kind: int,
    rules: NDArray[np.int32],
    words: Words,
    n_rows: int,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    first_event: int,
    largest: NDArray[np.float64],
    stack: ScoreStack,
    ranks: NDArray[np.float64],
    ranked: NDArray[np.int32],
    n_held: NDArray[np.int64],
) -> None:
    """Put the rules of rows into the heaps of their events; only what its bound does not keep out is scored.

    `largest` is each event's largest weight, `ranks` and `ranked` have a row an event.
    """
    static_score, match_bound = ranking.static_score, ranking.match_bound
    for row in range(n_rows):
        rule = rules[row]
        static, bound = static_score[rule], match_bound[rule]
        for word in range(N_WORDS):
            left = words[N_WORDS * row + word]
            while left != ZERO:
                event = 64 * word + lowest_bit(left)
                left &= left - ONE
                held = n_held[event]
                # A heap that is full has its worst entry at place 0, which decides nearly always.
                if held == ranks.shape[1] and (
                    held == 0
                    or precedes(
                        ranks[event, 0], ranked[event, 0], rank_bound(kind, static, bound, largest[event]), rule
                    )
                ):
                    continue
                begin, end = event_offsets[first_event + event], event_offsets[first_event + event + 1]
                rank = rank_in_event(literals, ranking, kind, rule, cells, weights, begin, end, stack)
                if held < ranks.shape[1] or precedes(rank, rule, ranks[event, 0], ranked[event, 0]):
                    n_held[event] = push(ranks[event], ranked[event], held, rank, rule)


@jit
def tile_bounds(ranking: Ranking, kind: int, largest: float, tile_size: int, bounds: NDArray[np.float64]) -> None:
    """For each run of `tile_size` rules a rank that none of them exceeds on events of weights of at most `largest`."""
    static_score, match_bound = ranking.static_score, ranking.match_bound
    n_rules = static_score.size
    for tile in range(bounds.size):
        best = -np.inf
        for rule in range(tile * tile_size, min((tile + 1) * tile_size, n_rules)):
            best = max(best, rank_bound(kind, static_score[rule], match_bound[rule], largest))
        bounds[tile] = best

"""Score programs, one behind the other, and the writing of a rule's program from its entries.

What a program means is said in encode/program.py. Here its literals still have the numbers of the build.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.growing import lengthened
from ruledex.kernels.jit import jit
from ruledex.kernels.rule_entries import ALWAYS, ARGUMENT, BOTH, KIND, LEAF, NEGATED, NEVER, Predicates

PUSH_TRUE, FALSE_BY = 5, 6  # operations besides the operators and LEAF; as in a Program


class ScoreTable(NamedTuple):
    """Score programs. The arrays are longer than what is used of them."""

    code: NDArray[np.int32]  # pairs (operation, argument), one behind the other; literals by the caller's ids
    weight: NDArray[np.float64]  # one a pair
    n_pairs: NDArray[np.int64]  # [1]


def empty_score_table() -> ScoreTable:
    """A table without score programs."""
    return ScoreTable(np.empty(256, np.int32), np.empty(128, np.float64), np.zeros(1, np.int64))


def add_score(scores: ScoreTable, code: NDArray[np.integer], weight: NDArray[np.float64]) -> tuple[ScoreTable, int]:
    """Append one score program; return the table to go on with, and where its pairs start."""
    start = int(scores.n_pairs[0])
    scores = with_score_room(scores, len(weight))
    scores.code[2 * start : 2 * (start + len(weight))] = code
    scores.weight[start : start + len(weight)] = weight
    scores.n_pairs[0] += len(weight)
    return scores, start


def with_score_room(scores: ScoreTable, n_more: int) -> ScoreTable:
    """The table with room for so many pairs more."""
    weight = lengthened(scores.weight, int(scores.n_pairs[0]) + n_more)
    return ScoreTable(lengthened(scores.code, 2 * len(weight)), weight, scores.n_pairs)


@jit
def write_score(
    scores: ScoreTable, predicates: Predicates, negated: NDArray[np.uint8], entries: NDArray[np.int64], n_entries: int
) -> int:
    """Append the rule's score program, in the order of its text; return its number of pairs."""
    first = scores.n_pairs[0]
    pair = first
    for entry in range(n_entries - 1, -1, -1):
        kind, argument = entries[entry, KIND], entries[entry, ARGUMENT]
        weight = 0.0
        other = NEVER
        if kind == LEAF:
            predicate = argument
            literal, other = predicates.positive[predicate], predicates.negative[predicate]
            if entries[entry, NEGATED] != 0:
                literal, other = other, literal
            if literal >= 0:
                argument = int(literal)
                if negated[literal] == 0:
                    weight = predicates.weight[predicate]
            else:
                # What is never true is false where its negation always is, and unknown where that is never true either.
                kind = PUSH_TRUE
                argument = 1 if literal == ALWAYS else 0 if other == ALWAYS else -1
        scores.code[2 * pair], scores.code[2 * pair + 1], scores.weight[pair] = kind, argument, weight
        pair += 1
        if other >= 0 and entries[entry, BOTH] != 0:
            scores.code[2 * pair], scores.code[2 * pair + 1], scores.weight[pair] = FALSE_BY, other, 0.0
            pair += 1
    scores.n_pairs[0] = pair
    return int(pair - first)

"""The table of score programs during a build, and how a rule's program is written from its entries.

program/program.py defines the programs. Here literals still have the ids of the build, and each WEIGH has a weight of
its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import lengthen
from ruledex.compiled.constants import (
    ALWAYS,
    CONSTANT,
    FALSE_BY,
    IS_FALSE,
    IS_TRUE,
    IS_UNKNOWN,
    LEAF,
    NEVER,
    STEP_BITS,
    WEIGH,
)
from ruledex.compiled.decorator import inlined, jit
from ruledex.program.rule_entries import ARGUMENT, BOTH, KIND, NEGATED, PredicateLiterals

STEPS_PER_ENTRY = 3  # at most: a leaf, its weight, and what makes it false


class ScoreTable(NamedTuple):
    """The score programs. The arrays have room for more."""

    code: NDArray[np.int32]  # steps, one behind the other; literals by the caller's ids
    weight: NDArray[np.float64]
    n_steps: NDArray[np.int64]  # [1]
    n_weights: NDArray[np.int64]  # [1]


def empty_score_table() -> ScoreTable:
    """Return a table without score programs."""
    return ScoreTable(np.empty(256, np.int32), np.empty(128, np.float64), np.zeros(1, np.int64), np.zeros(1, np.int64))


def add_score(scores: ScoreTable, steps: list[tuple[int, int]], weights: list[float]) -> tuple[ScoreTable, int]:
    """Append one score program of (operation, argument); return the new table, and where its steps start.

    The argument of a WEIGH is an index into `weights`.
    """
    start, first_weight = int(scores.n_steps[0]), int(scores.n_weights[0])
    scores = with_score_room(scores, len(steps), len(weights))
    for place, (operation, argument) in enumerate(steps, start):
        scores.code[place] = pack_step(operation, argument + first_weight if operation == WEIGH else argument)
    scores.weight[first_weight : first_weight + len(weights)] = weights
    scores.n_steps[0] += len(steps)
    scores.n_weights[0] += len(weights)
    return scores, start


def with_score_room(scores: ScoreTable, n_more_steps: int, n_more_weights: int) -> ScoreTable:
    """Return the table with room for so many more steps and weights."""
    return scores._replace(
        code=lengthen(scores.code, int(scores.n_steps[0]) + n_more_steps),
        weight=lengthen(scores.weight, int(scores.n_weights[0]) + n_more_weights),
    )


@inlined
def pack_step(operation: int, argument: int) -> int:
    """Return the step as one integer."""
    return argument << STEP_BITS | operation


@jit
def write_score(
    scores: ScoreTable,
    predicates: PredicateLiterals,
    negated: NDArray[np.uint8],
    entries: NDArray[np.int64],
    n_entries: int,
) -> int:
    """Append the rule's score program, in the order of its text; return its number of steps.

    There must be room for `STEPS_PER_ENTRY` steps and one weight per entry.
    """
    first, n_weights = scores.n_steps[0], scores.n_weights[0]
    place = first
    for entry in range(n_entries - 1, -1, -1):
        kind, argument = entries[entry, KIND], entries[entry, ARGUMENT]
        weight = 1.0
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
                # What is never true is false if its negation is always true, and unknown if that is never true either.
                kind = CONSTANT
                argument = IS_TRUE if literal == ALWAYS else IS_FALSE if other == ALWAYS else IS_UNKNOWN
        scores.code[place] = pack_step(kind, argument)
        place += 1
        if weight != 1.0:
            scores.code[place] = pack_step(WEIGH, n_weights)
            scores.weight[n_weights] = weight
            n_weights += 1
            place += 1
        if other >= 0 and entries[entry, BOTH] != 0:
            scores.code[place] = pack_step(FALSE_BY, other)
            place += 1
    scores.n_steps[0], scores.n_weights[0] = place, n_weights
    return int(place - first)

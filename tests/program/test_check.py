"""The checks of stored nodes and score programs."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import (
    AND,
    CONSTANT,
    FALSE_BY,
    IS_UNKNOWN,
    LEAF,
    OR,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
    XNOR,
)
from ruledex.program.invariants import SOUND, first_faulty_node, first_faulty_score

N_WEIGHTS = 2
LEVELS = [5, 7, 8]  # five literals, two nodes above them, one above those


def faulty_node(*children):
    offsets = np.cumsum([0, *map(len, children)])
    flat = [child for each in children for child in each]
    return first_faulty_node(
        frozen(offsets, np.int32), frozen(np.array(flat), np.int32), frozen(np.array(LEVELS), np.int32)
    )


def test_nodes_above_their_children_are_sound():
    assert faulty_node([0, 4], [1, 2, 3], [0, 5, 6]) == SOUND


@pytest.mark.parametrize(
    ("children", "node"),
    [
        (([0], [1, 2], [5, 6]), 0),
        (([0, 0], [1, 2], [5, 6]), 0),
        (([0, 1], [2, 1], [5, 6]), 1),
        (([0, 1], [2, 5], [5, 6]), 1),
        (([0, 1], [2, 3], [5, 7]), 2),
    ],
)
def test_the_first_faulty_node_is_named(children, node):
    assert faulty_node(*children) == node


def faulty_score(*programs):
    offsets = np.cumsum([0, *map(len, programs)])
    code = [argument << STEP_BITS | operation for program in programs for operation, argument in program]
    return first_faulty_score(frozen(offsets, np.int32), frozen(np.array(code), np.int32), N_WEIGHTS, 5)


def test_programs_that_leave_one_value_are_sound():
    constant = [(LEAF, 0), (FALSE_BY, 1), (CONSTANT, IS_UNKNOWN), (XNOR, 2)]
    assert faulty_score([], [(LEAF, 4), (WEIGH, 1)], constant, [(CONSTANT, SCORES_ONE)]) == SOUND


@pytest.mark.parametrize(
    "program",
    [
        [(LEAF, 5)],
        [(LEAF, -1)],
        [(WEIGH, 0)],
        [(LEAF, 0), (WEIGH, 2)],
        [(LEAF, 0), (WEIGH, -1)],
        [(FALSE_BY, 0)],
        [(LEAF, 0), (FALSE_BY, 5)],
        [(CONSTANT, 4)],
        [(CONSTANT, -1)],
        [(LEAF, 0), (LEAF, 1)],
        [(LEAF, 0), (AND, 2)],
        [(LEAF, 0), (OR, 0)],
        [(LEAF, 0), (AND, -1)],
    ],
)
def test_a_program_that_cannot_be_run_is_named(program):
    assert faulty_score([(LEAF, 0)], program) == 1

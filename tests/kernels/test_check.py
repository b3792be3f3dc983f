"""The checks of stored nodes and score programs."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex.encode.program import AND, FALSE_BY, LEAF, OR, PUSH_TRUE, XNOR
from ruledex.engines.inputs import frozen
from ruledex.kernels.check import SOUND, first_faulty_node, first_faulty_score

LEVELS = [5, 7, 8]  # five literals, two nodes above them, one above those


def faulty_node(*children):
    offsets = np.cumsum([0, *map(len, children)])
    flat = [child for each in children for child in each]
    return first_faulty_node(
        frozen(offsets, np.int64), frozen(np.array(flat), np.int32), frozen(np.array(LEVELS), np.int32)
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
    pairs = [pair for program in programs for pair in program]
    code = [part for pair in pairs for part in pair[:2]]
    weights = [pair[2] if len(pair) > 2 else 0.0 for pair in pairs]
    return first_faulty_score(
        frozen(offsets, np.int64), frozen(np.array(code), np.int32), frozen(np.array(weights), np.float64), 5
    )


def test_programs_that_leave_one_value_are_sound():
    assert faulty_score([], [(LEAF, 4, 2.0)], [(LEAF, 0), (FALSE_BY, 1), (PUSH_TRUE, -1), (XNOR, 2)]) == SOUND


@pytest.mark.parametrize(
    "program",
    [
        [(LEAF, 5)],
        [(LEAF, -1)],
        [(LEAF, 0, -1.0)],
        [(LEAF, 0, np.nan)],
        [(LEAF, 0, np.inf)],
        [(FALSE_BY, 0)],
        [(LEAF, 0), (FALSE_BY, 5)],
        [(PUSH_TRUE, 2)],
        [(LEAF, 0), (LEAF, 1)],
        [(LEAF, 0), (AND, 2)],
        [(LEAF, 0), (OR, 0)],
        [(LEAF, 0), (9, 1)],
        [(LEAF, 0), (-1, 1)],
    ],
)
def test_a_program_that_cannot_be_run_is_named(program):
    assert faulty_score([(LEAF, 0)], program) == 1

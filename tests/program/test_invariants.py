"""A Program that would lead an engine astray is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import AND, CONSTANT, FALSE_BY, IS_UNKNOWN, LEAF, OR, SCORES_ONE, STEP_BITS, WEIGH, XNOR
from ruledex.errors import ArtifactError
from ruledex.program.invariants import SOUND, first_faulty_node, first_faulty_score, program_of
from tests.index.samples import program
from tests.program.test_builder import RULES

TEXTS = [*RULES, "(a = 1 OR b = 2) AND (c = 3 OR d != 4) AND (e = 1^2 XOR f = 2)"]
N_WEIGHTS = 2
LEVELS = [5, 7, 8]  # five literals, two nodes above them, one above those


def arrays_of():
    made, _ = program(TEXTS)
    return {name: array.copy() for name, array in made._asdict().items() if name != "n_cells"}, made.n_cells


def test_what_the_builder_makes_is_accepted():
    arrays, n_cells = arrays_of()
    assert program_of(arrays, n_cells).n_rules == len(TEXTS)
    empty, _ = program([])
    parts = {name: array for name, array in empty._asdict().items() if name != "n_cells"}
    assert program_of(parts, empty.n_cells).n_rules == 0


def put(name, at, value):
    return lambda arrays: arrays[name].__setitem__(at, value)


def cut(name):
    return lambda arrays: arrays.update({name: arrays[name][:-1]})


def operation(kind, argument):
    """Change the argument of the first step of that kind."""

    def change(arrays):
        code = arrays["score_code"]
        code[np.flatnonzero(code % 2**STEP_BITS == kind)[0]] = argument << STEP_BITS | kind

    return change


def reverse_children(arrays):
    begin, end = arrays["child_offsets"][:2]
    arrays["children"][begin:end] = arrays["children"][begin:end][::-1]


def parent_below(arrays):
    arrays["children"][arrays["child_offsets"][1] - 1] = arrays["level_offsets"][-1] - 1


LARGE = 10**6
DAMAGES = {
    "an array is missing": lambda arrays: arrays.pop("root"),
    "an array is of another type": lambda arrays: arrays.update(root=arrays["root"].astype(np.int64)),
    "an array has two dimensions": lambda arrays: arrays.update(root=arrays["root"][None]),
    "intervals are not counted": put("interval_offsets", -1, LARGE),
    "offsets go back": put("interval_offsets", 1, -1),
    "an interval begins before the cells": put("interval_low", 0, -1),
    "an interval ends after the cells": put("interval_high", 0, LARGE),
    "an interval ends before it begins": lambda arrays: arrays["interval_high"].__setitem__(slice(None), 0),
    "highs are short": cut("interval_high"),
    "a presence is no cell": put("negative_presence", 0, LARGE),
    "a negative is of no literal": put("negative_of", 0, LARGE),
    "negatives are short": cut("negative_of"),
    "an operation is unknown": put("node_op", 0, 9),
    "a node has one child": put("child_offsets", 1, 1),
    "a child is no node": put("children", 0, -1),
    "a child is beyond the nodes": put("children", -1, LARGE),
    "children are not in order": reverse_children,
    "a node stands before its child": parent_below,
    "levels begin elsewhere": put("level_offsets", 0, 0),
    "levels end elsewhere": put("level_offsets", -1, LARGE),
    "a root is no node": put("root", 0, LARGE),
    "a root is below NEVER": put("root", 0, -3),
    "scores are short": lambda arrays: arrays.update(static_score=np.zeros(len(TEXTS) - 1)),
    "a score is not finite": lambda arrays: arrays.update(static_score=np.full(len(TEXTS), np.inf)),
    "score programs are not counted": put("score_offsets", -1, LARGE),
    "score code is short": cut("score_code"),
    "a leaf is no literal": operation(LEAF, LARGE),
    "a falsifier is no literal": operation(FALSE_BY, -1),
    "an AND takes more than there is": operation(AND, 50),
    "an OR takes nothing": operation(OR, 0),
    "a weight is none": operation(WEIGH, 50),
    "an operation leaves too much": operation(AND, 1),
    "a weight is negative": put("score_weight", 0, -1.0),
    "a weight is NaN": put("score_weight", 0, np.nan),
    "domains lie beyond the cells": put("domain_offsets", -1, LARGE),
    "domains do not ascend": put("domain_offsets", 1, 0),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_program_is_refused(damage):
    arrays, n_cells = arrays_of()
    damage(arrays)
    with pytest.raises(ArtifactError, match="the stored program"):
        program_of(arrays, n_cells)


@pytest.mark.parametrize("n_cells", [0, -1, 3])
def test_too_few_cells_are_refused(n_cells):
    arrays, _ = arrays_of()
    with pytest.raises(ArtifactError, match="the stored program"):
        program_of(arrays, n_cells)


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

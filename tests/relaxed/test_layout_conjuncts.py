"""Score programs cut into branches and conjuncts, on steps written by hand."""

import numpy as np
import pytest

from ruledex.compiled.constants import (
    AND,
    CONSTANT,
    FALSE_BY,
    IS_FALSE,
    IS_TRUE,
    LEAF,
    OR,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
    XOR,
)
from ruledex.relaxed.layout import Conjuncts, find_operands, split_rules

WEIGHTS = np.array([0.5, 1.0, 3.0])
MARK, TRIPLE = (WEIGH, 1), (WEIGH, 2)
P, Q, R, S = ((LEAF, literal) for literal in range(4))


def coded(steps):
    return np.array([argument << STEP_BITS | operation for operation, argument in steps], np.int32)


def read(code):
    return [(step & (2**STEP_BITS - 1), step >> STEP_BITS) for step in code.tolist()]


def split(*rules):
    """For each rule its branches, and for each branch its conjuncts as (steps, whether marked)."""
    codes = [coded(steps) for steps in rules]
    code = np.concatenate(codes)
    n = len(code)
    out = Conjuncts(
        np.zeros(len(rules) + 1, np.int32),
        np.zeros(n + 1, np.int32),
        np.zeros(n + 1, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.uint8),
    )
    offsets = np.cumsum([0, *map(len, codes)])
    n_branches, n_conjuncts = split_rules(offsets, code, WEIGHTS, np.empty(n, np.int64), np.empty(n, np.int64), out)
    assert out.branch_offsets[-1] == n_branches
    assert out.conjunct_offsets[n_branches] == n_conjuncts
    steps = [
        (read(out.code[out.code_offsets[c] : out.code_offsets[c + 1]]), bool(out.is_marked[c]))
        for c in range(n_conjuncts)
    ]
    branches = [steps[out.conjunct_offsets[b] : out.conjunct_offsets[b + 1]] for b in range(n_branches)]
    return [branches[out.branch_offsets[r] : out.branch_offsets[r + 1]] for r in range(len(rules))]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([P], [[([P], False)]]),
        ([P, Q, (AND, 2)], [[([P], False), ([Q], False)]]),
        ([P, Q, R, (OR, 2), (AND, 2)], [[([P], False), ([Q, R, (OR, 2)], False)]]),
        ([P, TRIPLE, Q, (AND, 2), R, (OR, 2)], [[([P, TRIPLE], False), ([Q], False)], [([R], False)]]),
        ([P, MARK, Q, (AND, 2)], [[([P], True), ([Q], False)]]),
        ([P, Q, (AND, 2), MARK], [[([P, Q, (AND, 2)], True)]]),
        ([P, TRIPLE, MARK, Q, (OR, 2)], [[([P, TRIPLE], True)], [([Q], False)]]),
        ([P, (FALSE_BY, 3), Q, (XOR, 2)], [[([P, (FALSE_BY, 3), Q, (XOR, 2)], False)]]),
    ],
)
def test_an_or_has_branches_and_an_and_conjuncts(steps, expected):
    assert split(steps, [S]) == [expected, [[([S], False)]]]


def test_a_leaf_of_several_literals_stays_whole():
    leaf = [P, Q, (OR, 2), (CONSTANT, SCORES_ONE), TRIPLE, (AND, 2)]
    assert split(leaf) == [[[(leaf, False)]]]
    assert split([*leaf, R, (AND, 2)]) == [[[(leaf, False), ([R], False)]]]
    assert split([P, (CONSTANT, IS_TRUE), (AND, 2)]) == [[[([P], False), ([(CONSTANT, IS_TRUE)], False)]]]


def test_operands_begin_where_their_first_step_is():
    steps = [P, TRIPLE, Q, R, (AND, 2), (CONSTANT, IS_FALSE)]
    starts = np.zeros(6, np.int64)
    assert find_operands(coded(steps), 0, 6, starts) == 3
    assert starts[:3].tolist() == [0, 2, 5]

"""What a rule scores through its compiled program is what the reference says, for every kind of predicate."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ruledex.compiled.constants import AND, CONSTANT, IS_FALSE, IS_TRUE, LEAF, OR, STEP_BITS, WEIGH
from ruledex.index import Index
from ruledex.language.parser import parse
from ruledex.language.reference import score_of
from ruledex.language.schema import Schema
from ruledex.program.scores.compile import WalkStack, count_steps, write_rule_steps
from ruledex.program.scores.run import ScorePrograms

EVENT = {"s": "x", "n": 3, "t": ["p", "q"], "d": 2.5, "m": ["a", "b"], "b": True}
WEIGHTS = {"s": 3.0, "n": 2.0, "t": 5.0, "d": 7.0, "m": {"a": 4.0, "b": 6.0}, "b": 13.0}

RULES = [
    "s LIKE 'x%'",
    "s LIKE ANY ('x', 'x%')",
    "(s LIKE ANY ('x', 'y%'))^2.5 AND n = 3",
    "s LIKE ALL ('x', 'x%')",
    "s NOT LIKE ANY ('y%', 'z%')",
    "m LIKE ANY ('a', 'z%')",
    "m LIKE ANY ('a', 'b%')",
    "m IN ('a'^2, 'b'^3)",
    "s = 'x' XOR s LIKE ANY ('q%', 'r%')",
    "s = 'q' XOR s LIKE ANY ('x%', 'r%')",
    "subset_of(t, 'p', 'q', 'r') AND superset_of(t, 'p') AND set_equals(t, 'p', 'q')",
    "n % 2 = 1 AND n < 4 AND n + d > 5",
    "d > 2 AND d <= 2.5 AND n BETWEEN 1 AND 5",
    "b XOR s = 'x' XOR n <=> 3",
]


@pytest.mark.parametrize("rule", RULES)
def test_an_event_s_weights_count_as_in_the_reference(rule):
    expected = score_of(Schema().bind(parse(rule), rule), EVENT, weights=WEIGHTS)
    assert Index.build([(1, rule)]).top(EVENT, k=1, weights=WEIGHTS) == [(1, expected)]


P, Q, R, S = ((LEAF, literal) for literal in range(4))
HALF = (WEIGH, 0)


def coded(steps):
    return np.array([argument << STEP_BITS | operation for operation, argument in steps], np.int32)


@pytest.fixture
def programs():
    """Nodes 4: 1 AND 2, 5: 0 AND (4), 6: 3 OR (5); the last is a rule's tree, others have a program or a constant."""
    return ScorePrograms(
        np.array([0, 0, 2, 2, 2], np.int32),
        coded([P, HALF]),
        np.array([0.5]),
        np.array([6, 3, -1, -2], np.int32),
        np.array([AND, AND, OR], np.uint8),
        np.array([0, 2, 4, 6], np.int32),
        np.array([1, 2, 0, 4, 3, 5], np.int32),
    )


def written(programs, rules):
    n_steps = np.zeros(4, np.int64)
    count_steps(programs, np.zeros(7, np.int64), n_steps)
    code, offsets = np.empty(n_steps.sum(), np.int32), np.zeros(len(rules) + 1, np.int64)
    stack = WalkStack(np.empty(5, np.int32), np.empty(5, np.int64), np.empty(5, np.int64))
    write_rule_steps(programs, 4, stack, np.array(rules, np.int32), offsets, code)
    assert np.all(np.diff(offsets) <= n_steps[rules])
    steps = [(step & (2**STEP_BITS - 1), step >> STEP_BITS) for step in code.tolist()]
    return [steps[first:last] for first, last in pairwise(offsets.tolist())]


TREE = [S, P, Q, R, (AND, 3), (OR, 2)]


def test_match_trees_are_written_with_equal_operations_joined(programs):
    assert written(programs, [0, 1, 2, 3]) == [TREE, [P, HALF], [(CONSTANT, IS_TRUE)], [(CONSTANT, IS_FALSE)]]


def test_only_the_rules_that_are_named_are_written(programs):
    assert written(programs, [3, 0]) == [[(CONSTANT, IS_FALSE)], TREE]
    assert written(programs, []) == []

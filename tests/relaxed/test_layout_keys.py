"""Keys of conjuncts, on steps written by hand; that they miss nothing is tested in tests/engines."""

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
    XNOR,
)
from ruledex.relaxed.layout import EVERY_EVENT, Conjuncts, write_conjunct_keys

WEIGHTS = np.array([0.0, 3.0])
NOTHING, TRIPLE = (WEIGH, 0), (WEIGH, 1)
P, Q, R = ((LEAF, literal) for literal in range(3))
N, NULL = (LEAF, 3), (LEAF, 4)  # negative literals, of which the second needs nothing to be there
PRESENCE = np.array([7, 0], np.int32)
ONE = (CONSTANT, SCORES_ONE)


def keys_of(*branches):
    """The keys of branches, each a list of (steps, bound), as (branch, literal, points)."""
    conjuncts = [conjunct for branch in branches for conjunct in branch]
    code = [argument << STEP_BITS | operation for steps, _ in conjuncts for operation, argument in steps]
    given = Conjuncts(
        np.zeros(1, np.int32),
        np.cumsum([0, *map(len, branches)]).astype(np.int32),
        np.cumsum([0, *(len(steps) for steps, _ in conjuncts)]).astype(np.int32),
        np.array(code, np.int32),
        np.zeros(len(conjuncts), np.uint8),
    )
    n = len(code)
    keys, points, branch_of = np.empty(n, np.int32), np.empty(n), np.empty(n, np.int32)
    bound = np.array([bound for _, bound in conjuncts])
    n_keys = write_conjunct_keys(3, PRESENCE, given, WEIGHTS, bound, np.empty(n, np.int64), keys, points, branch_of)
    return list(zip(branch_of[:n_keys].tolist(), keys[:n_keys].tolist(), points[:n_keys].tolist(), strict=True))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([P], [(0, 1.0)]),
        ([P, TRIPLE], [(0, 3.0)]),
        ([P, TRIPLE, Q, (OR, 2)], [(0, 3.0), (1, 1.0)]),
        ([P, N, (OR, 2)], [(0, 1.0), (3, 0.0)]),
        ([P, NULL, (OR, 2)], [(0, 1.0), (EVERY_EVENT, 0.0)]),
        ([P, N, (AND, 2), Q, (OR, 2)], [(0, 1.0), (1, 1.0)]),
        ([N, P, NULL, (AND, 3), Q, (OR, 2)], [(0, 1.0), (1, 1.0)]),
        ([P, N, (OR, 2), Q, NOTHING, (AND, 2), R, (OR, 2)], [(0, 1.0), (3, 0.0), (2, 1.0)]),
        ([P, NOTHING, Q, NOTHING, (OR, 2), ONE, TRIPLE, (AND, 2)], [(0, 3.0), (1, 3.0)]),
        ([P, (CONSTANT, IS_FALSE), (OR, 2)], [(0, 1.0)]),
        ([P, (FALSE_BY, 3), Q, (XNOR, 2)], [(0, 1.0), (3, 0.0), (1, 1.0)]),
        ([P, (CONSTANT, IS_FALSE), (XNOR, 2)], [(0, 1.0), (EVERY_EVENT, 0.0)]),
        ([P, N, (AND, 2), Q, (XNOR, 2)], [(0, 1.0), (3, 0.0), (1, 1.0)]),
    ],
)
def test_a_conjunct_has_the_keys_that_it_may_be_true_by(steps, expected):
    assert keys_of([(steps, 9.0)]) == [(0, *key) for key in expected]


def test_a_branch_has_the_keys_of_all_conjuncts_that_may_score():
    first, second = [([P], 1.0), ([N], 0.0), ([Q, TRIPLE], 3.0)], [([R], 1.0)]
    assert keys_of(first, second) == [(0, 0, 1.0), (0, 1, 3.0), (1, 2, 1.0)]


def test_a_branch_that_scores_nothing_has_the_keys_of_the_conjunct_that_is_met_least_often():
    several, one = ([P, NOTHING, Q, NOTHING, (OR, 2)], 0.0), ([R, NOTHING], 0.0)
    every, negative, never = ([NULL], 0.0), ([N], 0.0), ([(CONSTANT, IS_FALSE)], 0.0)
    assert keys_of([several, one]) == [(0, 2, 0.0)]
    assert keys_of([one, several]) == [(0, 2, 0.0)]
    assert keys_of([every, several]) == [(0, 0, 0.0), (0, 1, 0.0)]
    assert keys_of([every, negative, ([(CONSTANT, IS_TRUE)], 0.0)]) == [(0, 3, 0.0)]
    assert keys_of([every]) == [(0, EVERY_EVENT, 0.0)]
    assert keys_of([one, never], [one]) == [(1, 2, 0.0)]

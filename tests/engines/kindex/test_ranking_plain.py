import numpy as np
import pytest

from ruledex.compiled.constants import AND, OR
from ruledex.engines.inputs import nodes_of, score_programs_of
from ruledex.engines.kindex.ranking import MOST_LITERALS, find_plain_rules
from tests.contract.builder import make_program

A, B, C = (("in", (cell, cell)) for cell in (1, 2, 3))


def leaf(literal, weight):
    return ("leaf", literal, weight)


def found(tree, score, outer, n_cells=3):
    program = make_program([n_cells], [(tree, 0.0, score)])
    is_plain, largest = np.zeros(1, np.bool_), np.zeros(program.n_literals)
    find_plain_rules(nodes_of(program), score_programs_of(program), program.n_literals, outer, is_plain, largest)
    return bool(is_plain[0]), sorted(largest.tolist())


@pytest.mark.parametrize(
    ("tree", "score", "in_dnf", "in_cnf"),
    [
        (A, None, True, True),
        (("and", A, B), None, True, True),
        (("or", A, ("and", B, C)), None, True, False),
        (("and", A, ("or", B, C)), None, False, True),
        (("and", ("or", A, B), ("or", A, C)), None, False, True),
        (("and", ("and", A, B), ("or", A, C)), None, False, True),
        (("and", A, ("and", B, C)), None, True, True),
        (("and", A, ("and", A, B)), None, False, True),
        (("or", A, ("or", A, B)), None, True, False),
        (("or", A, ("and", B, ("or", A, C))), None, False, False),
        (("and", A, B), leaf(A, 2.0), False, True),
        (("and", A, B), ("and", leaf(A, 2.0), leaf(B, 3.0)), True, True),
        (("and", A, B), ("and", leaf(B, 2.0), leaf(C, 3.0)), False, False),
        (("and", A, B), ("and", leaf(A, 2.0), leaf(A, 2.0)), False, False),
        (("or", A, ("and", B, C)), ("or", ("and", leaf(C, 2.0), leaf(B, 3.0)), leaf(A, 1.0)), True, False),
        (("or", A, ("and", B, C)), ("or", leaf(A, 1.0), ("and", leaf(A, 2.0), leaf(B, 3.0))), False, False),
        (("and", A, ("or", B, C)), ("and", leaf(A, 2.0), ("or", leaf(B, 3.0), leaf(C, 4.0))), False, True),
        ("always", None, True, True),
    ],
)
def test_plain_are_rules_whose_scores_are_those_of_the_form_that_is_indexed(tree, score, in_dnf, in_cnf):
    assert found(tree, score, OR)[0] == in_dnf
    assert found(tree, score, AND)[0] == in_cnf


def test_literals_are_bounded_by_their_largest_weight():
    rules = [
        (("and", A, B), 0.0, ("and", leaf(A, 2.0), leaf(B, 0.5))),
        (("or", A, B), 0.0, ("or", leaf(A, 0.25), leaf(B, 0.75))),
        (C, 0.0, None),
    ]
    program = make_program([3], rules)
    is_plain, largest = np.zeros(3, np.bool_), np.zeros(program.n_literals)
    find_plain_rules(nodes_of(program), score_programs_of(program), program.n_literals, OR, is_plain, largest)
    assert is_plain.all()
    assert sorted(largest.tolist()) == [0.75, 1.0, 2.0]


def test_rules_of_very_many_literals_are_not_plain():
    for n_literals, expected in ((MOST_LITERALS, True), (MOST_LITERALS + 1, False)):
        tree = ("or", *(("in", (cell, cell)) for cell in range(1, n_literals + 1)))
        assert found(tree, None, OR, n_literals)[0] == expected

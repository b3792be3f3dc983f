import numpy as np
import pytest

from ruledex.encode.program import AND, OR
from ruledex.engines.inputs import score_programs_of
from ruledex.engines.normal_forms import nodes_of
from ruledex.kernels.normal_forms_bounds import find_plain_rules, least_bound
from ruledex.kernels.top import PRODUCT, STATIC, SUM, rank_of
from tests.contract.builder import make_program

A, B, C = (("in", (cell, cell)) for cell in (1, 2, 3))


@pytest.mark.parametrize(
    ("tree", "score", "in_dnf", "in_cnf"),
    [
        (A, None, True, True),
        (("and", A, B), None, True, True),
        (("or", A, ("and", B, C)), None, True, False),
        (("and", A, ("or", B, C)), None, False, True),
        (("and", ("or", A, B), ("or", A, C)), None, False, True),
        (("and", ("and", A, B), ("or", A, C)), None, False, False),
        (("or", A, ("and", B, ("or", A, C))), None, False, False),
        (("and", A, B), ("leaf", A, 2.0), False, False),
        ("always", None, True, True),
    ],
)
def test_plain_are_rules_that_are_a_normal_form_and_have_no_score_of_their_own(tree, score, in_dnf, in_cnf):
    program = make_program([3], [(tree, 0.0, score)])
    for outer, expected in ((OR, in_dnf), (AND, in_cnf)):
        is_plain = np.zeros(1, np.bool_)
        find_plain_rules(nodes_of(program), score_programs_of(program), program.n_literals, outer, is_plain)
        assert is_plain[0] == expected


@pytest.mark.parametrize("kind", [SUM, PRODUCT, STATIC])
@pytest.mark.parametrize("static", [-2.0, 0.0, 0.1, 7.0])
@pytest.mark.parametrize("before", [0.0, 0.3])
def test_whatever_reaches_the_worst_rank_has_the_least_bound(kind, static, before):
    for match in (0.0, 0.1, 0.7, 3.0, 1e9):
        worst = rank_of(kind, static, before + match)
        assert least_bound(kind, static, before, worst) <= match
        assert least_bound(kind, static + 1.0, before, worst) <= match


def test_what_falls_short_of_the_worst_rank_does_not_have_the_least_bound():
    assert least_bound(SUM, 1.0, 0.5, 4.0) > 2.4
    assert least_bound(PRODUCT, 2.0, 0.5, 4.0) > 1.4
    assert least_bound(PRODUCT, -1.0, 0.5, 4.0) == np.inf


@pytest.mark.parametrize("kind", [SUM, PRODUCT, STATIC])
@pytest.mark.parametrize("worst", [-np.inf, np.inf])
def test_without_a_worst_rank_nothing_is_left_out(kind, worst):
    assert least_bound(kind, 1.0, 0.0, worst) == -np.inf

import numpy as np
import pytest

from ruledex.engines.kindex import normal_forms
from ruledex.engines.kindex.normal_forms import clauses_of, distinct_clauses, expressions_of, join_clauses
from ruledex.errors import BudgetError, RuledexError
from tests.contract.builder import make_program

A, B, C, D = (("in", (cell, cell)) for cell in range(1, 5))
PRODUCT = ("and", ("or", A, B), ("or", C, D))


def program_of(*trees):
    return make_program([4], [(tree, 0.0, None) for tree in trees])


def test_rules_that_share_a_root_are_one_expression():
    expressions = expressions_of(program_of(A, PRODUCT, A, "never", "always"), "DNF", 100, "error")
    assert len(expressions.roots) == 3
    assert expressions.rule_offsets.tolist() == [0, 1, 3, 4]
    assert expressions.rules.tolist() == [4, 0, 2, 1]
    assert expressions.sizes.tolist() == [0, 1, 8]


@pytest.mark.parametrize(("form", "size"), [("DNF", 8), ("CNF", 4)])
def test_a_rule_past_the_budget_is_an_error_that_names_it(form, size):
    program = program_of(A, PRODUCT)
    assert len(expressions_of(program, form, size, "error").overflow) == 0
    with pytest.raises(BudgetError, match=f"{form} of the rule at position 1 has at least {size} literals"):
        expressions_of(program, form, size - 1, "error")


def test_rules_past_the_budget_may_be_left_out():
    expressions = expressions_of(program_of(A, PRODUCT, B), "DNF", 7, "sparse")
    assert expressions.overflow.tolist() == [1]
    assert expressions.rules.tolist() == [0, 2]


def test_an_unknown_overflow_is_refused():
    with pytest.raises(RuledexError, match="'ignore'"):
        expressions_of(program_of(A), "DNF", 10, "ignore")


@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_clauses_are_the_same_whatever_is_converted_at_once(chunk, monkeypatch):
    monkeypatch.setattr(normal_forms, "CHUNK", chunk)
    program = program_of(PRODUCT, A, "always", ("or", A, ("and", B, C)))
    expressions = expressions_of(program, "DNF", 100, "error")
    clauses = join_clauses(clauses_of(program, "DNF", expressions))
    assert clauses.n_clauses.tolist() == [1, 1, 4, 2]
    assert np.diff(clauses.offsets).tolist() == [0, 1, 2, 2, 2, 2, 1, 2]
    assert len(clauses.literals) == clauses.offsets[-1]


def test_a_clause_that_several_rules_have_stands_once():
    program = program_of(("or", A, ("and", B, C)), ("or", D, ("and", B, C)), A)
    expressions = expressions_of(program, "DNF", 100, "error")
    clauses, ids = distinct_clauses(clauses_of(program, "DNF", expressions))
    assert len(ids) == clauses.n_clauses.sum() == 5
    assert len(clauses.offsets) - 1 == 3


def test_always_is_one_empty_conjunction_and_no_disjunction():
    program = program_of("always")
    for form, n_clauses in (("DNF", 1), ("CNF", 0)):
        clauses = join_clauses(clauses_of(program, form, expressions_of(program, form, 1, "error")))
        assert clauses.n_clauses.tolist() == [n_clauses]
        assert len(clauses.offsets) == n_clauses + 1

"""Normal forms are compared with the trees that they come from; budgets are kept."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings

from ruledex import evaluate, parse, score
from ruledex.errors import BudgetError
from ruledex.language.tree import And, Or, Truth
from ruledex.rewrite.negation import expand_xor, push_not
from ruledex.rewrite.normal_form import to_cnf, to_dnf
from ruledex.rewrite.pipeline import match_tree
from tests.strategies import all_events, trees


def joined(kind, clauses, empty):
    parts = [clause[0] if len(clause) == 1 else clause for clause in clauses]
    nodes = [(And if kind is Or else Or)(p) if isinstance(p, tuple) and p else p for p in parts]
    nodes = [Truth(not empty) if node == () else node for node in nodes]
    return Truth(empty) if not nodes else nodes[0] if len(nodes) == 1 else kind(tuple(nodes))


@given(tree=trees(2, ("a", "flag"), weighted=False))
@settings(max_examples=150)
def test_both_forms_are_true_where_the_rule_is(tree):
    match = match_tree(tree)
    try:
        dnf, cnf = joined(Or, to_dnf(match), False), joined(And, to_cnf(match), True)
    except BudgetError:
        assume(False)
    for event in all_events(tree):
        expected = evaluate(tree, event) is True
        assert (evaluate(dnf, event) is True) == expected
        assert (evaluate(cnf, event) is True) == expected


@given(tree=trees(2, ("a", "flag")))
@settings(max_examples=100)
def test_a_dnf_that_keeps_multiplicity_keeps_the_score_of_and_and_or(tree):
    pushed = push_not(tree)
    if expand_xor(pushed) is not pushed:
        return  # XOR scores its true side alone, which no AND and OR say
    dnf = joined(Or, to_dnf(pushed, keep_multiplicity=True), False)
    for event in all_events(tree):
        expected = score(tree, event)
        if expected is not None:
            assert score(dnf, event) == pytest.approx(expected)


def test_a_form_over_its_budget_is_refused_with_its_size():
    rule = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(20))
    with pytest.raises(BudgetError, match=r"20,971,520 literals, over the budget of 10,000") as caught:
        to_dnf(match_tree(parse(rule)))
    assert (caught.value.form, caught.value.size, caught.value.budget) == ("DNF", 20 * 2**20, 10_000)
    assert len(to_cnf(match_tree(parse(rule)))) == 20


def test_a_form_drops_what_others_absorb():
    assert len(to_dnf(match_tree(parse("(a = 1 OR b = 1) AND (a = 1 OR c = 1)")))) == 2

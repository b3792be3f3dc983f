"""Normal forms are compared with the rules that they come from, by truth tables; budgets are kept."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ruledex
from ruledex import Schema, evaluate, parse, to_cnf, to_dnf
from ruledex.errors import RuledexError, RuleLimitError
from ruledex.language.structured import to_structured
from ruledex.language.tree import Not, Truth
from ruledex.rewrite.normal_form import multiply_out
from tests.strategies import SINGLE, all_events, trees

FORMS = {"DNF": to_dnf, "CNF": to_cnf}
# Factors and branches as people write them, with much in common.
SHARED = """((m = 1 AND k16 = 2) OR (m = 1 AND k73 IN (4, 17)) OR (m = 1 AND k73 IN (4, 17) AND k501 NOT IN (3))
    OR (m = 1 AND k9 = 1 AND k73 IN (4, 17)) OR (m = 1 AND k16 = 2 AND k501 NOT IN (3) AND k7 = 1)
    OR (m = 1 AND k20 = 5) OR (m = 1 AND k21 = 6 AND k20 = 5 AND k9 = 1) OR (m = 1 AND k20 IN (5, 6) AND k20 = 5)
    OR (m = 1 AND k30 = 7) OR (m = 1 AND k30 = 7 AND k31 = 1 AND k9 = 2))"""


def chain(n, word="XOR"):
    return f" {word} ".join(f"x{i} = 1" for i in range(n))


def assert_same(tree, form, events, schema=None):
    """The form is true where the rule is, and has the clauses that it says."""
    made = parse(form.text)
    for event in events:
        expected = evaluate(tree, event, schema) is True
        assert (evaluate(made, event, schema) is True) == expected, (form.text, event)
    inside, outside = (all, any) if form.form == "DNF" else (any, all)
    literals = {literal: parse(literal) for clause in form.clauses for literal in clause}
    for event in events[:20]:
        true = {literal for literal, parsed in literals.items() if evaluate(parsed, event, schema) is True}
        value = outside(inside(literal in true for literal in clause) for clause in form.clauses)
        assert value == (evaluate(tree, event, schema) is True)


@pytest.mark.parametrize("convert", [to_dnf, to_cnf])
@given(tree=trees(2, ("a", "flag")), is_single=st.booleans())
@settings(max_examples=100)
def test_a_form_is_true_where_the_rule_is(convert, tree, is_single):
    schema = Schema.of_mapping(SINGLE) if is_single else None
    try:
        form = convert(tree, schema=schema)
    except RuleLimitError:
        assume(False)
    events = list(all_events(tree))
    if is_single:
        events = [event for event in events if not any(isinstance(v, list) and len(v) > 1 for v in event.values())]
    assert_same(tree, form, events, schema)


@pytest.mark.parametrize("form", ["DNF", "CNF"])
def test_drawn_rules_that_share_much_are_true_where_their_forms_are(form):
    """Rules over four attributes with two values each, so that factors, absorption and XOR all come up."""
    rng = random.Random(11)
    literals = ["a = 1", "a IN (1, 2)", "a != 1", "a IS NULL", "a > 1", "b = 1", "NOT b = 1", "b IN (1, 2)", "flag"]
    literals += ["NOT flag", "flag IS NOT TRUE", "a BETWEEN 1 AND 2", "b IS NOT NULL", "(b = 1) IS NOT FALSE"]

    def draw(depth):
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(literals)
        if rng.random() < 0.15:
            return f"NOT ({draw(depth - 1)})"
        word = rng.choice(["AND", "OR", "AND", "OR", "XOR", "XNOR"])
        return f" {word} ".join(f"({draw(depth - 1)})" for _ in range(rng.choice([2, 2, 3])))

    values = [None, 1, 2, 3, [1, 2], [2, None], "x"]
    flags = [None, True, False, 1]
    events = [{"a": a, "b": b, "flag": flag} for a in values for b in values for flag in flags]
    for _ in range(int(os.environ.get("RULEDEX_NORMAL_FORMS", "60"))):
        text = draw(3)
        assert_same(parse(text), FORMS[form](text), rng.sample(events, 40))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("word", ["XOR", "XNOR"])
@pytest.mark.parametrize("form", ["DNF", "CNF"])
def test_a_chain_has_one_clause_for_each_half_of_its_truth_table(n, word, form):
    made = FORMS[form](chain(n, word))
    assert (made.n_clauses, made.n_literals) == (2 ** (n - 1), n * 2 ** (n - 1))
    rng = random.Random(n)
    events = [{f"x{i}": rng.choice([1, 1, 2, 2, None]) for i in range(n)} for _ in range(100)]
    assert_same(parse(chain(n, word)), made, events)


def test_a_chain_that_may_be_unknown_is_small_too():
    assert to_dnf("(a = 1 XOR b = 1) IS NOT TRUE").n_literals == 4
    assert to_cnf("(a = 1 XOR b = 1) IS NOT TRUE").n_literals == 4


def test_what_branches_share_is_taken_out():
    form = to_cnf(SHARED)
    assert form.text == "m = 1 AND (k16 = 2 OR k73 IN (4, 17) OR k20 = 5 OR k30 = 7)"
    assert form.n_literals == 5
    assert to_dnf(SHARED).n_literals == 8


@pytest.mark.parametrize(
    ("text", "dnf", "cnf"),
    [
        ("a = 1 AND (a = 1 OR b = 2)", "a = 1", "a = 1"),
        ("a = 1 OR NOT a = 1", "a = 1 OR a != 1", "a = 1 OR a != 1"),
        ("a IS NULL OR a IS NOT NULL", "TRUE", "TRUE"),
        ("b = 1 AND NOT b = 1", "FALSE", "FALSE"),
        ("(a > 1 AND b = 1) OR (a > 2 AND b = 1)", "a > 1 AND b = 1", "a > 1 AND b = 1"),
        ("(a = 1 OR b = 1) AND (a IN (1, 2) OR c = 1)", "a = 1 OR b = 1 AND a IN (1, 2) OR b = 1 AND c = 1", None),
        ("a = 1 OR a = 2 OR b = 3", "a = 1 OR a = 2 OR b = 3", "a IN (1, 2) OR b = 3"),
        ("a = 1^3 AND REQUIRED(b = 2)", "a = 1 AND b = 2", "a = 1 AND b = 2"),
        ("a = 1 AND b LIKE ANY ('x%', 'y%')", "a = 1 AND b LIKE ANY ('x%', 'y%')", None),
        ("a = 1 AND NULL", "FALSE", "FALSE"),
        ("ts > now() - INTERVAL 1 DAY AND a = 1", "ts > current_timestamp() - INTERVAL '1' DAY AND a = 1", None),
    ],
)
def test_forms_have_the_texts_that_a_person_expects(text, dnf, cnf):
    assert to_dnf(text).text == dnf
    if cnf is not None:
        assert to_cnf(text).text == cnf


def test_an_attribute_with_one_value_has_no_two():
    rule, single = "(a = 1 OR b = 1) AND (a = 2 OR b = 1)", Schema.of_mapping(SINGLE)
    assert to_dnf(rule).text == "a = 1 AND a = 2 OR b = 1"
    assert to_dnf(rule, schema=single).text == "b = 1"
    assert to_dnf("a IN (1, 2) AND a IN (2, 3)", schema=single).text == "a = 2"


def test_a_form_over_its_budget_is_refused_with_its_size():
    rule = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(20))
    with pytest.raises(RuleLimitError, match=r"DNF of this rule has at least 20,971,520 literals, over .* of 10,000$"):
        to_dnf(rule)
    assert to_cnf(rule).n_clauses == 20
    with pytest.raises(RuleLimitError, match="at least 80 literals, over the budget of 79"):
        to_cnf(chain(5), budget=79)
    assert to_cnf(chain(5), budget=80).n_literals == 80


def test_what_literals_share_is_not_counted_twice_in_the_least_size():
    rule = " AND ".join(f"(m = 1 OR a{i} = 1 OR b{i} = 1)" for i in range(12))
    with pytest.raises(RuleLimitError, match="at least 49,153 literals"):
        to_dnf(rule)


def test_a_form_that_takes_too_much_on_the_way_is_refused():
    rng = random.Random(3)
    rule = " AND ".join("(" + " OR ".join(f"x{i} = 1" for i in rng.sample(range(40), 6)) + ")" for _ in range(30))
    with pytest.raises(RuleLimitError, match="literals before absorption, over the budget of 100"):
        to_dnf(rule, budget=100)


def test_a_rule_is_a_text_a_structure_or_a_tree():
    tree = parse("a = 1 AND (b = 2 OR c = 3)")
    forms = [to_dnf(rule) for rule in (ruledex.to_text(tree), tree, to_structured(tree), b"a = 1 AND (b = 2 OR c = 3)")]
    assert all(form == forms[0] for form in forms)
    assert str(forms[0]) == "a = 1 AND b = 2 OR a = 1 AND c = 3"
    schema = Schema().with_definitions({"both": "b = 2 OR c = 3"})
    assert to_dnf("a = 1 AND @both", schema=schema) == forms[0]


@pytest.mark.parametrize("given", [{"budget": 0}, {"budget": True}, {"budget": "9"}, {"schema": {}}])
def test_wrong_arguments_are_refused(given):
    with pytest.raises(RuledexError, match=next(iter(given))):
        to_dnf("a = 1", **given)
    with pytest.raises(RuledexError, match="a rule is a text"):
        to_dnf(3)


def test_constants_are_forms_without_literals():
    for form, convert in FORMS.items():
        for value in (True, False):
            made = convert("TRUE" if value else "FALSE")
            assert made.text == str(value).upper()
            assert made.clauses == (((),) if value is (form == "DNF") else ())
    assert multiply_out(Not(Truth(True)), "DNF") == []

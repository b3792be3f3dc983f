"""Trees written as text, and parsed again."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.text import tree_text
from ruledex.language.tree import And, Attribute, Bound, In, Not, Weak, Within
from tests.strategies import examples, trees, wild_trees

REPRODUCIBLE = settings(
    derandomize=True, deadline=None, max_examples=examples(400), suppress_health_check=[HealthCheck.too_slow]
)


@REPRODUCIBLE
@given(wild_trees(3))
def test_the_text_of_any_tree_is_read_as_the_same_tree(tree):
    assert parse(tree_text(tree)) == tree


@REPRODUCIBLE
@given(trees(4))
def test_the_text_of_a_deep_tree_is_read_as_the_same_tree(tree):
    assert parse(tree_text(tree)) == tree


@pytest.mark.parametrize(
    ("text", "shortest"),
    [
        ("((a = 1))", "a = 1"),
        ("(a = 1) AND (b = 2)", "a = 1 AND b = 2"),
        ("(a AND b) OR c", "a AND b OR c"),
        ("(a OR b) AND c", "(a OR b) AND c"),
        ("a XOR (b AND c)", "a XOR b AND c"),
        ("(a XOR b) AND c", "(a XOR b) AND c"),
        ("(a XOR b) OR c", "a XOR b OR c"),
        ("(a XOR b) XNOR c", "a XOR b XNOR c"),
        ("a XOR (b XNOR c)", "a XOR (b XNOR c)"),
        ("NOT (a)", "NOT a"),
        ("NOT (a AND b)", "NOT (a AND b)"),
        ("NOT (a = 1)", "a != 1"),
        ("NOT (a IN (1))", "a NOT IN (1)"),
        ("NOT (a IS NULL)", "a IS NOT NULL"),
        ("NOT (a LIKE ANY ('x', 'y'))", "a NOT LIKE ALL ('x', 'y')"),
        ("NOT NOT (a = 1)", "NOT a != 1"),
        ("NOT (a > 1)", "NOT a > 1"),
        ("(a + b) + c > (1)", "a + b + c > 1"),
        ("a + (b + c) > 1", "a + (b + c) > 1"),
        ("(a * b) + c > 1", "a * b + c > 1"),
        ("a * (b + c) > 1", "a * (b + c) > 1"),
        ("-(-a) > 1", "-(-a) > 1"),
        ("5 < a", "a > 5"),
        ("a = TRUE", "a"),
        ("`a`.`b c`.`and` = 1", "a.`b c`.and = 1"),
        ("`and` = 1", "`and` = 1"),
        ("(a IN (1))^2", "a IN (1^2)"),
        ("(a > 1)^2.50", "a > 1^2.5"),
        ("(a BETWEEN 1 AND 2)^2", "(a BETWEEN 1 AND 2)^2"),
        ('a = "x"', "a = 'x'"),
        ("a = 1e3 OR a = 5D OR a = 5BD OR a = 0.50", "a = 1000.0D OR a = 5.0D OR a = 5BD OR a = 0.50"),
        ("a == 1 /* one */ and b <> 2", "a = 1 AND b != 2"),
        ("a = r'\\d'", "a = '\\\\d'"),
        ("a = TIMESTAMP '2024-02-29'", "a = TIMESTAMP '2024-02-29 00:00:00'"),
    ],
)
def test_a_rule_is_printed_with_as_few_parentheses_as_its_meaning_allows(text, shortest):
    assert tree_text(parse(text)) == shortest
    assert parse(shortest) == parse(text)


def test_what_rewrites_make_is_printed_as_a_rule_of_the_same_meaning():
    number, named = Attribute(("n",)), Attribute(("s",))
    within = Within(number, (7,), (Bound(None, False, 1, True), Bound(2, True, 3, True), Bound(4, False, 5, False)))
    weak = Weak(In(named, ("x", "y")))
    assert tree_text(within) == "n = 7 OR n <= 1 OR n BETWEEN 2 AND 3 OR (n > 4 AND n < 5)"
    assert tree_text(weak) == "s IS NULL OR s NOT IN ('x', 'y')"
    assert tree_text(And((within, weak))) == f"({tree_text(within)}) AND ({tree_text(weak)})"
    for tree in (within, weak, Not(within), And((within, weak))):
        for event in ({}, {"n": 1}, {"n": 4, "s": "x"}, {"n": 7, "s": "z"}, {"n": 4.5}, {"n": 2.5, "s": "y"}):
            assert truth_of(parse(tree_text(tree)), event) is truth_of(tree, event)

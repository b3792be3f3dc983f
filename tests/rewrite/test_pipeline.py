"""Rewrites are compared with the reference evaluator: by truth tables on small domains, then by random events."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ruledex import Schema, evaluate, parse, score, to_text
from ruledex.language.tree import And, Expression, Or, Truth
from ruledex.rewrite.negation import expand_xor, push_not
from ruledex.rewrite.pipeline import match_tree, score_tree
from ruledex.rewrite.simplify import absorb, flatten, order_for_score, sort_children
from ruledex.rewrite.walk import NodeKeys, bottom_up
from tests.strategies import SINGLE, all_events, events, examples, trees

UNDECLARED = Schema()
ONE_VALUE = Schema.of_mapping(SINGLE)
SCHEMAS = pytest.mark.parametrize("schema", [UNDECLARED, ONE_VALUE], ids=["several values", "one value"])


def same_truth(before: Expression, after: Expression, schema: Schema) -> None:
    for event in all_events(before):
        expected = evaluate(before, event, schema)
        assert evaluate(after, event, schema) == expected, (to_text(before), to_text(after), event)


def same_matches(before: Expression, after: Expression, schema: Schema) -> None:
    for event in all_events(before):
        expected = evaluate(before, event, schema) is True
        assert (evaluate(after, event, schema) is True) == expected, (to_text(before), to_text(after), event)


@SCHEMAS
@given(tree=trees(3, ("a",)))
@settings(max_examples=examples(400))
def test_the_match_tree_is_true_where_the_rule_is_on_one_attribute(tree: Expression, schema: Schema) -> None:
    same_matches(tree, match_tree(tree, schema), schema)


@SCHEMAS
@given(tree=trees(3, ("a", "s")))
@settings(max_examples=examples(150))
def test_the_match_tree_is_true_where_the_rule_is_on_two_attributes(tree: Expression, schema: Schema) -> None:
    same_matches(tree, match_tree(tree, schema), schema)


@SCHEMAS
@given(tree=trees(4), event=events())
@settings(max_examples=examples(1000))
def test_the_match_tree_is_true_where_the_rule_is_on_random_events(
    tree: Expression, event: dict, schema: Schema
) -> None:
    assert (evaluate(match_tree(tree, schema), event, schema) is True) == (evaluate(tree, event, schema) is True)


@given(tree=trees(3, ("a", "flag")))
@settings(max_examples=examples(100))
def test_passes_that_say_so_keep_all_three_truth_values(tree: Expression) -> None:
    keys = NodeKeys()
    pushed = push_not(tree)
    expanded = expand_xor(pushed)
    flat = bottom_up(expanded, lambda node: flatten(node) if isinstance(node, And | Or) else node)
    ordered = bottom_up(flat, lambda node: sort_children(node, keys) if isinstance(node, And | Or) else node)
    absorbed = bottom_up(ordered, lambda node: absorb(node, keys) if isinstance(node, And | Or) else node)
    for after in (pushed, expanded, flat, ordered, absorbed):
        same_truth(tree, after, UNDECLARED)
    same_truth(tree, order_for_score(pushed, NodeKeys()), UNDECLARED)


@given(tree=trees(3, ("a", "flag")))
@settings(max_examples=examples(150))
def test_the_score_tree_keeps_scores(tree: Expression) -> None:
    after = score_tree(tree)
    weights = {"a": {1: 2.0, 2: 0.5}, "flag": 3.0}
    for event in all_events(tree):
        expected = score(tree, event, weights)
        found = score(after, event, weights)
        assert found == (None if expected is None else pytest.approx(expected)), (to_text(tree), to_text(after), event)


@given(tree=trees(4))
@settings(max_examples=examples(300))
def test_a_match_tree_is_its_own_match_tree(tree: Expression) -> None:
    once = match_tree(tree)
    assert to_text(match_tree(once)) == to_text(once)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 1 AND b = 2", "b = 2 AND a = 1"),
        ("a = 1 OR a = 2", "a IN (2, 1, 1)"),
        ("a = 1", "a = 1.0"),
        ("NOT (a = 1 AND b = 2)", "a != 1 OR b != 2"),
        ("a = 1 OR (a = 1 AND b = 2)", "a = 1"),
        ("a < 5 OR a >= 5 AND a <= 9 OR a = 9", "a <= 4 OR a < 5 OR a >= 5 AND a <= 9 OR a = 9"),
        ("x LIKE ANY ('a%', 'b%')", "x LIKE 'b%' OR x LIKE 'a%'"),
        ("a = 1^2 AND b = 2", "(a = 1 AND (b = 2)^5)"),
        ("a > 1 XOR a > 2", "(a > 1 AND NOT a > 2) OR (NOT a > 1 AND a > 2)"),
        ("x <=> 1", "x = 1"),
        ("a IS NOT NULL", "NOT a IS NULL"),
    ],
)
def test_equal_expressions_become_equal_trees(one: str, other: str) -> None:
    assert match_tree(parse(one)) == match_tree(parse(other))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("x IS NULL OR x NOT IN (1, 2)", "x IS NULL OR x NOT IN (1, 2)"),
        ("a > 3 OR a = 3", "a >= 3"),
        ("a BETWEEN 1 AND 5 OR a BETWEEN 3 AND 9", "a BETWEEN 1 AND 9"),
        ("a != 1 AND a != 2", "a NOT IN (1, 2)"),
        ("a = 1 AND a = 2", "a = 1 AND a = 2"),
        ("a = 1 AND NOT a = 1", "FALSE"),
        ("a = 1 OR NOT a = 1", "a != 1 OR a = 1"),
        ("a IS NULL OR a IS NOT NULL", "TRUE"),
        ("a IS NULL AND a > 5", "FALSE"),
        ("a NOT IN (1, NULL)", "FALSE"),
        ("a IN (1, NULL)", "a = 1"),
        ("a BETWEEN 5 AND 3", "FALSE"),
        ("NOT a BETWEEN 5 AND 3", "a NOT BETWEEN 5 AND 3"),
        ("a = 1 AND TRUE", "a = 1"),
        ("a = 1 AND NULL", "FALSE"),
        ("a = 1 OR NULL", "a = 1"),
    ],
)
def test_rules_simplify_where_an_attribute_may_have_several_values(rule: str, expected: str) -> None:
    assert to_text(match_tree(parse(rule))) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a = 1 AND a = 2", "FALSE"),
        ("a IN (1, 2, 3) AND a IN (2, 3, 4)", "a IN (2, 3)"),
        ("a IN (1, 2, 3) AND a != 2", "a IN (1, 3)"),
        ("a >= 1 AND a <= 9 AND a < 5", "(a >= 1 AND a < 5)"),
        ("a > 1 AND a <= 1", "FALSE"),
        ("a != 1 OR a != 2", "a != 1 OR a != 2"),
        ("a NOT IN (1, 2) OR a NOT IN (2, 3)", "a != 2"),
        # As doubles these two are one number, so a double can be both.
        ("a = 9007199254740992 AND a = 9007199254740993", "a = 9007199254740992 AND a = 9007199254740993"),
        ("s LIKE ALL ('a%', '%b')", "s LIKE '%b' AND s LIKE 'a%'"),
    ],
)
def test_intersections_merge_where_an_attribute_has_one_value(rule: str, expected: str) -> None:
    assert to_text(match_tree(parse(rule), ONE_VALUE)) == expected


def test_a_chain_of_xors_stays_polynomial() -> None:
    chain = " XOR ".join(f"a{i} = 1" for i in range(200))
    tree = match_tree(parse(chain))
    objects = set()
    pending = [tree]
    while pending:
        node = pending.pop()
        if id(node) not in objects:
            objects.add(id(node))
            pending += getattr(node, "children", ())
    assert len(objects) < 20 * 200
    assert evaluate(parse(" XOR ".join(f"a{i} = 1" for i in range(7))), dict.fromkeys([f"a{i}" for i in range(7)], 1))


def test_constants_of_the_whole_rule_fold() -> None:
    assert match_tree(parse("TRUE")) == Truth(True)
    assert match_tree(parse("NOT NULL")) == Truth(False)
    assert match_tree(parse("1 < 2 AND 'a' = 'a'")) == Truth(True)

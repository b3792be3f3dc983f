"""IS TRUE, IS FALSE and IS UNKNOWN become literals: nothing is left of them, and the tree does not explode."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ruledex import evaluate, parse, to_text
from ruledex.errors import RuleLimitError
from ruledex.language.tree import And, Expression, Is, Or, Xnor, Xor, depth_of
from ruledex.rewrite.pipeline import match_tree
from ruledex.rewrite.settle import has_is, settle
from ruledex.rewrite.walk import post_order
from tests.strategies import all_events, examples, trees


@given(tree=trees(3, ("a", "flag")))
@settings(max_examples=examples(200))
def test_what_is_settled_is_true_where_the_rule_is_and_has_no_is_and_no_xor(tree: Expression) -> None:
    settled = settle(tree)
    assert not any(isinstance(node, Is | Xor | Xnor) for node in post_order(settled))
    for event in all_events(tree):
        assert (evaluate(settled, event) is True) == (evaluate(tree, event) is True), (to_text(tree), event)


@pytest.mark.parametrize(
    ("rule", "simple"),
    [
        ("(x = 1) IS TRUE", "x = 1"),
        ("(x = 1) IS FALSE", "x != 1"),
        ("(x = 1 AND y = 2) IS NOT TRUE", "(x = 1) IS NOT TRUE OR (y = 2) IS NOT TRUE"),
        ("((x = 1) IS NOT TRUE) IS NOT TRUE", "x = 1"),
        ("((x = 1) IS NOT TRUE) IS UNKNOWN", "FALSE"),
        ("(x IS NULL) IS UNKNOWN", "FALSE"),
        ("x = 1 AND (x = 1) IS NOT TRUE", "FALSE"),
        ("x = 1 OR (x = 1) IS NOT TRUE", "TRUE"),
        ("(x NOT IN (1, NULL)) IS NOT TRUE", "TRUE"),
    ],
)
def test_what_can_be_said_more_simply_is(rule: str, simple: str) -> None:
    assert match_tree(parse(rule)) == match_tree(parse(simple))


def test_nesting_costs_what_it_has_parts() -> None:
    rule = "a"
    for i in range(40):
        rule = f"({rule} XOR b{i}) IS UNKNOWN"
    assert has_is(parse(rule))
    parts = list(post_order(settle(parse(rule))))
    assert len(parts) < 40 * 30
    assert not any(map(has_is, (part for part in parts if not isinstance(part, And | Or))))


def test_a_chain_of_tests_counts_as_depth() -> None:
    tree = parse("a" + " IS TRUE" * 200)
    assert depth_of(tree) == 202
    with pytest.raises(RuleLimitError, match="nests"):
        parse("a" + " IS TRUE" * 300)


def test_a_branch_is_a_branch() -> None:
    assert isinstance(settle(parse("(a IS UNKNOWN) OR b")), Or)
    assert isinstance(settle(parse("a IS UNKNOWN")), And)

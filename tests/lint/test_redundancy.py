"""Parts that add nothing; removing them must keep where the rule is true."""

from __future__ import annotations

import pytest
from hypothesis import given, seed, settings

from ruledex import Schema, evaluate, parse
from ruledex.language.tree import And, Expression, Or, Truth
from ruledex.lint import Finding, lint_rule
from ruledex.lint.redundancy import MOST_TRIED, flat_parts, superfluous_parts
from ruledex.rewrite.walk import join_children
from tests.strategies import all_events, examples, trees

SCHEMA = Schema.of_mapping({"attributes": {"age": {"type": "integer", "single": True}}})


def superfluous(text: str) -> list[Finding]:
    return [f for f in lint_rule("r", parse(text), text, SCHEMA) if f.code == "adds-nothing"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a = 1 AND a = 1", "a = 1"),
        ("a = 1 OR (a = 1 AND b = 2)", "a = 1 AND b = 2"),
        ("a = 1 AND (a = 1 OR b = 2)", "a = 1 OR b = 2"),
        ("age > 18 AND age > 21", "age > 18"),
        ("a > 5 OR a > 7", "a > 7"),
        ("a = 1 AND (b = 2 AND a = 1)", "a = 1"),
        ("a = 1 AND (b = 2 OR TRUE)", "b = 2 OR TRUE"),
        ("a = 1 OR (b = 2 AND b IS NULL)", "b = 2 AND b IS NULL"),
        ("NOT (a = 1 AND (a = 1 OR b = 2))", "a = 1 OR b = 2"),
        ("a = 1 XOR (b = 2 AND b = 2)", "b = 2"),
        ("c = 1 AND (a IN (1, 2) OR a = 2)", "a = 2"),
    ],
)
def test_a_part_that_the_others_say_is_found(text: str, part: str) -> None:
    (finding,) = superfluous(text)
    assert finding.message.startswith(f"`{part}`")


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 AND b = 2",
        "a = 1 OR a = 2",
        "a BETWEEN 1 AND 5 OR a BETWEEN 5 AND 9",
        "a = 1 XOR b = 2",
        "age > 18 AND age < 65",
        "a IS NULL OR a NOT IN (1)",
        "a = 1 OR a != 1",
    ],
)
def test_a_rule_whose_parts_all_count_is_left_alone(text: str) -> None:
    assert superfluous(text) == []


def test_a_weighted_part_is_there_for_the_score() -> None:
    assert superfluous("a = 1 AND (b = 2^3 OR TRUE)") == []
    assert superfluous("a = 1 OR (a = 1 AND b IN (2^3))") == []


def test_a_value_that_a_list_repeats_is_found() -> None:
    (finding,) = superfluous("a IN (1, 2, 1.0)")
    assert "has 1 more than once" in finding.message
    assert superfluous("a IN (1^2, 2, 1)") == []


def test_of_a_long_chain_repetitions_are_found() -> None:
    chain = " OR ".join(f"(a{i} = 1 AND b = 2)" for i in range(MOST_TRIED + 1))
    (finding,) = superfluous(f"{chain} OR (b = 2 AND a7 = 1)")
    assert finding.message.startswith("`b = 2 AND a7 = 1`")


def test_deep_rules_with_xor_are_answered_at_once() -> None:
    deep = "a = 1"
    for i in range(120):
        deep = f"(a{i} = 1 {'XOR' if i % 2 else 'AND'} {deep})"
    (finding,) = superfluous(f"(c = 1 AND c = 1) XOR {deep}")
    assert finding.message.startswith("`c = 1`")


@seed(5)
@settings(max_examples=examples(150), deadline=None, database=None)
@given(trees(2, ("a", "s"), weighted=False))
def test_a_rule_without_its_superfluous_parts_is_true_of_the_same_events(tree: Expression) -> None:
    if not isinstance(tree, And | Or):
        return
    parts = flat_parts(tree)
    gone = superfluous_parts(type(tree), parts, (False,), Schema())
    rest = join_children(type(tree), [part for i, part in enumerate(parts) if i not in gone] or [Truth(None)])
    for event in all_events(tree):
        assert (evaluate(tree, event) is True) == (evaluate(rest, event) is True)

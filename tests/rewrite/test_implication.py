"""Proofs that a rule is true wherever another is: what is proved holds on drawn events."""

from __future__ import annotations

from itertools import product

import pytest

from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.ratify.events import EventDrawer
from ruledex.rewrite.implication import Prover

SINGLE = Schema.of_mapping({"attributes": {"a": {"type": "integer", "single": True}}})
TEXTS = [
    "a = 1",
    "a IN (1, 2)",
    "a NOT IN (1, 2)",
    "a != 1",
    "a > 0",
    "a >= 1 AND a < 3",
    "a BETWEEN 1 AND 2",
    "a IS NULL",
    "a IS NOT NULL",
    "a IS NULL OR a != 1",
    "a = 1 AND b = 'x'",
    "a = 1 OR b = 'x'",
    "b LIKE 'x%' AND a > 0",
    "b LIKE 'x%'",
    "NOT b LIKE 'x%'",
    "(a = 1) IS NOT TRUE",
    "a = 1 XOR b = 'x'",
    "(a = 1 AND b = 'x') OR (a = 2 AND c)",
    "a < c",
    "exists(items, i -> i > 3)",
    "TRUE",
    "FALSE",
]


def proved(left, right, schema=SINGLE):
    prover = Prover(schema)
    left, right = (prover.match(schema.bind(parse(text), text)) for text in (left, right))
    return prover.implies(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a = 1", "a IN (1, 2)"),
        ("a = 1 AND b = 'x'", "a = 1"),
        ("a = 1", "a = 1 OR b = 'x'"),
        ("a = 1 AND b = 'x' OR a = 2 AND b = 'x'", "b = 'x'"),
        ("a > 5", "a > 3"),
        ("a > 5 AND b = 'x'", "a > 3 AND b IN ('x', 'y')"),
        ("a NOT IN (1, 2)", "a != 1"),
        ("a != 1", "a IS NULL OR a != 1"),
        ("a > 5", "a IS NOT NULL"),
        ("NOT b LIKE 'x%'", "b IS NOT NULL"),
        ("FALSE", "a = 1"),
        ("a = 1", "TRUE"),
    ],
)
def test_what_follows_is_proved_and_not_the_other_way(left, right):
    assert proved(left, right)
    assert not proved(right, left)


@pytest.mark.parametrize("schema", [SINGLE, Schema()], ids=["single", "undeclared"])
def test_what_is_proved_holds_on_all_drawn_events(schema):
    trees = [schema.bind(parse(text), text) for text in TEXTS]
    prover = Prover(schema)
    matches = list(map(prover.match, trees))
    events = list(EventDrawer(trees.__getitem__, len(trees), schema, 5).events(400))
    truths = [[truth_of(tree, event, schema) is True for event in events] for tree in trees]
    n_proved = 0
    for left, right in product(range(len(TEXTS)), repeat=2):
        if prover.implies(matches[left], matches[right]):
            n_proved += 1
            wrong = [e for e, one, other in zip(events, truths[left], truths[right], strict=True) if one and not other]
            assert not wrong, (TEXTS[left], TEXTS[right], wrong[0])
    assert n_proved > 3 * len(TEXTS)


def test_a_range_of_several_values_is_not_taken_for_one():
    assert proved("a > 1 AND a < 3", "a BETWEEN 1 AND 3")
    assert not proved("a > 1 AND a < 3", "a BETWEEN 1 AND 3", Schema())

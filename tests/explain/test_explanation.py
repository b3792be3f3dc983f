"""Explanations as data."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

from ruledex import Schema, parse
from ruledex.explain import explain

TEXT = "country IN ('IN', 'US') AND (age >= 18 OR NOT (vip XOR b LIKE 'x%'))"


def explained(event, text=TEXT):
    return explain(parse(text), text, event, Schema())


def test_clauses_are_the_rule_as_written_with_truth_and_value():
    root = explained({"country": "IN", "age": 17, "vip": True, "b": "xy"}).clause
    assert (root.kind, root.truth, [child.truth for child in root.children]) == ("and", True, [True, True])
    country, either = root.children
    assert (country.text, country.seen[0].values) == ("country IN ('IN', 'US')", ("IN",))
    age, negation = either.children
    assert (age.truth, age.seen[0].name, age.seen[0].values) == (False, "age", (17,))
    assert (negation.kind, negation.truth, negation.children[0].kind) == ("not", True, "xor")


def test_positions_point_into_the_text():
    for leaf in explained({}).clause.leaves():
        assert TEXT[leaf.position :].startswith(leaf.seen[0].name)


def test_an_unknown_clause_saw_nothing():
    root = explained({}).clause
    assert root.truth is None
    assert all(leaf.truth is None and leaf.seen[0].values is None for leaf in root.leaves())


def test_the_change_of_a_true_rule_is_what_would_end_it():
    (change,) = explained({"country": "IN", "age": 20}).changes
    assert (change.clause.text, change.wanted) == ("country IN ('IN', 'US')", False)


def test_an_attribute_that_other_clauses_ask_too_is_named():
    (change,) = explained({"a": 1}, "a > 5 OR (a < 0 AND b = 1)").changes
    assert change.also == ("a",)


def test_an_explanation_is_json():
    event = {"country": date(2024, 1, 2), "age": Decimal("1.5"), "b": {"c": 1}, "vip": [True, None]}
    told = explained(event).to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["clause"]["children"][0]["seen"] == [{"operand": "country", "values": ["2024-01-02"]}]


def test_a_deep_rule_can_be_explained():
    text = "NOT (" * 100 + "a = 1" + ")" * 100
    assert len(explained({"a": 2}, text).changes) == 1

"""The words for a change."""

from __future__ import annotations

import pytest

from ruledex import Schema, parse
from ruledex.explain import explain

MISSING = {"other": 1}

CASES = [
    ("age >= 18", {"age": 17}, "age is 17, needs >= 18"),
    ("age >= 18", {"age": 20}, "age is 20, needs < 18"),
    ("age >= 18", {"age": [20, 21]}, "age is [20, 21], needs no value that is >= 18"),
    ("age >= 18", {"age": "old"}, "age is 'old' (not a number), needs >= 18"),
    ("country IN ('IN', 'US')", MISSING, "country is missing, needs one of 'IN', 'US'"),
    ("country IN ('IN', 'US')", {"country": "US"}, "country is 'US', needs a value other than 'IN', 'US'"),
    ("country NOT IN ('IN', 'US')", {"country": "US"}, "country is 'US', needs a value other than 'IN', 'US'"),
    ("country NOT IN ('IN', 'US')", {"country": "FR"}, "country is 'FR', needs one of 'IN', 'US'"),
    ("country = 'IN'", {"country": []}, "country is an empty array, needs 'IN'"),
    ("country != 'IN'", {"country": "IN"}, "country is 'IN', needs a value other than 'IN'"),
    ("phone IS NULL", {"phone": "1"}, "phone is '1', needs to be missing"),
    ("phone IS NOT NULL", MISSING, "phone is missing, needs a value"),
    ("age BETWEEN 1 AND 5", {"age": 7}, "age is 7, needs between 1 and 5"),
    ("age BETWEEN 1 AND 5", {"age": 3}, "age is 3, needs a value outside 1 and 5"),
    ("name LIKE 'a%'", {"name": "b"}, "name is 'b', needs LIKE 'a%'"),
    ("name RLIKE 'a+'", {"name": "a"}, "name is 'a', needs NOT RLIKE 'a+'"),
    ("a < b", {"a": 2, "b": 1}, "a is 2 and b is 1, needs a < b"),
    ("a < b", {"a": 1, "b": 2}, "a is 1 and b is 2, needs that a < b is false"),
    ("a <=> 5", {"a": 5}, "a is 5, needs anything but 5"),
    ("subset_of(t, 'x', 'y')", {"t": ["x", "z"]}, "t is ['x', 'z'], needs no value but 'x', 'y'"),
    ("superset_of(t, 'x', 'y')", {"t": ["x"]}, "t is 'x', needs each of 'x', 'y'"),
    ("user_id % 4 = 1", {"user_id": 6}, "user_id % 4 is 2, needs 1"),
    ("a IN (1, NULL)", {"a": 1}, "a is 1, needs to be missing"),
    ("day > DATE '2024-01-01'", {"day": "2023-05-06"}, "day is '2023-05-06', needs > DATE '2024-01-01'"),
]


@pytest.mark.parametrize(("text", "event", "words"), CASES, ids=[f"{text} {event}" for text, event, _ in CASES])
def test_a_change_is_said_in_words(text, event, words):
    changes = explain(parse(text), text, event, Schema()).changes
    assert changes is not None
    assert [change.words for change in changes] == [words]


def test_long_lists_and_values_are_cut():
    text = f"a IN ({', '.join(map(str, range(100)))})"
    (change,) = explain(parse(text), text, {"a": "x" * 500}, Schema()).changes
    assert "92 more" in change.words
    assert len(change.words) < 200


def test_several_values_of_a_single_attribute_are_named():
    schema = Schema.of_mapping({"attributes": {"a": {"type": "integer", "single": True}}})
    (change,) = explain(parse("a = 1"), "a = 1", {"a": [1, 2]}, schema).changes
    assert change.words.startswith("a is several values, where the schema declares one")

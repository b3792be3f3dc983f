"""JsonLogic rules mean what its JavaScript makes of them. Each case: a rule, data, and whether the result is true."""

from __future__ import annotations

import pytest

from ruledex import Schema
from ruledex.formats import read
from tests.formats.answers import fault, holds

X = {"var": "x"}
CASES = [
    (True, {}, True),
    (X, {"x": 1}, True),
    (X, {"x": 0}, False),
    (X, {"x": ""}, False),
    (X, {"x": "0"}, True),
    (X, {"x": []}, False),
    (X, {"x": {}}, True),
    (X, {"x": [0]}, True),
    (X, {}, False),
    ({"var": ["x", True]}, {}, True),
    ({"var": ["x", True]}, {"x": False}, False),
    ({"var": "a.b"}, {"a": {"b": True}}, True),
    ({"val": ["a", "b"]}, {"a": {"b": True}}, True),
    ({"!": X}, {}, True),
    ({"!!": [X]}, {"x": "a"}, True),
    ({"and": [X, {"var": "y"}]}, {"x": 1, "y": 0}, False),
    ({"or": [X, {"var": "y"}]}, {"x": 1, "y": 0}, True),
    ({"if": [X, {"var": "y"}, {"var": "z"}]}, {"x": 0, "y": 0, "z": 1}, True),
    ({"if": [X, {"var": "y"}, {"var": "z"}]}, {"x": 1, "y": 0, "z": 1}, False),
    ({"if": [X, True]}, {"x": 0}, False),
    ({"==": [X, 1]}, {"x": "1"}, True),
    ({"===": [X, 1]}, {"x": "1"}, False),
    ({"==": [X, "1"]}, {"x": 1}, True),
    ({"==": [X, True]}, {"x": 1}, True),
    ({"==": [X, None]}, {}, True),
    ({"==": [1, X]}, {"x": 1}, True),
    ({"!=": [X, "a"]}, {}, True),
    ({"!==": [X, "a"]}, {"x": "a"}, False),
    ({"===": [X, {"var": "y"}]}, {"x": 2, "y": 2}, True),
    ({"<": [X, 5]}, {"x": 4}, True),
    ({"<": [X, 5]}, {"x": "4"}, True),
    ({"<": [X, 5]}, {}, True),
    ({">": [X, 5]}, {}, False),
    ({"<": [1, X, 5]}, {"x": 3}, True),
    ({"<": [1, X, 5]}, {"x": 1}, False),
    ({"<=": [1, X, 5]}, {"x": 1}, True),
    ({">": [X, {"var": "y"}]}, {"x": 3, "y": 2}, True),
    ({">": [{"+": [X, {"var": "y"}]}, 4]}, {"x": 3, "y": 2}, True),
    ({"==": [{"%": [X, 4]}, 1]}, {"x": 9}, True),
    ({"<": [1, 2]}, {}, True),
    ({"in": [X, ["a", "b", 1]]}, {"x": "b"}, True),
    ({"in": [X, ["a", "b", 1]]}, {"x": "1"}, False),
    ({"in": ["b_", X]}, {"x": "ab_c"}, True),
    ({"in": ["b_", X]}, {"x": "abcd"}, False),
    ({"in": ["b", X]}, {"x": ["abc"]}, False),
    ({"in": ["b", X]}, {"x": ["a", "b"]}, True),
    ({"in": [1, X]}, {"x": [1, 2]}, True),
    ({"in": [{"var": "y"}, X]}, {"x": ["a"], "y": "a"}, True),
    ({"some": [X, {">": [{"var": ""}, 2]}]}, {"x": [1, 3]}, True),
    ({"some": [X, {">": [{"var": ""}, 2]}]}, {}, False),
    ({"all": [X, {">": [{"var": ""}, 2]}]}, {"x": [1, 3]}, False),
    ({"all": [X, {">": [{"var": ""}, 2]}]}, {"x": [3, 4]}, True),
    ({"all": [X, {">": [{"var": ""}, 2]}]}, {"x": []}, False),
    ({"none": [X, {">": [{"var": ""}, 2]}]}, {"x": []}, True),
    ({"none": [X, {">": [{"var": ""}, 2]}]}, {"x": [3]}, False),
    ({"!!": {"filter": [X, {"==": [{"var": "k"}, "a"]}]}}, {"x": [{"k": "b"}, {"k": "a"}]}, True),
    ({"some": [X, {"all": [{"var": "y"}, {">": [{"var": "z"}, 1]}]}]}, {"x": [{"y": [{"z": 1}]}]}, False),
    ({"some": [X, {"all": [{"var": "y"}, {">": [{"var": "z"}, 1]}]}]}, {"x": [{"y": [{"z": 2}]}]}, True),
    (
        {"some": [X, {"and": [{"==": [{"var": "k"}, 1]}, {"==": [{"var": "v"}, 2]}]}]},
        {"x": [{"k": 1}, {"v": 2}]},
        False,
    ),
    ({"===": [X, {"var": "y"}]}, {}, True),
    ({"!==": [X, {"var": "y"}]}, {"x": None}, False),
    ({"===": [X, {"var": "y"}]}, {"x": 1}, False),
    ({"==": [X, 0]}, {"x": ""}, True),
    ({"==": [X, False]}, {"x": ""}, True),
    ({"==": [X, 0]}, {}, False),
    ({"==": [X, ""]}, {"x": 0}, True),
    ({"==": [X, ""]}, {"x": False}, True),
    ({"===": [X, ""]}, {"x": 0}, False),
    ({"==": [X, "1"]}, {"x": True}, True),
    ({"<": [X, 10]}, {"x": ""}, True),
    ({">": [X, 10]}, {"x": ""}, False),
    ({"<": [X, "5"]}, {"x": True}, True),
    ({">": [{"var": ["x", 7]}, 5]}, {"x": "9"}, True),
    ({">": [{"var": ["x", 7]}, 5]}, {}, True),
    ({">": [{"var": ["x", 7]}, 5]}, {"x": None}, False),
    ({"<": [{"var": ["x", 7]}, 5]}, {}, False),
    ({"<": [{"var": ["x", 7]}, 5]}, {"x": None}, True),
    ({"===": [{"var": ["x", "a"]}, {"var": "y"}]}, {"y": "a"}, True),
    ({"in": [{"var": ["x", "a"]}, ["a"]]}, {}, True),
    ({"some": [X, {"==": [{"var": ["k", 1]}, 1]}]}, {"x": [{"k": 2}, {}]}, True),
    ({"==": [{"%": [X, 2]}, 0]}, {}, True),
    ({"<": [{"-": [X, 1]}, 0]}, {}, True),
    ({"<": [{"-": [X, 1]}, 0]}, {"x": "a"}, False),
    ({"==": [{"*": [X, 2]}, 0]}, {}, True),
    ({"==": [{"-": [X, 1]}, None]}, {"x": "a"}, False),
    ({"==": [1, True]}, {}, True),
    ({"==": [0, None]}, {}, False),
    ({"in": [5, X]}, {"x": "a5"}, True),
    ({"in": [5, X]}, {"x": 5}, False),
    ({"in": [5, X]}, {"x": [5]}, True),
    ({"in": [None, X]}, {}, False),
    ({"in": [None, X]}, {"x": [1, None]}, True),
    ({"in": ["", X]}, {"x": ""}, False),
    ({"in": [{"var": "y"}, X]}, {"x": "abc", "y": "b"}, True),
    ({"missing": ["x", "y"]}, {"x": 1}, True),
    ({"!": {"missing": ["x", "y"]}}, {"x": 1, "y": 2}, True),
    ({"missing": ["x"]}, {"x": ""}, True),
    ({"missing_some": [1, ["x", "y"]]}, {"y": 1}, False),
    ({"missing_some": [2, ["x", "y"]]}, {"y": 1}, True),
    ({"exists": "x"}, {"x": 1}, True),
    ({"exists": "x"}, {}, False),
    ({"exists": "x"}, {"x": None}, True),
]


@pytest.mark.parametrize(("rule", "data", "expected"), CASES, ids=str)
def test_a_rule_is_true_as_in_jsonlogic(rule, data, expected):
    assert holds("jsonlogic", rule, data) is expected


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"and": [X], "or": [X]}, "$: an operation is an object with one key, not 2"),
        ({"map": [X, 1]}, "$.map: map cannot be said as a condition"),
        ({"==": [{"reduce": [X, 1, 2]}, 3]}, "$.==[0].reduce: reduce cannot be said as a condition"),
        ({"=": [X, 1]}, "$.=: JsonLogic has no operator '='"),
        ({"==": [{"/": [1, 0]}, 1]}, "$.==[0]./: these constants give no number"),
        ({"==": [{"and": [X]}, 3]}, "$.==[0].and: the result of and cannot be compared or computed with"),
        ({"==": [X, [1]]}, "$.==: a value is compared with a number, a string, true, false or null, not a list"),
        ({"==": [X]}, "$.==: an equality takes two values, not 1"),
        ({"<": [X]}, "$.<: < takes two or three values, not 1"),
        ({"var": ""}, "$.var: the whole event cannot be tested"),
        ({"var": 1}, "$.var: a variable is named by a string, not by 1"),
        ({"var": "a.0"}, "$.var: an element of an array cannot be named by its number"),
        ({"some": [[1, 2], True]}, "$.some: the elements of a variable can be tested, not of anything else"),
        ({"in": ["a", "abc"]}, "$.in: no variable is looked at"),
        ({"missing_some": ["x", []]}, "$.missing_some: missing_some takes a number and a list of names"),
        ({"missing_some": [10, [f"a{i}" for i in range(20)]]}, "$.missing_some: there are more than 500 ways"),
        ({"and": []}, "$.and: at least one condition is needed"),
    ],
    ids=str,
)
def test_what_cannot_be_said_is_refused_with_its_place(rule, message):
    assert fault("jsonlogic", rule).startswith(message)


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ({"=": [X, 1]}, "did you mean ==?"),
        ({"&&": [X]}, "did you mean and?"),
        ({"missing_sone": [X]}, "did you mean missing_some?"),
        ({"max": [X, 1]}, "what can be read is and, or, !"),
    ],
    ids=str,
)
def test_an_unknown_operator_is_not_one_that_cannot_be_read(rule, hint):
    assert read({"r": rule}, "jsonlogic").faults[0].error.hint.startswith(hint)


@pytest.mark.parametrize("kind", ["string", "integer", "boolean"])
def test_conversions_do_not_contradict_a_declared_type(kind):
    rules = read({1: {"<": [X, 5]}, 2: {"==": [X, 0]}, 3: {">": [{"-": [X, 1]}, 5]}}, "jsonlogic")
    schema = Schema.of_mapping({"attributes": {"x": kind}})
    for rule in rules:
        schema.bind(rule.tree)


@pytest.mark.parametrize("divisor", [0, X])
def test_a_division_that_may_be_by_zero_is_noted(divisor):
    (rule,) = read({1: {">": [{"/": [X, divisor]}, 5]}}, "jsonlogic")
    assert str(rule.notes[0]).startswith("$.>[0]./: a division by zero is infinite")

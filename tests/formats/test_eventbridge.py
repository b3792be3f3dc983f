"""Event patterns mean what EventBridge says they mean. Each case: a pattern, an event, and whether it matches."""

from __future__ import annotations

import pytest

from ruledex.formats import read
from tests.formats.answers import fault, holds

CASES = [
    # Values.
    ({"city": ["Pune", "Agra"]}, {"city": "Agra"}, True),
    ({"city": ["Pune"]}, {"city": "pune"}, False),
    ({"city": ["Pune"]}, {}, False),
    ({"n": [300]}, {"n": 300.0}, True),
    ({"n": [300]}, {"n": "300"}, False),
    ({"on": [True]}, {"on": True}, True),
    ({"on": [True]}, {"on": 1}, False),
    ({"x": ["a", 1, False]}, {"x": False}, True),
    ({"a": ["x"], "b": ["y"]}, {"a": "x", "b": "z"}, False),
    ({"a": {"b": {"c": [1]}}}, {"a": {"b": {"c": 1}}}, True),
    ({"a": {"b": [1]}}, {"a": 1}, False),
    # Dots in names.
    ({"a": {"b": ["x"]}}, {"a.b": "x"}, True),
    ({"a.b": ["x"]}, {"a": {"b": "x"}}, True),
    ({"a.b": ["x"]}, {"a": {"b": {"b": "x"}}}, False),
    # Arrays.
    ({"tags": ["b", "z"]}, {"tags": ["a", "b"]}, True),
    ({"tags": ["z"]}, {"tags": []}, False),
    ({"items": {"k": ["a"], "v": [1]}}, {"items": [{"k": "a", "v": 2}, {"k": "b", "v": 1}]}, False),
    ({"items": {"k": ["a"], "v": [1]}}, {"items": [{"k": "a", "v": 2}, {"k": "a", "v": 1}]}, True),
    ({"items": {"k": ["a"], "v": [1]}}, {"items": {"k": "a", "v": 1}}, True),
    ({"items": {"k": ["a"], "s": {"t": [1], "u": [2]}}}, {"items": [{"k": "a", "s": [{"t": 1}, {"u": 2}]}]}, False),
    ({"items": {"k": ["a"], "s": {"t": [1], "u": [2]}}}, {"items": [{"k": "a", "s": [{"t": 1, "u": 2}]}]}, True),
    # Parts of texts.
    ({"x": [{"prefix": "ab"}]}, {"x": "abc"}, True),
    ({"x": [{"prefix": "a%"}]}, {"x": "abc"}, False),
    ({"x": [{"prefix": ""}]}, {"x": "abc"}, True),
    ({"x": [{"prefix": {"equals-ignore-case": "AB"}}]}, {"x": "abc"}, True),
    ({"x": [{"suffix": "bc"}]}, {"x": "abc"}, True),
    ({"x": [{"suffix": {"equals-ignore-case": "BC"}}]}, {"x": "abC"}, True),
    ({"x": [{"suffix": "BC"}]}, {"x": "abc"}, False),
    ({"x": [{"equals-ignore-case": "ABC"}]}, {"x": "aBc"}, True),
    ({"x": [{"equals-ignore-case": "ABC"}]}, {"x": "aBcd"}, False),
    ({"x": [{"wildcard": "a*c"}]}, {"x": "abbc"}, True),
    ({"x": [{"wildcard": "a*c"}]}, {"x": "abcd"}, False),
    ({"x": [{"wildcard": "a\\*c"}]}, {"x": "a*c"}, True),
    ({"x": [{"wildcard": "a\\*c"}]}, {"x": "abc"}, False),
    ({"x": [{"wildcard": "a_c"}]}, {"x": "abc"}, False),
    ({"x": [{"wildcard": ""}]}, {"x": "a"}, False),
    # Numbers and addresses.
    ({"n": [{"numeric": [">", 0, "<=", 5]}]}, {"n": 5}, True),
    ({"n": [{"numeric": [">", 0, "<=", 5]}]}, {"n": 0}, False),
    ({"n": [{"numeric": [">", 0, "<", 5]}]}, {"n": [-1, 7]}, False),
    ({"n": [{"numeric": [">=", 0, "<=", 5]}]}, {"n": [-1, 7]}, False),
    ({"n": [{"numeric": ["=", 3.5]}]}, {"n": 3.5}, True),
    ({"n": [{"numeric": [">", 1]}]}, {"n": "2"}, False),
    ({"ip": [{"cidr": "10.0.0.0/24"}]}, {"ip": "10.0.0.9"}, True),
    ({"ip": [{"cidr": "10.0.0.0/24"}]}, {"ip": "10.0.1.9"}, False),
    ({"ip": [{"cidr": "2001:db8::/32"}]}, {"ip": "2001:db8::1"}, True),
    # Anything but.
    ({"x": [{"anything-but": "a"}]}, {"x": "b"}, True),
    ({"x": [{"anything-but": "a"}]}, {"x": "a"}, False),
    ({"x": [{"anything-but": "a"}]}, {"x": 1}, True),
    ({"x": [{"anything-but": "a"}]}, {}, False),
    ({"x": [{"anything-but": "a"}]}, {"x": {"y": 1}}, False),
    ({"x": [{"anything-but": ["a", "b"]}]}, {"x": ["a", "b"]}, False),
    ({"x": [{"anything-but": ["a", "b"]}]}, {"x": ["a", "c"]}, True),
    ({"x": [{"anything-but": [1, 2]}]}, {"x": 2}, False),
    ({"x": [{"anything-but": {"prefix": "in"}}]}, {"x": "init"}, False),
    ({"x": [{"anything-but": {"prefix": ["in", "ex"]}}]}, {"x": "out"}, True),
    ({"x": [{"anything-but": {"suffix": ".txt"}}]}, {"x": "a.txt"}, False),
    ({"x": [{"anything-but": {"equals-ignore-case": ["A", "B"]}}]}, {"x": "b"}, False),
    ({"x": [{"anything-but": {"wildcard": "*/b/*"}}]}, {"x": "a/b/c"}, False),
    ({"x": [{"anything-but": {"wildcard": "*/b/*"}}]}, {"x": "a/c"}, True),
    # What is there.
    ({"x": [{"exists": True}]}, {"x": 1}, True),
    ({"x": [{"exists": True}]}, {"x": {"y": 1}}, False),
    ({"x": [{"exists": True}]}, {"x": []}, False),
    ({"x": [{"exists": False}]}, {}, True),
    ({"x": [{"exists": False}]}, {"x": "a"}, False),
    ({"x": {"y": [{"exists": False}]}}, {"x": 1}, True),
    ({"x": ["a", {"exists": False}]}, {}, True),
    ({"x": ["a", {"exists": False}]}, {"x": "b"}, False),
    ({"o": {"a": [{"exists": False}], "b": [{"exists": False}]}}, {}, True),
    ({"o": {"a": [1], "b": [{"exists": False}]}}, {"o": {"a": 1}}, True),
    ({"o": {"a": [1], "b": [{"exists": False}]}}, {"o": {"a": 1, "b": 2}}, False),
    ({"o": {"a": [1], "b": [{"exists": False}]}}, {}, False),
    # Null is not absent.
    ({"x": [None]}, {"x": None}, True),
    ({"x": [None]}, {}, False),
    ({"x": [None]}, {"x": []}, False),
    ({"x": [None]}, {"x": "null"}, False),
    ({"x": [None]}, {"x": [1, None]}, True),
    ({"x": [None, "a"]}, {"x": "a"}, True),
    ({"x": [{"exists": True}]}, {"x": None}, True),
    ({"x": [{"exists": False}]}, {"x": None}, False),
    ({"x": [{"anything-but": "a"}]}, {"x": None}, True),
    ({"x": [{"anything-but": {"prefix": "a"}}]}, {"x": [None]}, True),
    ({"x": [{"numeric": ["<", 1]}]}, {"x": None}, False),
    # Or.
    ({"$or": [{"a": [1]}, {"b": [2]}]}, {"b": 2}, True),
    ({"$or": [{"a": [1]}, {"b": [2]}], "c": [3]}, {"b": 2}, False),
    ({"d": {"$or": [{"a": [1]}, {"b": [2]}]}}, {"d": {"a": 1}}, True),
    ({"$or": ["x"]}, {"$or": "x"}, True),  # not a choice: a field of this name
]


@pytest.mark.parametrize(("pattern", "event", "matches"), CASES, ids=str)
def test_a_pattern_matches_as_in_eventbridge(pattern, event, matches):
    assert holds("eventbridge", pattern, event) is matches


@pytest.mark.parametrize(("pattern", "event", "matches"), CASES, ids=str)
def test_without_dots_in_names_a_pattern_means_the_same(pattern, event, matches):
    if not any("." in name for name in event):
        assert holds("eventbridge", pattern, event, dotted_names=False) is matches


INVALID = [
    ({}, "$: a pattern is an object with fields, not an empty one"),
    ([1], "$: a pattern is an object with fields, not a list"),
    ({"a": "x"}, "$.a: a field takes a list of values, or an object of fields, not 'x'"),
    ({"a": []}, "$.a: the list of values is empty"),
    ({"a": {}}, "$.a: an object has fields"),
    ({"a": [["x"]]}, "$.a[0]: a list in a list means nothing"),
    ({"a": [{"EXISTS": True}]}, "$.a[0]: there is no match type 'EXISTS'"),
    ({"a": [{"prefix": "a", "suffix": "b"}]}, "$.a[0]: a match expression has one key, not 2"),
    ({"a": [{"prefix": 1}]}, "$.a[0].prefix: prefix is a string, not 1"),
    ({"a": [{"suffix": ["x"]}]}, "$.a[0].suffix: suffix is a string, not a list"),
    ({"a": [{"prefix": {"suffix": "x"}}]}, "$.a[0].prefix: prefix takes a string or an object of equals-ignore-case"),
    ({"a": [{"exists": "yes"}]}, "$.a[0].exists: exists is true or false, not 'yes'"),
    ({"a": [{"numeric": 1}]}, "$.a[0].numeric: numeric takes a list of one or two comparisons, not 1"),
    ({"a": [{"numeric": [">", 0, "<"]}]}, "$.a[0].numeric: numeric takes a list of one or two comparisons, not a list"),
    ({"a": [{"numeric": ["~", 0]}]}, "$.a[0].numeric[0]: a comparison is one of = < <= > >=, not '~'"),
    ({"a": [{"numeric": [">", "0"]}]}, "$.a[0].numeric[1]: what numeric compares with is a number, not '0'"),
    ({"a": [{"numeric": [">", 0, ">", 5]}]}, "$.a[0].numeric: a range has a lower bound first and then an upper one"),
    ({"a": [{"numeric": [">", 5, "<", 5]}]}, "$.a[0].numeric: the lower bound of a range is below its upper bound"),
    ({"a": [{"anything-but": None}]}, "$.a[0].anything-but: anything-but is a number, not null"),
    ({"a": [{"anything-but": ["x", 1]}]}, "$.a[0].anything-but[1]: a value of anything-but, like those before it, is"),
    ({"a": [{"anything-but": {"prefix": ""}}]}, "$.a[0].anything-but.prefix: every text has the empty prefix"),
    ({"a": [{"anything-but": {"numeric": ["=", 1]}}]}, "$.a[0].anything-but.numeric: anything-but takes"),
    (
        {"a": [{"anything-but": {"suffix": {"equals-ignore-case": "x"}}}]},
        "$.a[0].anything-but.suffix: suffix is a string",
    ),
    ({"a": [{"wildcard": "a**b"}]}, "$.a[0].wildcard: two stars in a row mean nothing"),
    ({"a": [{"wildcard": "a\\b"}]}, "$.a[0].wildcard: a backslash stands before"),
    ({"a": [{"wildcard": "*a*b*c*d*e*"}]}, "$.a[0].wildcard: with more than 5 stars"),
    ({"a": [{"cidr": "10.0.0/8"}]}, "$.a[0].cidr: '10.0.0/8' is not an address or a network"),
    ({"$or": [{"a": [1]}, {}]}, "$.$or: an object of $or has fields"),
    ({"a": ["\ud800"]}, "$.a[0]: this string has half of a surrogate pair"),
]


@pytest.mark.parametrize(("pattern", "message"), INVALID, ids=str)
def test_an_invalid_pattern_is_refused_with_its_place(pattern, message):
    assert fault("eventbridge", pattern).startswith(message)


def test_what_means_something_else_here_is_noted():
    rule = read({"r": {"a.b.c.d.e.f.g": ["x"]}}, "eventbridge")[0]
    assert [str(note) for note in rule.notes] == [
        "$.a.b.c.d.e.f.g: the names of the event must not have dots of their own"
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"a": [1]}], "$.$or: $or takes at least two objects, not one"),
        ([{"a": [1]}, 5], "$.$or[1]: $or takes objects with fields, not 5"),
    ],
)
def test_a_choice_has_several_objects(given, message):
    assert message in fault("eventbridge", {"$or": given})


def test_a_very_deep_pattern_is_refused():
    pattern: object = ["x"]
    for _ in range(5000):
        pattern = {"a": pattern}
    assert "deep" in fault("eventbridge", pattern) or "dots" in fault("eventbridge", pattern)

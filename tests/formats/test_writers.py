"""What rules look like in other formats, where a note is due, and what is refused."""

from __future__ import annotations

import pytest

from ruledex import evaluate, parse
from ruledex.formats import read, write

SHORT = {"arrays": False}
VALUES = [0, 1, 2, 5, -3, 2.5, "", "0", "4", "a", True, False]


def written(system, text, **options):
    found = write({"r": text}, system, **options)
    assert found.faults == [], text
    return found[0].document


def notes(system, text, **options):
    return [str(note) for note in write({"r": text}, system, **options)[0].notes]


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("age >= 18", {"age": [{"numeric": [">=", 18]}]}),
        ("n > 1 AND n < 5.5", {"n": [{"numeric": [">", 1, "<", 5.5]}]}),
        ("n BETWEEN 1 AND 3", {"n": [{"numeric": [">=", 1, "<=", 3]}]}),
        ("s = 'a' OR s LIKE 'b%' OR s IS NULL", {"s": ["a", {"prefix": "b"}, None, {"exists": False}]}),
        ("s ILIKE '%A' OR s LIKE 'a%*b'", {"s": [{"suffix": {"equals-ignore-case": "A"}}, {"wildcard": "a*\\*b"}]}),
        ("s != 'a'", {"s": [{"anything-but": ["a"]}]}),
        ("(s LIKE 'a%') IS NOT TRUE", {"s": [{"anything-but": {"prefix": "a"}}, {"exists": False}]}),
        ("n NOT IN (1, 2)", {"n": [{"numeric": ["<", 1]}, {"numeric": [">", 1, "<", 2]}, {"numeric": [">", 2]}]}),
        ("NOT n > 1", {"n": [{"numeric": ["<=", 1]}]}),
        ("a AND NOT b", {"a": [True], "b": [False]}),
        ("cidr(ip) = '10.0.0.0/8'", {"ip": [{"cidr": "10.0.0.0/8"}]}),
        ("detail.a = 1 AND detail.b.c = 'x'", {"detail": {"a": [1], "b": {"c": ["x"]}}}),
        (
            "(a = 1 OR b = 2) AND (c = 3 OR d = 4) AND e = 5",
            {
                "e": [5],
                "$or": [
                    {"a": [1], "$or": [{"c": [3]}, {"d": [4]}]},
                    {"b": [2], "$or": [{"c": [3]}, {"d": [4]}]},
                ],
            },
        ),
        ("exists(items, i -> i.a = 'x' AND i.n > 2)", {"items": {"a": ["x"], "n": [{"numeric": [">", 2]}]}}),
        ("exists(n, i -> i > 2 AND i <= 3)", {"n": [{"numeric": [">", 2, "<=", 3]}]}),
    ],
    ids=str,
)
def test_patterns_of_eventbridge(text, document):
    assert written("eventbridge", text) == document


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("s != 'a'", "EventBridge asks for one element of an array, where the rule asks for all"),
        ("s != 'a'", "takes null and values of other types for other values"),
        ("n > 1 AND n < 5", "n: EventBridge asks for one element of an array that has both bounds"),
        ("x IS NULL", "x: EventBridge takes an object for a missing value"),
        ("a.b = 1", "a.b: EventBridge takes a dot in a name for a step of a path"),
        ("a.b = 1 AND a.c = 2", "a: EventBridge tests all fields of one object, if this is an array of objects"),
        ("a.b = 1 AND (a.c = 2 OR d = 1)", "a: EventBridge tests all fields of one object"),
    ],
    ids=str,
)
def test_a_pattern_that_means_something_else_has_a_note(text, note):
    assert any(note in found for found in notes("eventbridge", text))


PATTERNS = [
    {"a": [{"anything-but": ["x", "y"]}]},
    {"a": [{"anything-but": [1, 2.5]}]},
    {"a": [{"anything-but": {"prefix": "x"}}]},
    {"a": [{"anything-but": {"suffix": ["x", "y"]}}]},
    {"a": [{"anything-but": {"equals-ignore-case": ["x", "y"]}}]},
    {"a": [{"anything-but": {"wildcard": "x*y"}}]},
    {"a": [{"anything-but": {"wildcard": ["x*", "*y", "x\\**y"]}}]},
    {"a": [None]},
    {"a": [None, {"anything-but": ["x"]}]},
    {"a": [{"exists": True}]},
    {"a": ["x", {"exists": False}]},
    {"detail": {"b": [{"anything-but": ["x"]}], "c": [{"exists": False}]}},
    {"a": {"b": {"c": [None, 5, {"prefix": "x"}]}}},
    {"a": {"b": ["x"], "c": [None], "d": [{"exists": True}]}},
    {"$or": [{"a": ["x"]}, {"b": {"c": [{"exists": False}]}}]},
    {"a": {"b": [{"numeric": [">", 0, "<", 5]}]}},
    {"a": [{"cidr": "10.0.0.0/8"}]},
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_a_pattern_is_written_as_it_was_read(pattern):
    found = read({"r": pattern}, "eventbridge")
    for rules in (found, {"r": found[0].text}):
        made = write(rules, "eventbridge")
        assert made.faults == []
        assert made[0].document == pattern
        assert made[0].notes == []


def test_what_is_absent_is_written():
    assert written("eventbridge", "NOT present(x)") == written("eventbridge", "present(x) IS NOT TRUE")
    assert written("eventbridge", "NOT present(x)") == {"x": [{"exists": False}]}
    assert notes("eventbridge", "NOT present(x)") == notes("eventbridge", "present(x)") != []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exists(i, e -> e.a IS NULL)", "i.a IS NULL: EventBridge cannot ask whether something is missing"),
        ("exists(x, e -> e.a + 1 > 2)", "i.a + 1 > 2: EventBridge has no i.a + 1"),
        ("exists(x, e -> exists(e.y, f -> f.a > e.b))", "j.a > i.b: EventBridge compares an attribute with constants"),
        ("NOT exists(x, e -> e.a = 1)", "exists(x, i -> i.a = 1): EventBridge has no NOT of a condition on elements"),
        ("exists(x, e -> NOT present(e.a))", "present(i.a): EventBridge cannot ask whether something is missing"),
        ("cidr(a) != '10.0.0.0/8'", "EventBridge has no cidr(a)"),
        ("(cidr(a) = '10.0.0.0/8') IS NOT TRUE", "EventBridge has no NOT of this comparison"),
    ],
)
def test_messages_name_elements_as_rules_do(text, message):
    (fault,) = write({"r": text}, "eventbridge").faults
    assert message in fault.error.message


def test_notes_are_left_out_where_events_have_no_arrays_and_no_dots():
    assert notes("eventbridge", "a.b != 1 AND a.c > 2 AND a.c < 9", arrays=False, dotted_names=False) == []
    assert notes("mongo", "a.b != 1", arrays=False) == []
    assert notes("jsonlogic", "a.b != 1", arrays=False) == []


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("age >= 18 AND age < 65", {"age": {"$gte": 18, "$lt": 65, "$type": "number"}}),
        ("s IN ('a', 'b')", {"s": {"$in": ["a", "b"]}}),
        ("x != 1", {"x": {"$nin": [1], "$type": "number"}}),
        ("(x = 1) IS NOT TRUE", {"x": {"$nin": [1]}}),
        ("x IS NOT NULL", {"x": {"$exists": True}}),
        ("a.b = 1 OR NOT (a.c LIKE 'x%')", {"$or": [{"a.b": {"$in": [1]}}, {"$nor": ..., "a.c": {"$type": "string"}}]}),
        ("s LIKE '%a.b_'", {"s": {"$regex": "a\\.b[\\s\\S]$", "$type": "string"}}),
        ("s ILIKE 'ab'", {"s": {"$ini": ["ab"]}}),
        ("s RLIKE '(?i)^a.\\\\s'", {"s": {"$regexi": "^a[^\\n][\\t\\n\\f\\r ]", "$type": "string"}}),
        ("TRUE", {}),
        ("FALSE", {"$nor": [{}]}),
    ],
    ids=str,
)
def test_conditions_of_growthbook(text, document):
    found = written("mongo", text, **SHORT)
    for part in document.get("$or", []):
        if "$nor" in part:
            part["$nor"] = [{"a.c": {"$regex": "^x", "$type": "string"}}]
    assert found == document


def test_conditions_look_into_arrays():
    single, each = {"n": {"$gt": 5, "$type": "number"}}, {"n": {"$elemMatch": {"$gt": 5, "$type": "number"}}}
    assert written("mongo", "n > 5") == {"$or": [single, each]}
    assert written("mongo", "n < 5")["$or"][2] == {"n": {"$in": [0]}}  # $elemMatch passes over what counts as false
    assert notes("mongo", "exists(n, i -> i IS NULL)") == [
        "exists(n, i -> i IS NULL): GrowthBook passes over elements that are null"
    ]
    assert written("mongo", "n > 5", coerce=False) == {"n": {"$gt": 5}}
    assert notes("mongo", "a.b = 1") == ["a.b: GrowthBook does not look into arrays on the way; exists(…) does"]
    assert notes("mongo", "a.b = 1", coerce=False) == []
    items = {"items": {"$elemMatch": {"a": {"$in": ["x"]}}}}
    assert items in written("mongo", "exists(items, i -> i.a = 'x')")["$or"]


def test_rules_of_jsonlogic():
    x, number = {"var": "x"}, {"===": [{"var": "x"}, {"+": [{"var": "x"}, 0]}]}
    assert written("jsonlogic", "x > 5", **SHORT) == {"and": [{">": [x, 5]}, number]}
    assert written("jsonlogic", "x = 'a' OR x IN ('b', 'c')", **SHORT) == {
        "or": [{"===": [x, "a"]}, {"in": [x, ["b", "c"]]}]
    }
    assert written("jsonlogic", "x IS NULL", **SHORT) == {"===": [x, None]}
    assert written("jsonlogic", "x LIKE '%a%'", **SHORT) == {"in": ["a", x]}
    assert written("jsonlogic", "x < 'm'", **SHORT) == {"<": [x, "m"]}
    assert written("jsonlogic", "x = y", **SHORT) == {"and": [{"!==": [x, None]}, {"===": [x, {"var": "y"}]}]}
    assert written("jsonlogic", "CAST(x AS DOUBLE) > 5", **SHORT) == {">": [x, 5]}
    assert written("jsonlogic", "CAST(x AS DOUBLE) < 5", **SHORT) == {
        "and": [{"<": [x, 5]}, {"!==": [x, None]}, {"!==": [x, ""]}]
    }
    assert written("jsonlogic", "x = 1") == {"some": [{"merge": [x]}, {"===": [{"var": ""}, 1]}]}
    assert written("jsonlogic", "x % 2 = 0", **SHORT) == {"and": [number, {"===": [{"%": [x, 2]}, 0]}]}
    assert written("jsonlogic", "x + 1 IN (2, 3)", **SHORT) == {"and": [number, {"in": [{"+": [x, 1]}, [2, 3]]}]}
    assert notes("jsonlogic", "x % 2 = 0") == []
    assert notes("jsonlogic", "x + y > 10") == ["x + y > 10: JsonLogic does not compute with the elements of arrays"]
    assert notes("jsonlogic", "x + 0.5 > 10") == ["x + 0.5 > 10: JsonLogic computes with doubles"]


@pytest.mark.parametrize("system", ["jsonlogic", "mongo"])
@pytest.mark.parametrize("arrays", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "CAST(x AS DOUBLE) < 5",
        "(CAST(x AS DOUBLE) >= 0) IS NOT TRUE",
        "CAST(x AS DOUBLE) = 0",
        "x % 2 = 0",
        "NOT x % 2 = 0",
        "(x - 1 > 0) IS UNKNOWN",
        "x * 2 BETWEEN 1 AND 4",
        "x + y > 3",
    ],
)
def test_conversions_and_arithmetic_come_back_as_they_were(system, arrays, text):
    found = write({"r": text}, system, arrays=arrays)
    if found.faults or found[0].notes:  # what a format cannot say
        assert system == "mongo" or "elements of arrays" in str(found[0].notes[0])
        return
    (back,) = read({"r": found[0].document}, system)
    assert back.notes == []
    for value in (*VALUES, None, *([[value, 4] for value in VALUES] if arrays else ())):
        for event in ({"x": value}, {"x": value, "y": 3}, {"y": value}):
            assert (evaluate(back.tree, event) is True) == (evaluate(parse(text), event) is True), event


REFUSED = {
    "eventbridge": {
        "TRUE": "no pattern that is always true",
        "s RLIKE 'a'": "s RLIKE 'a': EventBridge has no such comparison",
        "s LIKE 'a_'": "no wildcard for one character",
        "s ILIKE '%a%'": "ignores case in a prefix, a suffix or a whole text only",
        "s LIKE '%a%b%c%d%e%f'": "takes at most 5 stars",
        "day > DATE '2020-01-01'": "has no constant of the type time",
        "lower(s) = 'a'": "has no lower(s)",
        "a = b": "compares an attribute with constants only",
        "NOT exists(a, i -> i.x = 1)": "has no NOT of a condition on elements",
        "exists(a, i -> i.x IS NULL)": "cannot ask whether something is missing in an element",
        "x IN (1, 2) AND x IN (2, 3)": "x: EventBridge tests a field once in a pattern",
        "a = 1 AND a.b = 2": "cannot test a field and what is below it",
        "* LIKE '%x%'": "EventBridge has no *",
    },
    "mongo": {
        "a = b": "compares an attribute with constants only",
        "`a.b` = 1": "cannot name 'a.b' in a path",
        "a.`1` = 1": "takes '1' in a path for the number of an element",
        "s RLIKE '[[:alpha:]]'": "may not read [[: in a regular expression as RE2 does",
        "s RLIKE '(?s)a.'": "may not read (?s)",
        "s RLIKE '\\\\pL'": "may not read \\p",
        "exists(a, i -> i > 1 AND i.x = 2)": "by its value or by its fields, not by both",
        "exists(a, i -> i.x = b)": "compares an attribute with constants only",
        "exists(a, i -> b = 1 AND i.x = 1)": "can test an element only by what is in it",
        "TIMESTAMP '2020-01-01 00:00:00' < t": "has no constant of the type time",
        "superset_of(x, 1, 2)": "has no such comparison",
    },
    "jsonlogic": {
        "s LIKE 'a%'": "finds a text in another, and has no other pattern",
        "s RLIKE 'a'": "has no such comparison",
        "a < b": "converts two variables before it compares their order",
        "NOT a = b": "cannot tell whether two variables are of one type",
        "exists(a, i -> i IS NULL)": "cannot tell a missing array from an element that is null",
        "x = x + 1": "compares variables as they are",
        "x / 2 > 1": "has no x / 2",
        "x + y / 2 > 1": "has no / of numbers that is the same",
        "x % y = 0": "has a remainder of a division by zero",
    },
}


@pytest.mark.parametrize(("system", "text"), [(s, t) for s, rules in REFUSED.items() for t in rules], ids=str)
def test_what_a_format_cannot_say_is_refused_with_the_part_of_the_rule(system, text):
    found = write({"r": text}, system)
    assert not found.rules
    assert REFUSED[system][text] in found.faults[0].error.message


def test_a_chain_of_xor_is_written_or_refused_within_a_limit():
    text = " XOR ".join(f"a{i} = 1" for i in range(40))
    for system in ("eventbridge", "mongo", "jsonlogic"):
        assert "more than 20,000 parts" in write({"r": text}, system).faults[0].error.message

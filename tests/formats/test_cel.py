"""Expressions mean what CEL's specification says. Each case: an expression, an event, and whether it is true."""

from __future__ import annotations

import pytest

from ruledex import Index, evaluate
from ruledex.errors import InputError
from ruledex.formats import read
from tests.formats.answers import fault, holds

CASES = [
    ("a == 1", {"a": 1.0}, True),
    ("a == '1'", {"a": 1}, False),
    ("a != '1'", {"a": 1}, True),
    ("a != 1", {}, False),  # an error
    ("!(a == 1)", {}, False),
    ("a == 1 || true", {}, True),  # the error is absorbed on both sides
    ("true || a == 1", {}, True),
    ("!(a == 1 && false)", {}, True),
    ("a == null", {"a": None}, True),
    ("a == null", {}, False),
    ("a != null", {"a": [None]}, True),
    ("a == b", {"a": None, "b": None}, True),
    ("a.b > 5 ? c : d", {"a": {"b": 6}, "c": True}, True),
    ("a.b > 5 ? c : d", {"c": True, "d": True}, False),
    ("a < 5 == true", {"a": 4}, True),
    ("0x10 == a && a == 16u", {"a": 16}, True),
    ("-9223372036854775808 == a", {"a": -(2**63)}, True),
    ("a == 18446744073709551615u", {"a": 1}, False),
    ("a == .5 || a == 1e-1", {"a": 0.5}, True),
    (r"a == 'it\'s \x41\u00e9\U0001F600\101\n'", {"a": "it's A\u00e9\U0001f600A\n"}, True),
    (r"a == r'\d'", {"a": r"\d"}, True),
    ("a == '''x\n'y'\n'''", {"a": "x\n'y'\n"}, True),
    ('a == """x "y" """', {"a": 'x "y" '}, True),
    ("a // a comment\n == 1", {"a": 1}, True),
    (".a.b['c d'] == 1", {"a": {"b": {"c d": 1}}}, True),
    ("a.`b-c` == 1", {"a": {"b-c": 1}}, True),
    ("has(a.b)", {"a": {"b": None}}, True),
    ("!has(a.b)", {"a": {}}, True),
    ("!has(a.b)", {}, False),
    ("l.exists(i, i.k > 2)", {"l": [{"k": 1}, {}, {"k": 5}]}, True),  # the error of one element is absorbed
    ("l.all(i, i.k > 2)", {"l": [{}, {"k": 1}]}, False),
    ("!l.all(i, i.k > 2)", {"l": [{}, {"k": 1}]}, True),
    ("!l.exists(i, i.k > 2)", {"l": [{}, {"k": 1}]}, False),
    ("!l.exists(i, i.k > 2)", {"l": []}, True),
    ("l.exists_one(i, i.k > 2)", {"l": [{"k": 5}, {}]}, False),
    ("l.exists_one(i, i.k > 2)", {"l": [{"k": 5}, {"k": 1}]}, True),
    ("l.exists(i, i.m.exists(j, j > i.n))", {"l": [{"n": 5, "m": [1]}, {"n": 1, "m": [0, 2]}]}, True),
    ("['a', 'b'].exists(i, i == a)", {"a": "b"}, True),
    ("['a', 'b'].all(i, i != a)", {"a": "b"}, False),
    ("size(a) == 5", {"a": "h\u00e9llo"}, True),
    ("a.size() == 2", {"a": ["x", "yyy"]}, True),
    ("size(l.filter(i, i > 1)) == 2", {"l": [1, 2, 3]}, True),
    ("'x' in a", {"a": {"x": None}}, True),
    ("a in b", {"a": 1, "b": [1, 2]}, True),
    ("a in []", {"a": 1}, False),
    ("a == []", {"a": []}, True),
    ("a == [1, 'x', 2.0]", {"a": [1, "x", 2]}, True),
    ("int(a) == 7 && double(a) == 7.0", {"a": "7"}, True),
    ("dyn(a) == 1", {"a": 1}, True),
    ("matches(a, '^x')", {"a": "xy"}, True),
    ("a.lowerAscii() == 'x'", {"a": "X"}, True),
    ("timestamp(a) > timestamp('2024-02-29T00:00:00Z')", {"a": "2024-03-01T00:00:00Z"}, True),
    ("timestamp(a).getMonth() == 1 && timestamp(a).getDayOfWeek() == 4", {"a": "2024-02-29T10:00:00Z"}, True),
    (
        "timestamp(b) - timestamp(a) < duration('1h30m')",
        {"a": "2024-02-29T10:00:00Z", "b": "2024-02-29T11:00:00Z"},
        True,
    ),
    ("7 / 2 == 3 && -7 % 4 == -3 && 'a' + 'b' == 'ab' && 1 < 2.5", {}, True),
    ("1 == '1' || null == 1", {}, False),
]


@pytest.mark.parametrize(("expression", "event", "expected"), CASES, ids=str)
def test_an_expression_is_true_as_cel_says(expression, event, expected):
    assert holds("cel", expression, event) is expected


REFUSED = [
    (7, "$: an expression is a string, not 7"),
    ("", "$: column 1: a value is expected here, not the end"),
    ("a &&", "$: column 5: a value is expected here, not the end"),
    ("a == 1)", "$: column 7: the end or an operator is expected here, not ')'"),
    ("(a == 1", "$: column 8: ) is expected here, not the end"),
    ("a\n&& b #", "$: line 2, column 6: an expression cannot have '#' here"),
    ("a == 'x", "$: column 6: this string has no end"),
    (r"a == '\q'", "$: column 6: a string cannot have"),
    ("a == b'x'", "$: column 6: bytes cannot be compared"),
    ("a == 99999999999999999999", "$: column 6: 99999999999999999999 is beyond 64 bits"),
    ("for == 1", "$: column 1: for is a reserved word"),
    ("a.1", "$: column 2: the end or an operator is expected here, not '.1'"),
    ("a == {'x': 1}", "$: column 6: maps cannot be written"),
    ("a.exist(i, i > 1)", "$: column 3: the function 'exist' is not known here; did you mean exists?"),
    ("a.exists(i)", "$: column 3: a macro takes a variable and a condition"),
    ("a.b.map(i, i) == 1", "$: column 5: the function 'map' cannot be compared"),
    ("a + 1", "$: column 3: this is not a condition"),
    ("a / b == 1", "$: column 3: / takes a constant other than 0"),
    ("a[b] == 1", "$: column 2: an element has a constant as its number"),
    ("a in [b]", "$: column 6: a list has constants only here"),
    ("a.matches('(?=x)')", "$: column 3: RE2 refuses this regular expression"),
    ("a > timestamp('2024')", "$: column 5: timestamp() takes a time of RFC 3339"),
    ("timestamp(a) > timestamp(b) + duration('x')", "$: column 31: 'x' is no duration"),
    ("size(a) == 'x'", "$: column 1: a size can be compared with a number"),
    ("a.?b == 1", "$: column 3: a name follows after a dot"),
    ("1 < 'x'", "$: column 3: these constants are of different types"),
]


@pytest.mark.parametrize(("expression", "message"), REFUSED, ids=str)
def test_what_cannot_be_said_is_refused_with_its_column(expression, message):
    assert fault("cel", expression).startswith(message)


def test_deep_expressions_are_refused():
    assert "nests too deep" in fault("cel", "(" * 50_000 + "a" + ")" * 50_000)
    assert "nests too deep" in fault("cel", "!" * 50_000 + "a")


def test_a_variable_may_be_the_whole_event_or_the_time_of_the_call():
    (rule,) = read(
        {1: "e.a > 1 && timestamp(e.at) > request.time - duration('2h')"}, "cel", root="e", now="request.time"
    )
    assert rule.text == "a > 1 AND CAST(at AS TIMESTAMP) > current_timestamp() - INTERVAL '2' HOUR"
    event = {"a": 2, "at": "2024-02-29T09:00:00Z"}
    assert evaluate(rule.tree, event, now="2024-02-29T10:00:00Z") is True
    assert evaluate(rule.tree, event, now="2024-02-29T12:00:00Z") is False


def test_typed_fields_make_shorter_rules():
    texts = {1: "a != 'x'", 2: "!('x' in a)", 3: "!has(a.b)", 4: "!(a in [1, 2])"}
    assert [rule.text for rule in read(texts, "cel", typed=True)] == [
        "a != 'x'",
        "a != 'x'",
        "present(a.b) IS NOT TRUE",
        "a NOT IN (1, 2)",
    ]
    assert read(texts, "cel")[0].text == "present(a) AND (a = 'x') IS NOT TRUE"


def test_arithmetic_and_parts_of_times_have_notes():
    (rule,) = read({1: "a + 1 > 2 && b * 2 > 3 && timestamp(c).getHours() > 9"}, "cel", typed=True)
    assert [note.place for note in rule.notes] == ["$: column 3", "$: column 40"]
    assert "an integer and a double" in rule.notes[0].message


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("b && a < 1", 1, "a list is compared by its elements here, and in CEL as a whole, and maps are not compared"),
        ("null != a && a < 1", 16, "a list is compared by its elements"),
        ("a.startsWith('x')", 3, "a list is compared by its elements"),
        ("a in [1, 2]", 3, "a list is compared by its elements"),
        ("1 in a", 3, "a single value is a list of one here, and the keys of a map are not elements"),
        ("a.all(i, has(i.x))", 3, "a single value is a list of one here"),
        ("a[0] == 1", 2, "a single value is a list of one here"),
        ("size(a) > 1", 1, "the size of a map is unknown here"),
        ("timestamp(a) > timestamp('2024-01-01T00:00:00Z')", 1, "but not of RFC 3339"),
    ],
)
def test_what_the_types_of_fields_decide_has_a_note(text, place, message):
    (rule,) = read({1: text}, "cel")
    assert rule.notes[0].place == f"$: column {place}"
    assert message in rule.notes[0].message
    if "size" not in text:
        assert read({1: text}, "cel", typed=True)[0].notes == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int(a) > 1", "int() of a text or a boolean goes by Spark's CAST here"),
        ("timestamp(a) + duration('24h') > timestamp('2024-01-01T00:00:00Z')", "24 hours are one day in the time zone"),
    ],
)
def test_what_the_language_does_otherwise_has_a_note(text, message):
    assert message in str(read({1: text}, "cel", typed=True)[0].notes[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("timestamp('2024-02-28T00:00:00Z') + duration('24h') == timestamp('2024-02-29T00:00:00Z')", True),
        ("duration('1h') + timestamp('2024-02-28T00:00:00Z') > timestamp('2024-02-28T00:59:59Z')", True),
        ("timestamp('2024-02-28T00:00:00Z') - duration('1s') < timestamp('2024-02-28T00:00:00Z')", True),
        ("timestamp('2024-02-28T00:00:00Z') - timestamp('2024-02-27T00:00:00Z') == duration('24h')", True),
        ("duration('1h') - duration('30m') > duration('1800s')", False),
        ("duration('1h') < duration('61m')", True),
        ("timestamp(t) - timestamp('2024-02-28T00:00:00Z') <= duration('24h')", True),
        ("timestamp('2024-02-29T00:00:00Z') - timestamp(t) < duration('1s')", True),
        ("timestamp('2024-02-29T00:00:00Z') - timestamp(t) < duration('0s')", False),
    ],
)
def test_times_and_durations_are_computed(text, expected):
    assert holds("cel", text, {"t": "2024-02-29T00:00:00Z"}) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a < 9223372036854775808", "$: column 5: 9223372036854775808 is beyond 64 bits"),
        ("a < 1 - 9223372036854775808", "$: column 9: 9223372036854775808 is beyond 64 bits"),
        ("a < -(9223372036854775808)", "$: column 7: 9223372036854775808 is beyond 64 bits"),
        ("a < 18446744073709551616u", "$: column 5: 18446744073709551616u is beyond 64 bits"),
        ("a < 1 + 1.5", "$: column 7: CEL has no + for an integer and a double"),
        ("a < 1 / 0", "$: column 7: a division by 0 is an error of CEL"),
        ("duration('1h') - timestamp('2024-02-28T00:00:00Z') > a", "CEL has no - for a duration and a time"),
        ("a > timestamp('9999-12-31T00:00:00Z') + duration('24h')", "no time from the year 1 to 9999"),
    ],
)
def test_constants_that_cel_refuses_are_refused(text, message):
    assert message in fault("cel", text)


def test_the_least_and_the_largest_integers_are_read():
    assert read({1: "a > -9223372036854775808"}, "cel")[0].text == "a > -9223372036854775808"
    assert read({1: "a < 9223372036854775808u"}, "cel")[0].text == "a < 9223372036854775808BD"


def test_wrong_options_are_errors():
    with pytest.raises(InputError, match="the names of variables are strings"):
        read({}, "cel", root=7)


def test_expressions_are_read_from_files(tmp_path):
    (tmp_path / "adults.cel").write_text("// of age\nage >= 18\n")
    (tmp_path / "more.jsonl").write_text(
        '{"id": "vip", "expression": "plan in [\'vip\']", "tags": {"a": 1}}\n"b == 1"\n'
    )
    (tmp_path / "broken.cel").write_bytes(b"a == '\xff'")
    found = read(tmp_path, "cel")
    assert [(rule.id, rule.text) for rule in found] == [
        ("adults", "age >= 18"),
        ("vip", "plan = 'vip'"),
        ("more:2", "b = 1"),
    ]
    assert "not UTF-8" in str(found.faults[0])
    index = Index.build(tmp_path, format="cel", on_error="skip")
    assert index.match({"age": 20, "plan": "vip"}) == ["adults", "vip"]

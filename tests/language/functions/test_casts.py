from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.errors import RuleError, RuleSyntaxError, RuleTypeError
from ruledex.language.functions.casts import cast_to_decimal, cast_to_string, java_double
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.text import tree_text
from ruledex.language.tree import Between, Call, Compare, In


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (1e10, "1.0E10"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-0.0, "-0.0"),
        (5e-324, "4.9E-324"),
        (123456789.125, "1.23456789125E8"),
        (math.inf, "Infinity"),
        (-100.0, "-100.0"),
    ],
)
def test_doubles_are_written_as_java_writes_them(value, text):
    assert java_double(value) == text


def test_decimals_keep_the_digits_of_their_type():
    assert cast_to_decimal("1.25", 10, 1, zone=UTC) == Decimal("1.3")
    assert cast_to_decimal("999.95", 4, 1, zone=UTC) is None
    assert cast_to_decimal("1e-400000000", 4, 1, zone=UTC) == 0
    assert cast_to_decimal("1e400000000", 38, 1, zone=UTC) is None
    assert cast_to_string(Decimal("-0.00"), zone=UTC) == "0.00"


@pytest.mark.parametrize(
    ("rule", "same"),
    [
        ("try_cast(x AS integer) = 5", "CAST(x AS INT) = 5"),
        ("x::int = 5", "CAST(x AS INT) = 5"),
        ("x :: DECIMAL ( 10 , 2 ) = 5", "CAST(x AS DECIMAL(10, 2)) = 5"),
        ("a + b::INT * 2 = 5", "a + (CAST(b AS INT) * 2) = 5"),
        ("-x::INT = 5", "-(x::INT) = 5"),
        ("x = '5'::INT", "x = 5"),
        ("x > CAST('2024-1-5' AS DATE)", "x > DATE '2024-01-05'"),
        ("x > CAST(DATE '2024-01-05' AS TIMESTAMP)", "x > TIMESTAMP '2024-01-05 00:00:00'"),
        ("x = CAST('five' AS INT)", "NULL"),
    ],
)
def test_ways_to_write_a_cast(rule, same):
    assert parse(rule) == parse(same)


def test_constants_of_lists_and_bounds_may_be_cast():
    x = parse("x = 1").operand
    assert parse("x IN ('5'::INT, 6)") == In(x, (5, 6))
    assert parse("x BETWEEN '2024-01-01'::DATE AND '2024-02-01'::DATE") == Between(
        x, date(2024, 1, 1), date(2024, 2, 1)
    )


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        ("CAST(x) = 5", RuleSyntaxError, "CAST"),
        ("CAST(x, y AS INT) = 5", RuleSyntaxError, "AS stands in a cast only"),
        ("CAST(x AS INT, y) = 5", RuleSyntaxError, "a cast ends after its type"),
        ("x AS INT", RuleSyntaxError, "AS stands in a cast only"),
        ("CAST(x AS FLOT) = 5", RuleSyntaxError, "there is no type 'FLOT'"),
        ("CAST(x AS DECIMAL(99, 2)) = 5", RuleTypeError, "from 1 to 38 digits"),
        ("CAST(x AS DECIMAL(3, 4)) = 5", RuleTypeError, "after the point"),
        ("CAST(x AS DECIMAL(1, 2, 3)) = 5", RuleSyntaxError, "one or two numbers"),
        ("CAST(x = 5 AS INT) = 5", RuleTypeError, "a condition cannot be cast"),
        ("CAST(x AS INT) = 'a'", RuleTypeError, "number"),
        ("x < CAST('inf' AS DOUBLE)", RuleTypeError, "too large"),
        ("x = CAST(TIMESTAMP '2024-01-01 00:00:00' AS STRING)", RuleTypeError, "the zone of the index"),
    ],
)
def test_what_is_refused(rule, error, message):
    with pytest.raises(error) as raised:
        parse(rule)
    assert message in str(raised.value)


def test_a_cast_is_a_derived_attribute_of_all_kinds_of_events(tmp_path):
    rules = {"four": "CAST(code AS INT) BETWEEN 400 AND 499", "yes": "ok::BOOLEAN", "text": "code::STRING LIKE '4%'"}
    assert parse(rules["yes"]) == Compare(Call("cast_boolean", (parse("ok = 1").operand,)), "=", True)
    events = [{"code": "404", "ok": "yes"}, {"code": 45, "ok": 0}, {"code": "x", "ok": "n"}, {"code": None}]
    expected = [[name for name, rule in sorted(rules.items()) if truth_of(parse(rule), event)] for event in events]
    assert expected == [["four", "text", "yes"], ["text"], [], []]
    index = Index.build(rules.items())
    index.save(tmp_path / "index")
    grown = Index.build([])
    grown.add(rules.items())
    for each in (index, Index.open(tmp_path / "index"), grown):
        assert [each.match(event) for event in events] == expected
    table = pa.table({"code": ["404", "45", "x", None], "ok": ["yes", "0", "n", None]})
    assert list(index.match_batch(table)) == expected


def test_times_are_read_and_written_in_the_zone_of_the_index():
    rule = parse("CAST(CAST(x AS TIMESTAMP) AS STRING) = '2024-01-05 10:30:15.5'")
    assert truth_of(rule, {"x": "2024-1-5 10:30:15.500"}) is True
    assert truth_of(rule, {"x": datetime(2024, 1, 5, 10, 30, 15, 500_000)}) is True
    assert truth_of(rule, {"x": "10:30"}) is None


@pytest.mark.parametrize(
    ("rule", "same"),
    [
        ("x IN (CAST('1' AS INT), 2)", "x IN (1, 2)"),
        ("x NOT IN (CAST(2.7 AS INT)::STRING, try_cast('b' AS STRING))", "x NOT IN ('2', 'b')"),
        ("x IN (CAST(CAST('7' AS INT) AS STRING))", "x IN ('7')"),
        ("x IN (CAST('z' AS INT), 1)", "x IN (1, NULL)"),
        (
            "x BETWEEN CAST('2024-01-01' AS DATE) AND (CAST('2024-02-01' AS DATE))",
            "x BETWEEN DATE '2024-01-01' AND DATE '2024-02-01'",
        ),
    ],
)
def test_casts_of_constants_stand_in_lists_and_ranges(rule, same):
    assert tree_text(parse(rule)) == tree_text(parse(same))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("x IN (CAST('1'), 2)", "a cast names its type"),
        ("x IN (CAST('1' AS INTT))", "did you mean INT?"),
        ("x IN (CAST(y AS INT))", "only a constant is allowed here"),
        ("x IN (cast, 1)", "only a constant is allowed here"),
        ("x IN (CAST('1' AS INT", "the rule ends here"),
    ],
)
def test_a_wrong_cast_in_a_list_is_refused(rule, message):
    with pytest.raises(RuleError, match=re.escape(message)):
        parse(rule)

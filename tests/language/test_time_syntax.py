"""Intervals, now() and extract in the text of rules, and what they mean there."""

from __future__ import annotations

import pytest

from ruledex import RuleError, parse
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import tree_text
from ruledex.language.tree import Between, Call, Compare, CompareOperands
from ruledex.language.value_types import MICROSECONDS_PER_DAY as DAY
from ruledex.language.value_types import Interval, Moment

HOUR = DAY // 24
SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("7 DAYS", Interval(0, 7 * DAY, True)),
        ("'1' DAY", Interval(0, DAY, True)),
        ("1 week", Interval(0, 7 * DAY, True)),
        ("-1 DAY", Interval(0, -DAY, True)),
        ("- '-1' DAY", Interval(0, DAY, True)),
        ("36 HOURS", Interval(0, 36 * HOUR)),
        ("1 DAY 2 HOURS", Interval(0, 26 * HOUR)),
        ("1 DAY -1 HOUR", Interval(0, 23 * HOUR)),
        ("'1' DAY '2' HOUR", Interval(0, 26 * HOUR)),
        ("1.5 SECONDS", Interval(0, 3 * SECOND // 2)),
        ("1500 MILLISECONDS", Interval(0, 3 * SECOND // 2)),
        ("5 microseconds", Interval(0, 5)),
        ("1 YEAR 2 MONTHS", Interval(14)),
        ("'1 day 2 hours'", Interval(0, 26 * HOUR)),
        ("'-3 months'", Interval(-3)),
        ("'1-2' YEAR TO MONTH", Interval(14)),
        ("-'1-2' YEAR TO MONTH", Interval(-14)),
        ("'1 02:03:04.5' DAY TO SECOND", Interval(0, 26 * HOUR + 184_500_000)),
        ("'-02:30' HOUR TO MINUTE", Interval(0, -5 * HOUR // 2)),
    ],
)
def test_intervals_are_read_and_written(text, interval):
    tree = parse(f"x + INTERVAL {text} > y")
    assert isinstance(tree, CompareOperands)
    assert tree.left == Call("add_interval", (parse("x = 1").operand, interval))
    assert parse(tree_text(tree)) == tree
    assert from_structured(to_structured(tree)) == tree


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now()", Moment()),
        ("CURRENT_TIMESTAMP ( )", Moment()),
        ("current_date()", Moment(is_date=True)),
        ("date(now())", Moment(is_date=True)),
        ("now() - INTERVAL 1 DAY", Moment(0, -DAY)),
        ("INTERVAL 1 DAY + now()", Moment(0, DAY)),
        ("now() + INTERVAL 1 MONTH - INTERVAL 2 DAYS", Moment(1, -2 * DAY)),
        ("current_date() - INTERVAL 1 WEEK", Moment(0, -7 * DAY, True)),
        ("current_date() - 7", Moment(0, -7 * DAY, True)),
        ("date_sub(current_date(), 7)", Moment(0, -7 * DAY, True)),
        ("date_add(date_sub(now(), 7), 1)", Moment(0, -6 * DAY, True)),
        ("add_months(current_date(), -1) + INTERVAL 3 DAYS", Moment(-1, 3 * DAY, True)),
        ("(now() - INTERVAL 1 DAY)", Moment(0, -DAY)),
    ],
)
def test_now_and_intervals_are_one_constant(text, moment):
    tree = parse(f"x > {text}")
    assert tree == Compare(parse("x = 1").operand, ">", moment)
    assert parse(f"{text} < x") == tree
    assert parse(f"x BETWEEN {text} AND {text}") == Between(tree.operand, moment, moment)
    assert parse(f"x IN (DATE '2024-01-01', {text})").values[1] == moment
    for written in (tree, parse(f"x NOT BETWEEN {text} AND now() AND a = 1"), parse(f"x IN ({text}, now())")):
        assert parse(tree_text(written)) == written
        assert from_structured(to_structured(written)) == written


@pytest.mark.parametrize(
    "text",
    [
        "x > now() - INTERVAL 1 DAY - INTERVAL 2 DAYS",
        "x > now() - INTERVAL 1 DAY - INTERVAL 1 MONTH",
        "x > current_date() - INTERVAL 2 HOURS",
        "x > TIMESTAMP '2024-01-31 00:00:00' + INTERVAL 1 MONTH",
        "datediff(current_date(), x) > 3",
        "now() > TIMESTAMP '2024-01-01 00:00:00'",
        "now() BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'",
        "current_date() IN (DATE '2024-01-01')",
        "hour(now()) = 9",
        "now() > current_date()",
    ],
)
def test_what_is_not_one_constant_is_a_function_without_attributes(text):
    tree = parse(text)
    assert Moment not in {type(getattr(tree, "value", None))} or isinstance(tree.operand, Call)
    assert parse(tree_text(tree)) == tree
    assert from_structured(to_structured(tree)) == tree


def test_weights_stand_behind_the_whole_constant():
    assert parse("x > now() - INTERVAL 1 DAY^2").weight == 2
    assert parse("x IN (now()^2, now() - INTERVAL '1' DAY^3)").weights == (2, 3)
    assert parse(tree_text(parse("(x > now() - INTERVAL 36 HOURS)^2"))).weight == 2


def test_extract_is_the_function_of_its_part():
    assert parse("extract(YEAR FROM x) = 2024") == parse("year(x) = 2024") == parse("date_part('years', x) = 2024")
    assert parse("extract(SECOND FROM x) < 0.5") == parse("date_part('second', x) < 0.5")
    assert parse("extract(dow /* day */ FROM now()) = 1") == parse("dayofweek(now()) = 1")


def test_interval_and_the_clocks_are_names_of_attributes_too():
    assert parse("interval > 5 AND interval - 5 > 3 AND interval.x = 1") is not None
    assert parse("now = 1 AND current_date = 'a' AND extract = 2") == parse(
        "`now` = 1 AND `current_date` = 'a' AND `extract` = 2"
    )


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("x > INTERVAL 1 DAY", "intervals are not compared", 4),
        ("INTERVAL 1 DAY > INTERVAL 2 DAYS", "intervals are not compared", 17),
        ("x > now() - INTERVAL 1 MONTH 2 DAYS", "years and months, or days and less", 12),
        ("x > now() - INTERVAL 1.5 DAYS", "only seconds have a fraction", 12),
        ("x > now() - INTERVAL 20000 YEARS", "at most 10,000 years", 12),
        ("x > now() - INTERVAL '1 25:00:00' DAY TO SECOND", "not an interval from day to second", 12),
        ("x > now() - INTERVAL '1' MONTH TO DAY", "no interval goes from MONTH to DAY", 12),
        ("x > now() - INTERVAL 'soon'", "not an interval", 12),
        ("x BETWEEN now() - INTERVAL 1 DYA AND now()", "no unit DYA", 18),
        ("x > 2 * INTERVAL 1 DAY", "takes no interval", 6),
        ("subset_of(x, now())", "takes constants", 0),
        ("extract(x) > 1", "extract takes a part and a time", 8),
        ("date_part('yaer', x) > 1", "did you mean year", 0),
        ("date_trunc('fortnight', x) > now()", "the unit is one of", 0),
    ],
)
def test_faults_are_named_where_they_are(text, message, position):
    with pytest.raises(RuleError, match=message) as raised:
        parse(text)
    assert raised.value.position == position
    assert raised.value.text == text

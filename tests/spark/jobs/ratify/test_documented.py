"""Predicates that differ from Spark SQL on purpose are found under the heading of the page that says so."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.tree import predicates
from ruledex.spark.jobs.ratify import documented as ratify_documented
from ruledex.spark.jobs.ratify.documented import documented_difference, is_of_times

PAGE = Path(__file__).parents[4] / "docs" / "differences.md"


@pytest.mark.parametrize(
    ("rule", "event", "heading"),
    [
        ("x = y", {"x": float("nan"), "y": 1.0}, "NAN"),
        ("x = 1", {"x": [1, 2]}, "ARRAYS"),
        ("items.sku = 'b'", {"items": [{"sku": "b"}]}, "ARRAYS"),
        ("x RLIKE 'a$'", {"x": "a"}, "REGEX"),
        ("length(upper(lower(x))) = 2", {"x": "İ"}, "TWO_STEPS"),
        ("upper(x) ILIKE '_'", {"x": "ß"}, "TWO_STEPS"),
        ("x / 3 * 3 = 1", {"x": Decimal(1)}, "DIVISION"),
        ("coalesce(x, 0.5D) = 3", {"x": 3}, "OWN_TYPE"),
        ("x IN (9007199254740993, 0.5D)", {"x": 3}, "OWN_TYPE"),
        ("x = DATE '2024-01-02'", {"x": "2024-1-2"}, "TEXT_TIME"),
        ("x < y", {"x": "2024-1-2", "y": date(2024, 1, 1)}, "TEXT_TIME"),
        ("x + 1 > 0", {"x": 2**63 - 1}, "COMPUTED"),
        ("x = 5", {"x": "5"}, "ANOTHER_TYPE"),
        ("x <=> 5", {"x": "5"}, "ANOTHER_TYPE"),
        ("x <=> y", {"x": "5", "y": 5}, "ANOTHER_TYPE"),
    ],
)
def test_each_kind_has_its_heading(rule, event, heading):
    (predicate,) = predicates(parse(rule))
    assert documented_difference(predicate, event, Schema()) == getattr(ratify_documented, heading)


@pytest.mark.parametrize(
    ("rule", "event"),
    [("x = 5", {"x": 5}), ("x = 5", {"x": 6}), ("x = 5", {}), ("x <=> 5", {}), ("x + 1 > 0", {"x": None})],
)
def test_what_both_should_answer_alike_has_none(rule, event):
    (predicate,) = predicates(parse(rule))
    assert documented_difference(predicate, event, Schema()) is None


def test_times_are_told_from_the_rest():
    wanted = {"x = DATE '2024-01-02'": {}, "year(x) = 2024": {"x": date(2024, 1, 1)}, "x = 1": {"x": 1}}
    found = [is_of_times(next(predicates(parse(rule))), event) for rule, event in wanted.items()]
    assert found == [True, True, False]


def test_headings_are_those_of_the_page():
    page = PAGE.read_text(encoding="utf-8")
    headings = [value for name, value in vars(ratify_documented).items() if name.isupper() and isinstance(value, str)]
    assert len(headings) == 9
    assert all(f"## {heading}\n" in page for heading in headings)

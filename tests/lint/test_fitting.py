"""Constants and ranges that an operand can never reach."""

from __future__ import annotations

import pytest

from ruledex import Schema, parse
from ruledex.lint import Finding, lint_rule

SCHEMA = Schema.of_mapping(
    {"attributes": {"n": {"type": "integer", "single": True}, "d": "date", "x": "any"}, "time_zone": "Asia/Kolkata"}
)

NEVER = [
    ("n = 2.5", "whole number"),
    ("n <=> 2.5D", "whole number"),
    ("n = 9223372036854775808", "whole number"),
    ("n > 9223372036854775807", "whole number"),
    ("lower(x) = 'ABC'", "lower case"),
    ("upper(x) IN ('abc')", "upper case"),
    ("lower(x) LIKE 'A%'", "lower case"),
    ("trim(x) = ' a'", "space"),
    ("substring(x, 1, 2) = 'abc'", "at most 2"),
    ("length(x) < 0", "at least 0"),
    ("length(x) = 1.5", "whole"),
    ("size(x) BETWEEN -5 AND -1", "at least 0"),
    ("abs(x) <= -1", "at least 0"),
    ("x % 4 = 7", "between -4 and 4"),
    ("x % 4 >= 4", "between -4 and 4"),
    ("n % 4 = 1.5", "whole"),
    ("dayofweek(x) = 9", "from 1 to 7"),
    ("hour(x) > 23", "from 0 to 23"),
    ("month(x) IN (0, 13)", "from 1 to 12"),
    ("round(x) = 1.5", "whole"),
    ("d = TIMESTAMP '2024-01-01 10:00:00'", "midnight"),
    ("d = TIMESTAMP '2024-01-01 00:00:00Z'", "midnight"),
]

MAY = [
    "n = 2",
    "n = 2.0",
    "n < 2.5",
    "lower(x) = 'abc'",
    "lower(x) ILIKE 'A%'",
    "substring(x, 1, 3) = 'abc'",
    "substring(x, 2) = 'abcdef'",
    "length(x) < 1",
    "x % 4 = 1.5",
    "x % 4 = -3",
    "dayofweek(x) IN (1, 7)",
    "round(x, 1) = 1.5",
    "d = TIMESTAMP '2024-01-01 00:00:00'",
    "d = TIMESTAMP '2023-12-31 18:30:00Z'",
    "year(x) = 2024",
    "x = 'ABC'",
]


def fitting(text: str) -> list[Finding]:
    tree = SCHEMA.bind(parse(text), text)
    return [f for f in lint_rule("r", tree, text, SCHEMA) if f.code in ("type-never-fits", "true-when-present")]


@pytest.mark.parametrize(("text", "reason"), NEVER)
def test_what_can_never_fit_is_found_with_its_reason(text: str, reason: str) -> None:
    (finding,) = fitting(text)
    assert finding.code == "type-never-fits"
    assert reason in finding.message


@pytest.mark.parametrize("text", MAY)
def test_what_may_fit_is_left_alone(text: str) -> None:
    assert fitting(text) == []


def test_a_list_with_some_values_that_fit_names_the_others() -> None:
    (finding,) = fitting("x % 4 IN (1, 9, 2, -4)")
    assert "never equals 9, -4" in finding.message
    assert finding.suggestion == "remove 9, -4 from the list"


def test_a_comparison_that_the_range_decides_says_only_that_the_attribute_is_there() -> None:
    (finding,) = fitting("length(x) >= 0")
    assert finding.code == "true-when-present"


def test_the_finding_stands_at_its_predicate() -> None:
    text = "x = 'a' AND\n  hour(seen) = 24"
    (finding,) = fitting(text)
    assert text[finding.position :].startswith("hour(seen)")

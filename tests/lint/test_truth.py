"""Rules that are true of nothing, everything or nearly everything."""

from __future__ import annotations

import pytest

from ruledex import Schema, parse
from ruledex.lint import Severity, lint_rule

SCHEMA = Schema.of_mapping(
    {"attributes": {"age": {"type": "integer", "single": True}, "tags": "string", "name": {"single": True}}}
)


def codes(text: str, schema: Schema = SCHEMA) -> list[str]:
    return [finding.code for finding in lint_rule("r", schema.bind(parse(text), text), text, schema)]


@pytest.mark.parametrize(
    "text",
    [
        "FALSE",
        "NULL",
        "a = NULL",
        "age > 65 AND age < 18",
        "a = 1 AND a != 1",
        "a IS NULL AND a = 1",
        "b = 1 AND FALSE",
    ],
)
def test_a_rule_that_no_event_makes_true_is_found(text: str) -> None:
    assert codes(text) == ["never-true"]


def test_the_part_that_is_never_true_is_named() -> None:
    text = "b = 1 AND (c = 2 AND (age > 65 AND age < 18))"
    (finding,) = lint_rule("r", parse(text), text, SCHEMA)
    assert finding.code == "never-true"
    assert text[finding.position :].startswith("age > 65")
    assert "`age > 65 AND age < 18`" in finding.message


@pytest.mark.parametrize("text", ["TRUE", "a = 1 OR TRUE", "a IS NULL OR a IS NOT NULL", "NOT FALSE"])
def test_a_rule_that_every_event_makes_true_is_found(text: str) -> None:
    assert "always-true" in codes(text)
    assert "never-true" not in codes(text)


@pytest.mark.parametrize(
    "text", ["p OR NOT p", "a = 1 OR a != 1", "a > 5 OR a <= 5", "b = 1 OR a LIKE 'x' OR a NOT LIKE 'x'"]
)
def test_a_rule_that_needs_only_an_attribute_is_not_called_always_true(text: str) -> None:
    findings = [f for f in lint_rule("r", parse(text), text, SCHEMA) if f.code != "adds-nothing"]
    assert [finding.code for finding in findings] == ["true-when-present"]
    assert findings[0].severity is Severity.NOTE
    assert "is present" in findings[0].message


@pytest.mark.parametrize(
    "text",
    [
        "a NOT IN (1, 2)",
        "a IS NULL OR a NOT IN (1)",
        "a != 1 AND NOT b LIKE 'x%'",
        "a = 1 OR b != 2",
        "NOT (a = 1 OR b = 2)",
        "a IS NULL AND b != 1",
    ],
)
def test_a_rule_that_only_excludes_is_found(text: str) -> None:
    assert codes(text) == ["nearly-everything"]


@pytest.mark.parametrize("text", ["a = 1 AND b != 2", "a IS NULL", "a IS NOT NULL", "a IS NOT NULL AND b = 1"])
def test_a_rule_with_something_that_must_hold_is_left_alone(text: str) -> None:
    assert codes(text) == []


def test_several_values_that_one_attribute_would_need_are_noted() -> None:
    text = "b = 3 AND a = 1 AND a = 2"
    (finding,) = lint_rule("r", parse(text), text, SCHEMA)
    assert (finding.code, finding.severity) == ("needs-several-values", Severity.NOTE)
    assert "declare a as single" in finding.suggestion


def test_an_attribute_that_is_declared_with_several_values_may_need_them() -> None:
    assert codes("tags = 'x' AND tags = 'y'") == []
    assert codes("name = 'x' AND name = 'y'") == ["never-true"]
    assert codes("a = 1 AND a < 5") in ([], ["adds-nothing"])

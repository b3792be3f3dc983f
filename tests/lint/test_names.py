"""Undeclared names that are close to a declared one."""

from __future__ import annotations

import pytest

from ruledex import Schema, parse
from ruledex.lint import lint_rule

SCHEMA = Schema.of_mapping({"attributes": {"country": "string", "age": "integer", "device.system": "string"}})


@pytest.mark.parametrize(
    ("text", "name", "near"),
    [
        ("age = 1 AND contry = 'IN'", "contry", "country"),
        ("Country = 'IN'", "Country", "country"),
        ("lower(device.sytem) = 'ios'", "device.sytem", "device.system"),
        ("AGE > 3 OR AGE < 2", "AGE", "age"),
    ],
)
def test_a_misspelt_attribute_is_found_once_where_it_stands(text: str, name: str, near: str) -> None:
    (finding,) = (f for f in lint_rule("r", parse(text), text, SCHEMA) if f.code == "misspelt-attribute")
    assert text[finding.position :].startswith(name)
    assert finding.suggestion == f"did you mean {near}?"


@pytest.mark.parametrize("text", ["country = 'IN'", "page = 1", "device.kind = 'x'", "system = 'x'", "city = 'x'"])
def test_another_name_is_left_alone(text: str) -> None:
    assert lint_rule("r", parse(text), text, SCHEMA) == []


def test_without_a_schema_no_name_is_misspelt() -> None:
    assert lint_rule("r", parse("contry = 'IN' OR country = 'IN'")) == []


@pytest.mark.parametrize(
    ("rule", "name", "suggestion"),
    [
        ("now - created > 86400", "now", "write now() or current_date()"),
        ("created < now - 60 AND a = 1", "now", "write now() or current_date()"),
        ("day > CURRENT_DATE", "CURRENT_DATE", "write now() or current_date()"),
        ("x = None", "None", "write IS NULL or IS NOT NULL"),
        ("a = 1 OR NOT x = undefined", "undefined", "write IS NULL"),
    ],
)
def test_a_name_that_is_a_value_elsewhere_is_found_where_it_stands(rule, name, suggestion):
    (found,) = [finding for finding in lint_rule("r", parse(rule), rule) if finding.code == "not-a-value"]
    assert rule[found.position :].startswith(name)
    assert found.message.startswith(f"{name} is an attribute here: `")
    assert found.suggestion.startswith(suggestion)


def test_a_declared_attribute_or_a_field_may_have_such_a_name():
    schema = Schema.of_mapping({"attributes": {"now": "integer"}})
    assert not lint_rule("r", parse("now - created > 86400"), "", schema)
    assert not lint_rule("r", parse("clock.now > 86400"), "")


def test_a_date_without_quotes_is_found_where_it_stands():
    rule = "name = '2024-01-01' AND seen > 2024-01-31"
    (found,) = lint_rule("r", parse(rule), rule)
    assert found.code == "not-a-value"
    assert rule[found.position :] == "2024-01-31"
    assert found.message == "2024-01-31 is a subtraction here, and its result 1992"
    assert found.suggestion == "write DATE '2024-01-31'"


@pytest.mark.parametrize("rule", ["n > 2024-13-01", "n > 2024 - 1 - 1", "s = 'a''2024-01-01'", "`2024-01-01` = 1"])
def test_another_subtraction_is_left_alone(rule):
    assert [finding for finding in lint_rule("r", parse(rule), rule) if finding.code == "not-a-value"] == []

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

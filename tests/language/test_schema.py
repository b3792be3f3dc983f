"""Schemas: declared, inferred, and checked against rules and events."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from ruledex.errors import RuleTypeError, SchemaError
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import AttributeType, Schema, read_path
from ruledex.language.tree import Attribute

DECLARED = {
    "time_zone": "Asia/Kolkata",
    "attributes": {
        "age": {"type": "integer", "single": True},
        "price": "decimal",
        "name": {"type": "string"},
        "born": "date",
        "seen": {"type": "timestamp", "single": True},
        "device.os": "string",
        "member": "boolean",
    },
}


@pytest.fixture
def schema() -> Schema:
    return Schema.of_mapping(DECLARED)


def test_a_schema_is_declared_as_a_mapping_and_is_one_again(schema):
    assert schema.of(Attribute(("age",))) == AttributeType("integer", True)
    assert schema.of(Attribute(("device", "os"))) == AttributeType("string", False)
    assert schema.of(Attribute(("unknown",))) == AttributeType("any", False)
    assert Schema.of_mapping(schema.to_mapping()) == schema


def test_a_schema_is_read_from_toml(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(
        'time_zone = "Europe/Paris"\n[attributes]\nage = { type = "integer", single = true }\n"device.os" = "string"\n'
        '"`odd.name`" = "any"\n'
    )
    loaded = Schema.load(path)
    assert loaded.time_zone == "Europe/Paris"
    assert loaded.of(Attribute(("device", "os"))).type == "string"
    assert "`odd.name`" in loaded.attributes


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"attributes": {"a": "strin"}}, "there is no type 'strin'"),
        ({"attributes": {"a": "strin"}}, "did you mean string?"),
        ({"attributes": {"a": {"kind": "string"}}}, "declare a type"),
        ({"attributes": {"a": 5}}, "declare a type"),
        ({"attributes": {"a": {"type": "string", "single": "yes"}}}, "single is true or false"),
        ({"zone": "UTC"}, "not zone"),
        ({"time_zone": "Mars/Olympus"}, "there is no time zone 'Mars/Olympus'"),
        ({"attributes": {"lower(a)": "string"}}, "is not an attribute"),
    ],
)
def test_a_schema_that_makes_no_sense_is_refused(declared, message):
    with pytest.raises(SchemaError) as caught:
        Schema.of_mapping(declared)
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [b"attributes = ", b"\xff", None])
def test_a_file_that_is_no_schema_is_refused_with_its_name(tmp_path, content):
    path = tmp_path / "broken.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SchemaError, match=r"broken\.toml"):
        Schema.load(path)


def test_what_is_not_declared_is_inferred_from_the_constants():
    rules = [
        "a = 1 AND b = 'x'",
        "c IN (TRUE)",
        "d > DATE '2024-01-01'",
        "lower(e) = 'x'",
        "f = 1 OR f = 'x'",
        "g IS NULL",
    ]
    inferred = Schema({"a": AttributeType("integer", True)}).with_inferred(map(parse, rules))
    assert {name: kind.type for name, kind in inferred.attributes.items()} == {
        "a": "integer",
        "b": "string",
        "c": "boolean",
        "d": "timestamp",
        "e": "string",
        "f": "any",
        "g": "any",
    }
    assert inferred.attributes["a"].single
    assert not inferred.attributes["b"].single


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("age = 'old'", "the schema declares age as number, and this compares it with a string", 0),
        ("member AND age = 'old'", "the schema declares age as number", 11),
        ("name IN (1, 2)", "the schema declares name as string", 0),
        ("age LIKE 'x%'", "the schema declares age as number", 0),
        ("born RLIKE 'x'", "declares born as a time, which has no pattern", 0),
        ("born = 'soon'", "'soon' is not a date or time", 0),
        ("age", "the schema declares age as number", 0),
        ("member AND lower(age) = 'x'", "lower() takes a string, and age is a number", 11),
        ("age < name", "age is a number and name a string", 0),
        ("member = 'x'", "the schema declares member as boolean", 0),
        ("coalesce(age, 'x') = 'x'", "", 0),
    ],
)
def test_a_rule_that_contradicts_the_schema_is_refused_at_its_place(schema, text, message, position):
    if not message:
        assert schema.bind(parse(text), text) == parse(text)
        return
    with pytest.raises(RuleTypeError) as caught:
        schema.bind(parse(text), text)
    assert message in str(caught.value)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "text",
    ["age > 5 AND name = 'x'", "unknown = 1 OR unknown = 'x'", "age IS NULL", "year(born) = 2000", "age < price"],
)
def test_a_rule_that_agrees_is_left_as_it_is(schema, text):
    assert schema.bind(parse(text), text) == parse(text)


def test_texts_beside_declared_times_become_times(schema):
    assert schema.bind(parse("born = '2000-01-01'")).value == date(2000, 1, 1)
    assert schema.bind(parse("seen IN ('2000-01-01 10:00')")).values == (datetime(2000, 1, 1, 10),)
    assert schema.bind(parse("seen BETWEEN '2000-01-01' AND '2000-02-01'")).high == date(2000, 2, 1)


def test_several_values_of_a_single_attribute_are_unknown_but_there(schema):
    assert truth_of(parse("age = 1"), {"age": [1, 2]}, schema) is None
    assert truth_of(parse("NOT age = 1"), {"age": [1, 2]}, schema) is None
    assert truth_of(parse("age IS NULL"), {"age": [1, 2]}, schema) is False
    assert truth_of(parse("age = 1"), {"age": [1, None]}, schema) is True
    assert truth_of(parse("price = 1"), {"price": [1, 2]}, schema) is True


def test_declared_times_are_read_in_the_zone_of_the_index(schema):
    assert truth_of(parse("seen < born"), {"seen": "2023-12-31T18:29:59Z", "born": "2024-01-01"}, schema) is True
    assert truth_of(parse("seen = born"), {"seen": "2023-12-31T18:30:00Z", "born": "2024-01-01"}, schema) is True


def test_an_operand_is_single_if_all_that_it_is_made_of_is(schema):
    assert schema.is_single(parse("age % 4 = 1").operand)
    assert not schema.is_single(parse("age + price = 1").operand)
    assert schema.is_single(parse("size(price) = 1").operand)
    assert not schema.is_single(parse("unknown = 1").operand)


def test_declared_names_are_paths():
    assert read_path("a.b") == ("a", "b")
    assert read_path("`a.b`") == ("a.b",)

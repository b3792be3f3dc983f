from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from ruledex import Index, evaluate
from ruledex.errors import RuleTypeError, SchemaError
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema


@dataclass
class Device:
    os: str | None


@pytest.mark.parametrize(
    ("event", "path", "expected"),
    [
        ({"x": 1}, "x", True),
        ({"x": None}, "x", True),
        ({"x": []}, "x", True),
        ({"x": float("nan")}, "x", True),
        ({}, "x", False),
        ({"y": 1}, "x", False),
        ({"x": {"y": None}}, "x.y", True),
        ({"x": {}}, "x.y", False),
        ({"x": None}, "x.y", False),
        ({"x": 5}, "x.y", False),
        ({"x": [{"z": 1}, {"y": None}]}, "x.y", True),
        ({"x": [[{"y": 1}]]}, "x.y", True),
        ({"x": [{"z": 1}]}, "x.y", False),
        ({"x": Device(None)}, "x.os", True),
    ],
)
def test_what_is_present(event, path, expected):
    assert truth_of(parse(f"present({path})"), event) is expected
    assert truth_of(parse(f"NOT present({path})"), event) is not expected
    index = Index.build([(1, f"present({path})"), (2, f"NOT present({path})")])
    assert index.match(event) == ([1] if expected else [2])


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "void"),
        (float("nan"), "void"),
        (True, "boolean"),
        (5, "bigint"),
        (1.5, "double"),
        (Decimal("1.50"), "decimal(3,2)"),
        (Decimal("0.001"), "decimal(3,3)"),
        ("a", "string"),
        (date(2024, 1, 1), "date"),
        (datetime(2024, 1, 1), "timestamp"),
        ([], "array<void>"),
        ([1, None], "array<bigint>"),
        ([[1], []], None),
        ([1, "a"], None),
        ({"a": 1, "b": ["x"]}, "struct<a:bigint,b:array<string>>"),
    ],
)
def test_the_names_of_types(value, name):
    assert truth_of(parse(f"typeof(x) = '{name}'"), {"x": value}) is (None if name is None else True)


def test_types_of_fields_and_declared_types():
    assert truth_of(parse("typeof(x.y) = 'array<string>'"), {"x": [{"y": "a"}, {}, 5]}) is True
    assert truth_of(parse("typeof(x) = 'void'"), {}) is True
    schema = Schema.of_mapping({"attributes": {"x": "int"}})
    assert truth_of(parse("typeof(x) = 'int'"), {"x": 5}, schema) is True


def test_only_attributes_are_present():
    with pytest.raises(RuleTypeError, match="takes an attribute"):
        parse("present(lower(x))")
    with pytest.raises(RuleTypeError, match="takes an attribute"):
        parse("typeof('a') = 'string'")


RULES = {
    "x": "present(x)",
    "no x": "NOT present(x)",
    "null x": "present(x) AND x IS NULL",
    "no z": "NOT present(z)",
    "os": "present(device.os)",
    "int": "typeof(x) = 'int'",
    "bigint": "typeof(x) = 'bigint'",
    "list": "typeof(list) = 'array<double>'",
    "key": "present(map.a)",
}


def test_columns_are_present_in_every_row(tmp_path):
    device = pa.struct([("os", pa.string())])
    table = pa.table(
        {
            "x": pa.array([5, None, 7], pa.int32()),
            "device": pa.array([{"os": None}, None, {"os": "a"}], device),
            "list": pa.array([[1.5], [], None], pa.list_(pa.float64())),
            "map": pa.array([[("a", 1)], [("b", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    index = Index.build(RULES.items())
    expected = [["int", "key", "list", "no z", "os", "x"], ["no z", "null x", "x"], ["int", "no z", "os", "x"]]
    assert list(index.match_batch(table)) == expected
    assert list(index.match_batch(table.slice(1))) == expected[1:]
    index.save(tmp_path)
    rows = table.to_pylist(maps_as_pydicts="strict")
    as_bigint = [[{"int": "bigint"}.get(name, name) for name in names] for names in expected]
    assert [sorted(Index.open(tmp_path).match(row)) for row in rows] == [sorted(names) for names in as_bigint]


def test_nulls_of_columns_are_absent_if_the_schema_says_so(tmp_path):
    rules = [(1, "present(x)"), (2, "NOT present(x)"), (3, "present(a.b)"), (4, "exists(items, i -> present(i.k))")]
    rows = [
        {"x": 1, "a": {"b": None}, "items": [{"k": 1}, {"k": None}]},
        {"x": None, "a": None, "items": [{"k": None}]},
        {"x": 3, "a": {"b": 2}, "items": None},
    ]
    table = pa.Table.from_pylist(rows)
    index = Index.build(rules, schema=Schema.of_mapping({"null_columns": "absent"}))
    index.add([(5, "present(x) AND x = 1")])
    index.save(tmp_path / "index")
    for asked in (index, Index.open(tmp_path / "index")):
        assert list(asked.match_batch(table)) == [[1, 4, 5], [2], [1, 3]]
        assert [asked.match(row) for row in rows] == [[1, 3, 4, 5], [1, 4], [1, 3]]  # a mapping can leave a name out
    assert list(Index.build(rules).match_batch(table)) == [[1, 3, 4], [1, 4], [1, 3]]
    with pytest.raises(SchemaError, match="null_columns is present or absent, not 'gone'"):
        Schema.of_mapping({"null_columns": "gone"})


def test_the_type_of_an_object_takes_names_that_are_no_texts():
    assert evaluate(parse("typeof(a) = 'struct<1:bigint>'"), {"a": {1: 2}}) is True

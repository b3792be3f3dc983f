"""The attributes of rules against the columns of events: what is missing, and what never fits, with counts of rules."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ruledex import Index, Schema
from ruledex.errors import SchemaError
from ruledex.index.column_check import describe_faults
from ruledex.workloads import workload

COLUMNS = pa.schema(
    {
        "country": pa.string(),
        "age": pa.int32(),
        "ts": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "price": pa.decimal128(10, 2),
        "is_member": pa.bool_(),
        "user": pa.struct({"age": pa.int64(), "Name": pa.string()}),
        "tags": pa.list_(pa.string()),
        "items": pa.list_(pa.struct({"sku": pa.string(), "n": pa.int64()})),
        "attributes": pa.map_(pa.string(), pa.float64()),
        "a.b": pa.int64(),
        "code": pa.dictionary(pa.int8(), pa.string()),
        "blob": pa.binary(),
    }
)

FITTING = [
    *(
        "country = 'IN'",
        "age >= 18",
        "ts > DATE '2024-01-01'",
        "day = DATE '2024-01-01'",
        "price * age > 3",
        "is_member",
    ),
    *("user.age > 3", "user IS NOT NULL", "user.Name LIKE 'a%'", "tags = 'x'", "size(tags) > 1", "items.sku = 'a'"),
    *("exists(items, i -> i.n > 3 AND i.sku = country)", "attributes.anything > 2", "`a.b` = 1", "code = 'x'"),
    *("country < DATE '2024-01-02'", "hour(ts) = 3", "lower(country) = 'in'", "blob = 'x'", "blob.x = 1", "* = 'x'"),
    *("day < ts", "CAST(age AS STRING) = '18'", "coalesce(age, 0) < 5", "typeof(ts) = 'timestamp'", "country > code"),
]

FAULTS = [
    ("contry = 'IN'", "contry", "", "missing", "did you mean country?"),
    ("zzz IS NULL", "zzz", "", "missing", ""),
    ("Country = 'IN'", "Country", "country", "case", "write country"),
    ("user.name = 'a'", "user.name", "user", "case", "write user.Name"),
    ("user.agee = 3", "user.agee", "user", "missing", "did you mean user.age?"),
    ("age.x = 3", "age.x", "age", "missing", ""),
    ("a.b = 1", "a.b", "a.b", "missing", "write `a.b`, as the column is called"),
    ("age = '18'", "age", "age", "is int32, and rules compare it with a string", "write the number without quotes"),
    ("age LIKE '1%'", "age", "age", "is int32, and rules compare it with a string", "write the number without quotes"),
    (
        "country > 5",
        "country",
        "country",
        "is string, and rules compare it with a number",
        "write the constant in quotes",
    ),
    ("user = 'x'", "user", "user", None, "name a field of it, such as user.age"),
    ("attributes.x = 'y'", "attributes.x", "attributes", "is double, and rules compare it with a string", None),
    ("items.n = 'x'", "items.n", "items", "is int64, and rules compare it with a string", None),
    ("tags > 3", "tags", "tags", "is list<item: string>, and rules compare it with a number", None),
    ("lower(age) = 'x'", "age", "age", "is a number, and lower() takes a string", ""),
    ("array_max(items.n) = 'x'", "array_max(items.n)", "items", "is a number, and rules compare it with a string", ""),
    ("age > country", "age", "age", "is a number, and country a string or time: they never compare", ""),
    ("exists(items, i -> i.n = 'x')", "items.n", "items", "is int64, and rules compare it with a string", None),
    ("exists(items, i -> i.sk = 'x')", "items.sk", "items", "missing", "did you mean items.sku?"),
    ("exists(item, i -> i > 3)", "item", "", "missing", "did you mean items?"),
]


def faults_of(index, columns=COLUMNS):
    return index.check_columns(columns).to_pylist()


@pytest.mark.parametrize("rule", FITTING)
def test_a_rule_that_fits_has_no_fault(rule):
    assert faults_of(Index.build([(1, rule)], "scan")) == []


@pytest.mark.parametrize(("rule", "attribute", "column", "what", "suggestion"), FAULTS)
def test_a_fault_is_told_with_a_suggestion(tmp_path, rule, attribute, column, what, suggestion):
    index = Index.build([(7, rule), (8, "age > 3")], "scan")
    index.save(tmp_path)
    for one in (index, Index.open(tmp_path)):
        (found,) = faults_of(one)
        assert (found["attribute"], found["column"]) == (attribute, column)
        assert what in (None, found["what"])
        assert suggestion in (None, found["suggestion"])
        assert (found["n_rules"], found["examples"]) == (1, ["7"])


def test_times_without_a_declared_type_are_not_compared_with_texts():
    rules = [(1, "ts > '2024-01-01'"), (2, "day IN ('2024-01-01')")]
    assert [fault["suggestion"] for fault in faults_of(Index.build(rules, "scan"))] == [
        "declare its type with Schema.from_arrow or from_spark, or write DATE '…' or TIMESTAMP '…'"
    ] * 2
    declared = Index.build(rules, "scan", schema=Schema.from_arrow(COLUMNS))
    assert faults_of(declared) == []
    assert declared.match({"ts": "2024-01-02T00:00:00Z", "day": date(2024, 1, 1)}) == [1, 2]


def test_rules_are_counted_and_only_those_that_use_the_family():
    rules = [(f"r{n:03}", f"(age = '{n % 7}' OR country = 'C{n}') AND price > {n}") for n in range(100)]
    rules += [(f"s{n:03}", f"age > {n}") for n in range(50)] + [("t", "NOT age = '3'"), ("u", "NOT contry = 'x'")]
    found = {fault["attribute"]: fault for fault in faults_of(Index.build(rules))}
    assert found["age"]["n_rules"] == 101
    assert found["age"]["examples"] == ["r000", "r001", "r002"]
    assert (found["contry"]["n_rules"], found["contry"]["examples"]) == (1, ["u"])


def test_changes_since_the_index_was_built_count():
    index = Index.build([(n, "contry = 'x'") for n in range(5)], "scan")
    index.remove([0, 1])
    index.add([(10, "contry = 'y' AND age = '3'"), (11, "exists(items, i -> i.n = 'x')")])
    found = {fault["attribute"]: (fault["n_rules"], fault["examples"]) for fault in faults_of(index)}
    assert found == {"contry": (4, ["2", "3", "4"]), "age": (1, ["10"]), "items.n": (1, ["11"])}


def test_counts_are_those_of_the_texts():
    """Every second attribute of a generated workload is missing; its rules are counted by their texts."""
    generator = workload("demo", seed=2)
    rules = generator.rule_table(300)
    index = Index.build(rules)
    paths = sorted({path[0] for path in index.paths})
    kept = pa.schema([pa.field(name, pa.binary()) for name in paths[::2]])  # of which nothing is known
    single = [Index.build([(1, text)], "scan") for text in rules["expr"].to_pylist()]
    expected = {}
    for one in single:
        for path in one.paths:
            if path[0] not in kept.names:
                expected[path[0]] = expected.get(path[0], 0) + 1
    found: dict[str, int] = {}
    for fault in faults_of(index, kept):
        assert fault["what"] in ("missing", "case")
        found[fault["attribute"].split(".")[0]] = found.get(fault["attribute"].split(".")[0], 0) + fault["n_rules"]
    assert found == expected


def test_strict_is_an_error_and_a_message_names_the_worst():
    index = Index.build([(n, f"missing{n % 8} = 1 OR contry = 'x'") for n in range(16)], "scan")
    with pytest.raises(
        SchemaError, match=r"contry is no column \(16 rules, such as 0; did you mean country\?\), .* 4 more"
    ):
        index.check_columns(COLUMNS, strict=True)
    assert describe_faults(Index.build([(1, "age = 1")], "scan").check_columns(COLUMNS, strict=True)) == ""


def test_a_schema_is_made_of_the_columns_of_arrow_pandas_and_polars():
    polars = pytest.importorskip("polars")
    frame = pd.DataFrame(
        {"n": [1], "x": [0.5], "s": ["a"], "t": [pd.Timestamp("2024-01-01")], "l": [["a"]], "f": [True], "o": [None]}
    )
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    wanted = {
        "n": ("integer", True),
        "x": ("double", True),
        "s": ("string", True),
        "t": ("timestamp", True),
        "l": ("string", False),
        "f": ("boolean", True),
    }
    framed = polars.from_arrow(arrow.drop_columns(["o"]))
    for schema in (
        Schema.from_arrow(arrow),
        Schema.from_arrow(arrow.schema),
        Schema.from_pandas(frame),
        Schema.from_polars(framed),
        Schema.from_polars(framed.lazy()),
        Schema.from_polars(framed.schema),
    ):
        assert {name: (kind.type, kind.single) for name, kind in schema.attributes.items()} == wanted
    nested = Schema.from_arrow(COLUMNS, "Asia/Kolkata")
    assert nested.time_zone == "Asia/Kolkata"
    assert {name: kind.type for name, kind in nested.attributes.items() if "." in name} == {
        "user.age": "integer",
        "user.Name": "string",
        "items.sku": "string",
        "items.n": "integer",
        "`a.b`": "integer",
    }
    assert not nested.attributes["items.n"].single
    with pytest.raises(SchemaError, match="no time zone"):
        Schema.from_arrow(COLUMNS, "Nowhere/Here")


def test_columns_of_numpy_are_refused():
    with pytest.raises(SchemaError, match="columns are a schema or table"):
        Index.build([(1, "a = 1")], "scan").check_columns(np.zeros(3))

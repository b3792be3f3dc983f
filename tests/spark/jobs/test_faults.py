"""Rules beside the columns of a DataFrame: a warning, an error and a table; texts beside declared times."""

from __future__ import annotations

import warnings

import pytest

from ruledex import Index, Schema
from ruledex.errors import RuledexWarning, SchemaError
from ruledex.spark import build_index, check_columns, match

COLUMNS = (
    "country string, age int, ts timestamp, day date, user struct<age: bigint, name: string>, tags array<string>, "
    "items array<struct<sku: string, n: int>>, attributes map<string, double>, v variant, local timestamp_ntz"
)
FITTING = [
    "user.age > 3",
    "tags = 'x'",
    "items.n > 2",
    "attributes.a > 1",
    "v.anything = 'x'",
    "day < ts",
    "local > ts",
]
RULES = [
    *enumerate(FITTING),
    (10, "ts > '2024-01-01'"),
    (11, "age = '18'"),
    (12, "contry = 'IN'"),
    (13, "Country = 'IN' OR contry = 'US'"),
    (14, "user.Age = 3"),
]
FAULTY = {
    "ts": (1, ["10"]),
    "age": (1, ["11"]),
    "contry": (2, ["12", "13"]),
    "Country": (1, ["13"]),
    "user.Age": (1, ["14"]),
}


def by_attribute(table):
    return {row["attribute"]: (row["n_rules"], row["examples"]) for row in table.to_pylist()}


@pytest.fixture(scope="module")
def events(spark):
    return spark.createDataFrame([], COLUMNS)


@pytest.mark.parametrize("shards", [1, 2])
def test_a_build_and_a_match_tell_what_never_fits_once_with_the_number_of_rules(spark, events, tmp_path, shards):
    rules = spark.createDataFrame(RULES, "id long, expr string")
    with pytest.warns(
        RuledexWarning, match=r"contry is no column \(2 rules, such as 12; did you mean country\?\)"
    ) as told:
        report = build_index(rules, tmp_path, shards=shards, events=events)
    assert (len(told), told[0].filename) == (1, __file__)
    assert by_attribute(report.columns) == FAULTY
    assert check_columns(events, tmp_path).equals(report.columns)
    with pytest.warns(RuledexWarning, match=r"age is int, and rules compare it with a string") as told:
        match(events, tmp_path)
    assert (len(told), told[0].filename) == (1, __file__)
    with pytest.raises(SchemaError, match="contry is no column"):
        match(events, tmp_path, strict=True)
    with pytest.raises(SchemaError, match="contry is no column"):
        build_index(rules, tmp_path / "strict", shards=shards, events=events, strict=True)
    assert not (tmp_path / "strict" / "CURRENT").exists()
    assert not list((tmp_path / "strict").glob("versions/*"))


def test_rules_that_fit_say_nothing(spark, events, tmp_path):
    rules = spark.createDataFrame(list(enumerate(FITTING)), "id long, expr string")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build_index(rules, tmp_path, events=events, strict=True).columns.num_rows == 0
        match(events, tmp_path, strict=True)


def test_a_schema_declares_the_columns(events):
    declared = Schema.from_spark(events.schema, "Asia/Kolkata")
    assert declared == Schema.from_spark(events, "Asia/Kolkata")
    assert {name: (kind.type, kind.single) for name, kind in declared.attributes.items()} == {
        "country": ("string", True),
        "age": ("int", True),
        "ts": ("timestamp", True),
        "day": ("date", True),
        "user.age": ("integer", True),
        "user.name": ("string", True),
        "tags": ("string", False),
        "items.sku": ("string", False),
        "items.n": ("int", False),
        "local": ("timestamp", True),
    }


TEXTS = [
    *("2024-01-02", "2024-1-2", "2024-01", "2024", "2024-01-02 10:00", "2024-01-02T10:00:00", "2024-01-02 10:00:00.5"),
    *("2024-01-02 10:00:00Z", "2024-01-02 10:00:00 America/New_York", " 2024-01-02 ", "2024-01-02 1:2:3"),
]


def test_declared_dates_and_times_read_texts_as_spark_does(spark, tmp_path):
    from pyspark.sql import functions

    start = functions.lit("2024-01-01 00:00:00").cast("timestamp")
    events = spark.range(24 * 4).select(
        "id", (start + functions.col("id") * functions.expr("INTERVAL 30 MINUTES")).alias("ts")
    )
    events = events.withColumn("day", functions.to_date("ts"))
    conditions = [
        f"{name} {operator} '{text}'" for text in TEXTS for name in ("ts", "day") for operator in ("=", "<", ">=")
    ] + [
        "ts BETWEEN '2024-1-1 3:00' AND '2024-01-02'",
        "day IN ('2024-1-1', '2024-01-02 10:00')",
        "ts <=> '2024-01-02'",
    ]
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        schema = Schema.from_spark(events.schema, "Asia/Kolkata")
        Index.build(list(enumerate(conditions)), schema=schema).save(tmp_path)
        found = {row.id: set(row.rules) for row in match(events, tmp_path, keep=["id"]).collect()}
        asked = events.selectExpr("id", *(f"{text} AS c{number}" for number, text in enumerate(conditions)))
        spark_says = {row[0]: {n for n, answer in enumerate(row[1:]) if answer} for row in asked.collect()}
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert found == spark_says
    assert sum(map(len, found.values())) > 500

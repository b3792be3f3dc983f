"""Matching in Spark gives what the index gives in a process of its own."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions
from pyspark.testing import assertDataFrameEqual

from ruledex import Index
from ruledex.errors import ArtifactError, RuledexError
from ruledex.spark import match
from ruledex.workloads import workload

RULES = [
    (1, "country = 'IN' AND age >= 18"),
    (2, "device.os = 'ios' OR tags = 'new'", 2.0),
    (3, "country IS NULL"),
    (4, "price * 2 > 9.5 AND day < DATE '2024-05-01'"),
    (5, "seen >= TIMESTAMP '2024-01-01 00:00:00' AND NOT local < TIMESTAMP '2024-01-01 00:00:00'"),
    (6, "attributes.color = 'red'^3 XOR flag"),
]
SCHEMA = (
    "event_id bigint, country string, age int, device struct<os:string,model:string>, tags array<string>, "
    "price decimal(10,2), day date, seen timestamp, local timestamp_ntz, attributes map<string,string>, flag boolean"
)
SOON, LATER = datetime(2024, 1, 1), datetime(2024, 2, 1)  # Spark takes times of the session's zone
EVENTS = [
    (1, "IN", 20, ("ios", "x"), ["new", "old"], Decimal("5.00"), date(2024, 1, 1), None, None, {"color": "red"}, False),
    (2, "US", 17, None, [], Decimal("1.00"), None, None, None, {}, True),
    (3, None, None, ("android", None), None, None, None, None, None, None, None),
    (4, "FR", 5, (None, None), ["new"], Decimal("9.99"), date(2025, 1, 1), SOON, LATER, {"color": "red"}, True),
]
FOUND = {1: [1, 2, 4, 6], 2: [], 3: [3], 4: [2, 5]}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("index")
    Index.build(RULES).save(root)
    return str(root)


@pytest.fixture(scope="module")
def events(spark):
    return spark.createDataFrame(EVENTS, SCHEMA)


def mapping(row):
    """A row as an event of a process of its own."""
    event = row.asDict(recursive=True)
    return event | {"seen": event["seen"] and event["seen"].replace(tzinfo=UTC)}


def test_each_event_has_its_rules_and_keeps_its_columns(root, events):
    found = match(events, root)
    assert found.columns == [*events.columns, "rules"]
    assertDataFrameEqual(found.drop("rules"), events)
    assert {row.event_id: row.rules for row in found.collect()} == FOUND
    index = Index.open(root)
    assert {row.event_id: index.match(mapping(row)) for row in events.collect()} == FOUND


def test_only_the_columns_that_are_named_are_kept(spark, root, events):
    found = events.transform(match, root, keep=["event_id"])
    assertDataFrameEqual(found, spark.createDataFrame(list(FOUND.items()), "event_id bigint, rules array<bigint>"))
    assert match(events, root, keep=[]).columns == ["rules"]


def test_the_best_rules_come_with_their_scores(root, events):
    found = match(events, root, keep=["event_id"], top=2).orderBy("event_id").collect()
    index = Index.open(root)
    for row, event in zip(found, events.orderBy("event_id").collect(), strict=True):
        assert list(zip(row.rules, row.scores, strict=True)) == index.top(mapping(event), 2)


def test_matches_as_rows(spark, root, events):
    found = match(events, root, keep=["event_id"], explode=True)
    rows = [(event, rule) for event, rules in FOUND.items() for rule in rules]
    assertDataFrameEqual(found, spark.createDataFrame(rows, "event_id bigint, rule bigint"))
    ranked = match(events, root, keep=["event_id"], top=1, explode=True)
    assert ranked.columns == ["event_id", "rule", "score"]
    assert ranked.count() == 3


def test_how_many_rules_are_true(spark, root, events):
    found = match(events, root, keep=["event_id"], count=True)
    rows = [(event, len(rules)) for event, rules in FOUND.items()]
    assertDataFrameEqual(found, spark.createDataFrame(rows, "event_id bigint, n_rules bigint"))


def test_columns_that_no_rule_needs_are_not_read(spark, root, events, tmp_path):
    events.withColumn("unused", functions.lit(1)).write.parquet(str(tmp_path / "events"))
    read = spark.read.parquet(str(tmp_path / "events"))
    plan = match(read, root, keep=["event_id"])._jdf.queryExecution().executedPlan().toString()
    schema = plan[plan.index("ReadSchema") :]
    assert "country" in schema
    assert "unused" not in schema
    assert "model" not in schema  # a field of a struct of which rules look at another


def test_parts_of_a_variant_are_read(spark, tmp_path):
    rules = ["v.a.b = 3 AND v.tags = 'x'", "v.a IS NULL", "w > 1.5", "v.`it's` = 1", "u.`'\"` = 1"]
    Index.build(list(enumerate(rules, 1))).save(tmp_path)
    rows = [
        ('{"a":{"b":3},"tags":["y","x"]}', "2", None),
        ('{"tags":[]}', "1", "{}"),
        ('{"it\'s":1,"a":1}', None, '{"\'\\"":1}'),
        (None, "9", "5"),
    ]
    texts = spark.createDataFrame(rows, "v string, w string, u string")
    events = texts.select(*(functions.parse_json(name).alias(name) for name in texts.columns))
    found = [row.rules for row in match(events, str(tmp_path), keep=[]).collect()]
    assert found == [[1, 3], [2], [4, 5], [2, 3]]


def test_ids_may_be_strings(spark, tmp_path):
    Index.build([("b", "a = 1"), ("a", "a > 0")]).save(tmp_path)
    found = match(spark.createDataFrame([(1,), (2,)], "a int"), str(tmp_path))
    rows = [(1, ["a", "b"]), (2, ["a"])]
    assertDataFrameEqual(found, spark.createDataFrame(rows, "a int, rules array<string>"))


def test_empty_inputs_and_columns_without_values(spark, root, events):
    assert match(events.limit(0), root).count() == 0
    nothing = spark.createDataFrame([(1, None)], "event_id bigint, country string")
    assert [row.rules for row in match(nothing, root).collect()] == [[3]]
    unrelated = spark.range(3).withColumnRenamed("id", "other")
    assert [row.rules for row in match(unrelated, root).collect()] == [[3]] * 3
    assert [row.rules for row in match(unrelated, root, keep=[]).collect()] == [[3]] * 3


@pytest.mark.parametrize("name", ["abe", "advertising", "exchange", "intervals", "demo"])
def test_the_papers_rules_match_as_in_a_process_of_their_own(spark, tmp_path, name):
    generator = workload(name, seed=5, **({"n_expressions": 2000} if name == "abe" else {}))
    index = Index.build(generator.rule_table(2000))
    index.save(tmp_path / "index")
    table = generator.event_table(1000)
    pq.write_table(table.append_column("number", pa.array(np.arange(1000))), tmp_path / "events.parquet")
    events = spark.read.parquet(str(tmp_path / "events.parquet")).repartition(3)
    found = match(events, str(tmp_path / "index"), keep=["number"]).orderBy("number").collect()
    assert [row.rules for row in found] == list(index.match_batch(table))
    counted = match(events, str(tmp_path / "index"), keep=["number"], count=True).orderBy("number").collect()
    assert [row.n_rules for row in counted] == index.count(table).tolist()


def test_results_larger_than_one_batch_are_cut(spark, tmp_path):
    Index.build([(i, f"a >= {i % 100}") for i in range(6000)]).save(tmp_path)
    events = spark.range(10_000).select("id", functions.lit(100).alias("a"))
    found = match(events, str(tmp_path), keep=["id"])
    assert found.select(functions.sum(functions.size("rules"))).collect()[0][0] == 60_000_000
    assert match(events.limit(300), str(tmp_path), keep=["id"], explode=True).count() == 1_800_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": ["nowhere"]}, "no column 'nowhere'"),
        ({"count": True, "top": 3}, "neither explode nor top"),
        ({"top": -1}, "top is -1"),
    ],
)
def test_what_cannot_be_asked_is_an_error(root, events, options, message):
    with pytest.raises(RuledexError, match=message):
        match(events, root, **options)


def test_a_column_that_is_called_as_the_result_is_an_error(root, events):
    with pytest.raises(RuledexError, match="a column 'rules', as the result has"):
        match(events.withColumn("rules", functions.lit(1)), root)


def test_a_path_without_an_index_is_an_error_before_anything_runs(events, tmp_path):
    with pytest.raises(ArtifactError):
        match(events, str(tmp_path / "nowhere"))


def test_the_version_is_that_of_the_plan(spark, tmp_path):
    Index.build([(1, "a = 1")]).save(tmp_path)
    events = spark.createDataFrame([(1,)], "a int")
    plan = match(events, str(tmp_path))
    old = Index.open(tmp_path).version
    Index.build([(2, "a = 1")]).save(tmp_path)
    assert plan.collect()[0].rules == [1]
    assert match(events, str(tmp_path)).collect()[0].rules == [2]
    assert match(events, str(tmp_path), version=old).collect()[0].rules == [1]

"""Matching in Spark gives what the index gives in a process of its own."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions
from pyspark.testing import assertDataFrameEqual

from ruledex import Index
from ruledex.errors import ArtifactError, RuledexError
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.spark import match, match_ids, ship
from ruledex.spark.worker.events import mappings
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


def test_arrays_in_a_variant_and_variants_in_arrays_maps_and_structs_are_read(spark, tmp_path):
    rules = ["{}.a = 1", "{}.a.b = 2", "{}.a IS NULL", "{}.a > 6.5", "{}.a = DATE '2024-02-29'"]
    values = [
        [{"a": 1}, {"a": {"b": [2, 3]}}],
        [[{"a": 1}], None, {"a": 7.5}],
        {"a": [{"b": 2}, 1]},
        {"a": "2024-02-29"},
        [],
        "text",
        None,
    ]
    texts = spark.createDataFrame([(n, json.dumps(value)) for n, value in enumerate(values)], "n int, text string")
    made = {
        "v": "parse_json(text)",
        "within": "named_struct('v', parse_json(text), 'n', n)",
        "list": "array(parse_json(text), NULL)",
        "map": "map('v', parse_json(text))",
        "deep": "array(named_struct('v', array(parse_json(text))))",
    }
    events = texts.selectExpr("n", *(f"{value} AS {name}" for name, value in made.items()))
    paths = ["v", "within.v", "list", "map.v", "deep.v"]
    texts_of_rules = [(f"{path} {n}", rule.format(path)) for path in paths for n, rule in enumerate(rules)]
    plain = [{"v": v, "within": {"v": v}, "list": [v], "map": {"v": v}, "deep": [{"v": [v]}]} for v in values]
    # A struct that is asked for itself is taken whole, and what is in it with it.
    for name, more in {"parts": [], "whole": [("whole", "within IS NOT NULL")]}.items():
        index = Index.build([*texts_of_rules, *more])
        index.save(tmp_path / name)
        expected = {n: index.match(event) for n, event in enumerate(plain)}
        found = match(events, tmp_path / name, keep=["n"])
        assert {row.n: row.rules for row in found.collect()} == expected
        weighted = match(events, tmp_path / name, keep=["n"], top=99, weights={"v.a": 2})
        assert {row.n: sorted(row.rules) for row in weighted.collect()} == expected
        as_column = match_ids(tmp_path / name, *made).alias("rules")
        assert {row.n: row.rules for row in events.select("n", as_column).collect()} == expected


@pytest.mark.parametrize("kind", ["map", "variant"])
def test_an_event_may_be_a_map_or_a_variant_with_many_attributes(spark, tmp_path, kind):
    n_attributes = 40
    rules = [(number, f"attributes.a{number} = {number % 3}") for number in range(n_attributes)]
    Index.build([*rules, (100, "attributes.a1 = 1 AND attributes.a2 IS NULL")]).save(tmp_path)
    events = [{f"a{number}": number % 3 for number in range(first, n_attributes, 7)} for first in range(7)]
    rows = [(place, json.dumps(event)) for place, event in enumerate(events)]
    text = spark.createDataFrame(rows, "event_id bigint, text string")
    make = {"map": "from_json(text, 'map<string,bigint>')", "variant": "parse_json(text)"}[kind]
    found = match(text.selectExpr("event_id", f"{make} AS attributes"), str(tmp_path), keep=["event_id"])
    expected = {place: [*range(place, n_attributes, 7), *([100] if place == 1 else [])] for place in range(7)}
    assert {row.event_id: row.rules for row in found.collect()} == expected


def test_ids_may_be_strings(spark, tmp_path):
    Index.build([("b", "a = 1"), ("a", "a > 0")]).save(tmp_path)
    found = match(spark.createDataFrame([(1,), (2,)], "a int"), str(tmp_path))
    rows = [(1, ["a", "b"]), (2, ["a"])]
    assertDataFrameEqual(found, spark.createDataFrame(rows, "a int, rules array<string>"))


TYPES = {
    "truth": ("boolean", "true", "truth"),
    "tiny": ("tinyint", "-3", "tiny = -3"),
    "small": ("smallint", "300", "small BETWEEN 299 AND 301"),
    "whole": ("int", "7", "whole % 4 = 3"),
    "large": ("bigint", "9007199254740993", "large = 9007199254740993"),
    "single": ("float", "0.5", "single < 0.75"),
    "double": ("double", "1e300", "double > 1.0"),
    "exact": ("decimal(38,18)", "'0.100000000000000001'", "exact > 0.1"),
    "text": ("string", "'héllo'", "text LIKE 'h%o'"),
    "bytes": ("binary", "X'00FF'", "bytes IS NOT NULL"),
    "day": ("date", "DATE '2024-02-29'", "day = DATE '2024-02-29'"),
    "moment": ("timestamp", "TIMESTAMP '2024-02-29 12:00:00+02:00'", "moment = TIMESTAMP '2024-02-29 10:00:00'"),
    "naive": ("timestamp_ntz", "TIMESTAMP_NTZ '2024-02-29 12:00:00'", "naive >= TIMESTAMP '2024-02-29 12:00:00'"),
    "seconds": ("interval day to second", "INTERVAL '1 02:03:04' DAY TO SECOND", None),
    "list": ("array<int>", "array(1, NULL, 5)", "list > 4 AND list < 2"),
    "nested": ("array<array<string>>", "array(array('x'), NULL)", None),
    "items": ("array<struct<x:int,y:string>>", "array(named_struct('x', 1, 'y', 'b'))", "items.y = 'b'"),
    "pairs": ("map<string,int>", "map('k', 2)", "pairs.k = 2"),
    "deep": ("struct<m:map<string,struct<z:decimal(5,2)>>>", "named_struct('m', map('k', named_struct('z', 1.50)))",
             "deep.m.k.z = 1.5"),
    "nothing": ("void", "NULL", "nothing IS NULL"),
}  # fmt: skip


@pytest.fixture(scope="module")
def of_all_types(spark):
    """An event with a value of every type, one with nulls alone, and one without any row, in this order."""
    cast = [f"CAST({value} AS {kind}) AS {name}" for name, (kind, value, _) in TYPES.items()]
    empty = [f"CAST(NULL AS {kind}) AS {name}" for name, (kind, _, _) in TYPES.items()]
    return spark.sql(f"SELECT 1L AS id, {', '.join(cast)} UNION ALL SELECT 2L, {', '.join(empty)}")


@pytest.fixture(params=[1, 1000], ids=["packed", "plain"])
def least_packed(request, monkeypatch):
    """Columns go as elements of lists from so many of a type on."""
    monkeypatch.setattr("ruledex.spark.worker.columns.LEAST_PACKED", request.param)


@pytest.mark.usefixtures("least_packed")
def test_every_type_is_kept_as_it_is_and_read(spark, of_all_types, tmp_path):
    rules = {name: rule for name, (_, _, rule) in TYPES.items() if rule is not None}
    Index.build(list(rules.items())).save(tmp_path)
    found = match(of_all_types, tmp_path)
    assert found.schema[:-1] == of_all_types.schema
    assertDataFrameEqual(found.drop("rules"), of_all_types)
    assertDataFrameEqual(match(of_all_types, tmp_path, explode=True).filter("id = 2").drop("rule"),
                         of_all_types.filter("id = 2"))  # fmt: skip
    expected = [(1, sorted(rules)), (2, ["nothing"])]
    assertDataFrameEqual(found.select("id", "rules"), spark.createDataFrame(expected, "id bigint, rules array<string>"))
    without = match(of_all_types.filter("id > 2"), tmp_path)
    assert without.schema == found.schema
    assertDataFrameEqual(without, found.limit(0))


@pytest.mark.usefixtures("least_packed")
def test_columns_that_are_null_throughout(spark, of_all_types, tmp_path):
    Index.build([(n, f"{name} IS NULL") for n, name in enumerate(TYPES)]).save(tmp_path)
    nulls = of_all_types.filter("id = 2")
    expected = spark.createDataFrame([(2, list(range(len(TYPES))))], "id bigint, rules array<bigint>")
    assertDataFrameEqual(match(nulls, tmp_path, keep=["id"]), expected)


def test_intervals_of_months_cannot_be_read(spark, tmp_path):
    Index.build([(1, "a = 1")]).save(tmp_path)
    events = spark.sql("SELECT 1 AS a, map('x', array(INTERVAL '1-2' YEAR TO MONTH)) AS m")
    with pytest.raises(RuledexError, match="'m' has intervals of months"):
        match(events, tmp_path)
    assert [row.rules for row in match(events, tmp_path, keep=["a"]).collect()] == [[1]]


def test_a_variant_may_be_kept(spark, tmp_path):
    Index.build([(1, "v.a = 1")]).save(tmp_path)
    events = spark.sql("""SELECT parse_json('{"a":1,"b":[null]}') AS v""")
    (row,) = match(events, tmp_path).selectExpr("to_json(v) AS v", "rules").collect()
    assert (row.v, row.rules) == ('{"a":1,"b":[null]}', [1])


WEIGHTED = [(1, "color = 'red'"), (2, "m.size > 3"), (3, "color = 'blue' OR m.size > 3", 0.5)]


@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        ("map<string,double>", [{"color": 2.0}, {"m.size": 0.0, "color": None}, None]),
        ("map<string,map<string,double>>", [{"color": {"red": 3.0, "blue": 5.0}}, {}, None]),
        ("struct<color:map<string,int>,`m.size`:decimal(3,1)>", [({"red": 7}, Decimal("1.5")), (None, None), None]),
    ],
)
def test_weights_from_a_column_change_scores(spark, tmp_path, kind, weights):
    index = Index.build(WEIGHTED)
    index.save(tmp_path)
    rows = [("red", {"size": 5}), ("blue", {"size": 5}), ("red", {"size": 1})]
    values = [(n, *row, weight) for n, (row, weight) in enumerate(zip(rows, weights, strict=True))]
    events = spark.createDataFrame(values, f"n int, color string, m map<string,int>, w {kind}")
    found = match(events, tmp_path, keep=["n"], top=2, weights="w").orderBy("n").collect()
    for row, (color, m), given in zip(found, rows, weights, strict=True):
        given = dict(zip(("color", "m.size"), given, strict=True)) if isinstance(given, tuple) else given
        plain = {
            name: float(weight) if isinstance(weight, Decimal) else weight
            for name, weight in (given or {}).items()
            if weight is not None
        }
        assert list(zip(row.rules, row.scores, strict=True)) == index.top({"color": color, "m": m}, 2, weights=plain)


def test_weights_of_all_events(spark, tmp_path):
    index = Index.build([(1, "a = 1"), (2, "b = 1"), (3, "v.x = 1")])
    index.save(tmp_path)
    events = spark.sql("""SELECT 1 AS a, 1 AS b, parse_json('{"x":1}') AS v""")
    found = match(events, tmp_path, keep=[], top=2, weights={"b": {1: 2.0}, "v.x": 3}, explode=True).collect()
    assert [(row.rule, row.score) for row in found] == [(3, 3.0), (2, 2.0)]


def test_a_weight_that_cannot_be_is_an_error(spark, tmp_path):
    Index.build([(1, "a = 1")]).save(tmp_path)
    events = spark.sql("SELECT 1 AS a, map('a', -1) AS w")
    with pytest.raises(PythonException, match="the weight of a is -1"):
        match(events, tmp_path, top=1, weights="w").collect()


def test_a_shipped_index_needs_no_path(spark, tmp_path):
    version = Index.build([(1, "a = 1")]).save(tmp_path / "index")
    shipped = ship(spark, tmp_path / "index")
    Index.build([(2, "a = 1")]).save(tmp_path / "index")
    assert ship(spark, tmp_path / "index", version) == shipped
    (tmp_path / "index").rename(tmp_path / "elsewhere")
    events = spark.sql("SELECT 1 AS a")
    assert [row.rules for row in match(events, shipped).collect()] == [[1]]
    assert [row.rules for row in events.select(match_ids(shipped, "a").alias("rules")).collect()] == [[1]]
    with pytest.raises(RuledexError, match="already been shipped"):
        ship(spark, shipped)
    with pytest.raises(ArtifactError, match="was not shipped in this session"):
        match(events, "session:" + "0" * 64)


def test_an_index_too_large_to_ship_is_refused(spark, tmp_path, monkeypatch):
    Index.build([(1, "too_large = 1")]).save(tmp_path)
    monkeypatch.setattr("ruledex.spark.worker.distribution.MOST_BYTES", 1000)
    with pytest.raises(RuledexError, match="too much to send to every worker"):
        ship(spark, tmp_path)


def test_rules_as_a_function_of_columns(spark, root, events):
    as_column = match_ids(root, *events.columns).alias("rules")
    assert {row.event_id: row.rules for row in events.select("event_id", as_column).collect()} == FOUND
    renamed = match_ids(root, functions.lit("IN").alias("country"), functions.lit(18).alias("age"))
    assert [row[0] for row in spark.range(2).select(renamed).collect()] == [[1], [1]]
    assert events.where(functions.size(match_ids(root, "country")) > 0).count() == 1
    with pytest.raises(RuledexError, match="needs at least one column"):
        match_ids(root)


def test_a_function_of_columns_asks_only_the_rules_that_a_filter_admits(spark, tmp_path):
    Index.build([(1, "a = 1", 0.0, {"team": "x"}), (2, "a = 1", 0.0, {"team": "y"})]).save(tmp_path)
    made = match_ids(tmp_path, functions.lit(1).alias("a"), where="team = 'y'")
    assert [row[0] for row in spark.range(1).select(made).collect()] == [[2]]
    with pytest.raises(RuledexError):
        match_ids(tmp_path, "a", where="team =")


def test_a_function_of_columns_says_when_a_batch_is_too_large(spark, tmp_path):
    Index.build([(i, f"a >= {i % 100}") for i in range(6000)]).save(tmp_path)
    events = spark.range(0, 8000, numPartitions=1).select(functions.lit(100).alias("a"))
    with pytest.raises(PythonException, match="48,000,000 matches, too many for one Arrow batch"):
        events.select(functions.size(match_ids(tmp_path, "a"))).collect()


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
    sample = Random(5)
    texts = {rule_id: index.rule(rule_id).text for rule_id in sample.sample(index.ids.to_pylist(), 100)}
    trees = {rule_id: Schema().bind(parse(text), text) for rule_id, text in texts.items()}
    for row in sample.sample(found, 20):
        (event,) = mappings(table.slice(row.number, 1))
        true = [rule_id for rule_id, tree in trees.items() if truth_of(tree, event, Schema()) is True]
        assert sorted(set(row.rules) & texts.keys()) == sorted(true)
    counted = match(events, str(tmp_path / "index"), keep=["number"], count=True).orderBy("number").collect()
    assert [row.n_rules for row in counted] == index.count(table).tolist()


def test_results_larger_than_one_batch_are_cut(spark, tmp_path):
    Index.build([(i, f"a >= {i % 100}") for i in range(6000)]).save(tmp_path)
    events = spark.range(10_000).select("id", functions.lit(100).alias("a"))
    found = match(events, str(tmp_path), keep=["id"])
    assert found.select(functions.sum(functions.size("rules"))).collect()[0][0] == 60_000_000
    assert match(events.limit(300), str(tmp_path), keep=["id"], explode=True).count() == 1_800_000
    wide = events.limit(10).select("a", functions.repeat(functions.lit("x"), 2000).alias("text"))
    assert match(wide, str(tmp_path), keep=["text"], explode=True).count() == 60_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": ["nowhere"]}, "no column 'nowhere'"),
        ({"count": True, "top": 3}, "cannot be combined with explode or top"),
        ({"top": -1}, "top is -1"),
        ({"columns": ["nowhere"]}, "no column 'nowhere'"),
        ({"weights": {"age": 2}}, "only the best rules have scores"),
        ({"weights": "nowhere", "top": 1}, "no column 'nowhere'"),
        ({"weights": "price", "top": 1}, "weights are a map or a struct"),
        ({"weights": {"age": -2}, "top": 1}, "finite and not negative"),
        ({"keep": "event_id"}, r"give columns as a list: \['event_id'\]"),
        ({"keep": ["event_id", "event_id"]}, "'event_id' is named twice"),
        ({"top": 1, "rank": "best"}, "rank is 'best'"),
    ],
)
def test_what_cannot_be_asked_is_an_error(root, events, options, message):
    with pytest.raises(RuledexError, match=message):
        match(events, root, **options)


def test_a_column_that_is_called_as_the_result_is_an_error(spark, root, events):
    with pytest.raises(RuledexError, match="a column 'rules', and so has the result"):
        match(events.withColumn("rules", functions.lit(1)), root)
    capital = events.withColumn("Rules", functions.lit(1))
    with pytest.raises(RuledexError, match="a column 'Rules', and so has the result"):
        match(capital, root)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert match(capital, root).select("rules").count() == len(EVENTS)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_a_name_that_several_columns_have_is_an_error_where_it_is_needed(spark, tmp_path):
    Index.build([(1, "a = 1")]).save(tmp_path)
    events = spark.sql("SELECT 1 AS a, 2 AS b, 3 AS b, 4 AS c")
    assert [tuple(row) for row in match(events, tmp_path, keep=["a", "c"]).collect()] == [(1, 4, [1])]
    for ambiguous, keep in ((events, None), (events, ["b"]), (spark.sql("SELECT 1 AS a, 2 AS A, 4 AS c"), ["c"])):
        with pytest.raises(RuledexError, match=r"several columns named '[ab]'"):
            match(ambiguous, tmp_path, keep=keep)


def test_columns_may_have_any_name(spark, tmp_path):
    names = ["a.b", "c`d", "e f", "x'y\"z", "É😀", "rule", "kept", "event", "time", "weights", "n_rules", "number"]
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    rules = [f"{name} = {n} AND s.{name} = {n}" for n, name in enumerate(quoted)]
    Index.build(list(enumerate(rules))).save(tmp_path)
    columns = ", ".join(f"{n} AS {name}" for n, name in enumerate(quoted))
    events = spark.sql(f"SELECT *, struct(*) AS s FROM (SELECT {columns})")
    found = match(events, tmp_path)
    assert found.columns == [*names, "s", "rules"]
    assert found.first().rules == list(range(len(names)))
    assert match(events, tmp_path, keep=["c`d"]).first().asDict() == {"c`d": 1, "rules": list(range(len(names)))}


def test_dates_that_python_has_none_for(spark, tmp_path):
    Index.build([(1, "d > DATE '2024-01-01'")]).save(tmp_path)
    events = spark.sql("SELECT make_date(200000, 1, 1) AS d")
    assert match(events, tmp_path, keep=[]).first().rules == [1]
    with pytest.raises(PythonException, match="can only have dates and times of the years 1 to 9999"):
        match(events, tmp_path, keep=[], top=1, weights={"d": 2}).collect()


def test_results_are_plain_tables_to_spark(spark, tmp_path):
    Index.build([(1, "id >= 0"), (2, "id % 2 = 0"), (3, "before = 2")]).save(tmp_path)
    events = spark.range(6)
    again = match(match(events, tmp_path).withColumnRenamed("rules", "before"), tmp_path)
    assert all(row.rules == row.before + ([3] if 2 in row.before else []) for row in again.collect())
    rows = match(events.join(spark.range(4), "id"), tmp_path, explode=True)
    assert rows.alias("one").join(rows.alias("other"), "id").count() == 2 * 1 + 2 * 4
    assert match(events.where("id > 1").limit(3), tmp_path).where("id < 9").limit(2).count() == 2
    assert (
        match(events.repartition(8).where("id > 3"), tmp_path, keep=[], count=True).agg({"n_rules": "sum"}).first()[0]
        == 3
    )


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


def test_any_field_is_looked_for_in_all_columns(spark, events, tmp_path):
    rules = [
        (1, "* = 'red'"),
        (2, "* LIKE 'n%' AND age = 20"),
        (3, "* IS NULL"),
        (4, "NOT lower(*) = 'us'"),
        (5, "* = '{}'"),
    ]
    Index.build(rules).save(tmp_path)
    texts = events.withColumn("v", functions.parse_json(functions.lit('{"a": ["{}", 1]}')))
    for given in (events, texts):
        found = {row.event_id: row.rules for row in match(given, str(tmp_path), keep=["event_id"]).collect()}
        expected = [mapping(row) | ({"v": {"a": ["{}", 1]}} if given is texts else {}) for row in events.collect()]
        assert found == {
            event["event_id"]: [number for number, rule in rules if truth_of(parse(rule), event) is True]
            for event in expected
        }
    wide = spark.range(3).select(*(functions.concat(functions.lit("x"), "id").alias(f"c{n}") for n in range(20)))
    Index.build([(1, "* = 'x1'"), (2, "c3 = 'x2'")]).save(tmp_path / "wide")
    assert [row.rules for row in match(wide, str(tmp_path / "wide"), keep=["c0"]).collect()] == [[], [1], [2]]


def test_now_is_the_time_of_the_query_or_a_given_one(spark, tmp_path):
    Index.build([(1, "seen > now() - INTERVAL 1 DAY"), (2, "seen <= now()")]).save(tmp_path / "index")
    table = spark.sql("SELECT timestamp'2024-01-05 00:00:00 UTC' AS seen UNION ALL SELECT current_timestamp()")
    root = str(tmp_path / "index")
    assert sorted(row.rules for row in match(table, root).collect()) == [[1, 2], [2]]
    given = match(table, root, now="2024-01-03T00:00:00Z")
    assert [row.rules for row in given.collect()] == [[1], [1]]
    assert [row.n_rules for row in match(table, root, count=True, now=datetime(2024, 1, 3)).collect()] == [1, 1]
    assert sorted(row.rules for row in match(table, root, top=2, keep=[]).collect()) == [[1, 2], [2]]
    assert sorted(row.ids for row in table.select(match_ids(root, "seen").alias("ids")).collect()) == [[1, 2], [2]]
    with pytest.raises(RuledexError, match="now is a time such as"):
        match(table, root, now="soon")

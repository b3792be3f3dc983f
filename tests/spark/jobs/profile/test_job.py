"""Statistics of events by Spark: counts of what is there, whatever the types and the partitioning."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import functions

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.events.statistics import EventStatistics
from ruledex.spark import profile

SCHEMA = (
    "n int, price decimal(10,2), ratio double, country string, flag boolean, day date, seen timestamp, "
    "local timestamp_ntz, tags array<string>, device struct<os:string,screens:array<struct<width:int>>>, "
    "labels map<string,string>, raw binary, nothing string"
)
MOMENT = datetime(2024, 1, 1)
FULL = (7, Decimal("1.50"), 0.5, "IN", True, date(2024, 1, 1), MOMENT, MOMENT, ["a", "b"])
ROWS = [
    (*FULL, ("ios", [(320,), (640,)]), {"colour": "red"}, b"x", None),
    (*FULL, ("ios", []), {"colour": "blue", "size": "m"}, None, None),
    (8, None, float("nan"), "US", None, None, None, None, [], (None, None), {}, None, None),
    (None, None, None, None, None, None, None, None, None, None, None, None, None),
]


@pytest.fixture(scope="module")
def statistics(spark):
    return profile(spark.createDataFrame(ROWS, SCHEMA).repartition(3))


def counts(statistics, *path):
    """For each type of an attribute, its values and how many there are."""
    found = statistics.attributes[path]
    return {values.type: dict(values.heavy) for values in found.values}


def test_attributes_are_counted_by_events(statistics):
    present = {".".join(path): found.n_present for path, found in statistics.attributes.items()}
    assert statistics.n_events == 4
    assert statistics.is_complete
    assert present == {
        **dict.fromkeys(("n", "country", "labels", "device", "tags"), 3) | {"tags": 2},
        **dict.fromkeys(("price", "flag", "day", "seen", "local", "device.os", "labels.colour"), 2),
        "ratio": 2,
        "device.screens": 1,
        "device.screens.width": 1,
        "labels.size": 1,
        "raw": 1,
        "nothing": 0,
    }
    assert statistics.attributes["tags",].n_empty == 1
    assert statistics.attributes["device", "screens"].n_empty == 1


def test_values_are_those_of_events_in_python(statistics):
    moment = MOMENT.replace(tzinfo=UTC)
    assert counts(statistics, "n") == {"int64": {7: 2, 8: 1}}
    assert counts(statistics, "price") == {"decimal128(10, 2)": {Decimal("1.50"): 2}}
    assert counts(statistics, "ratio") == {"double": {0.5: 2}}
    assert counts(statistics, "country") == {"large_string": {"IN": 2, "US": 1}}
    assert counts(statistics, "flag") == {"bool": {True: 2}}
    assert counts(statistics, "day") == {"date32[day]": {date(2024, 1, 1): 2}}
    assert counts(statistics, "seen") == {"timestamp[us, tz=UTC]": {moment: 2}}
    assert counts(statistics, "local") == {"timestamp[us]": {MOMENT: 2}}
    assert counts(statistics, "tags") == {"large_string": {"a": 2, "b": 2}}
    assert counts(statistics, "device", "screens", "width") == {"int64": {320: 1, 640: 1}}
    assert counts(statistics, "labels", "colour") == {"large_string": {"red": 1, "blue": 1}}
    assert counts(statistics, "raw") == {"other": {}}


def test_what_was_saved_opens_again(statistics, tmp_path):
    statistics.save(tmp_path / "statistics.json")
    assert EventStatistics.open(tmp_path / "statistics.json") == statistics


def test_a_variant_s_values_are_counted_by_type(spark):
    texts = ['{"a": 1, "b": [1.5, 2.5]}', '{"a": "x", "b": []}', '{"a": {"c": true}}', None]
    frame = spark.createDataFrame([(text,) for text in texts], "text string")
    found = profile(frame.select(functions.parse_json("text").alias("v")))
    assert counts(found, "v", "a") == {"int64": {1: 1}, "large_string": {"x": 1}, "other": {}}
    assert counts(found, "v", "b") == {"double": {1.5: 1, 2.5: 1}}
    assert counts(found, "v", "a", "c") == {"bool": {True: 1}}
    assert (found.attributes["v", "a"].n_present, found.attributes["v", "b"].n_empty) == (3, 1)


def test_variants_within_arrays_maps_and_structs_are_opened(spark):
    variant = """parse_json('{"a":[1,2],"b":"x"}')"""
    events = spark.sql(f"SELECT array({variant}) AS l, map('k', {variant}) AS m, struct({variant} AS v, 1 AS n) AS s")
    found = profile(events)
    for above in (("l",), ("m", "k"), ("s", "v")):
        assert counts(found, *above, "a") == {"int64": {1: 1, 2: 1}}
        assert counts(found, *above, "b") == {"large_string": {"x": 1}}
    assert counts(found, "s", "n") == {"int64": {1: 1}}
    assert not any({"value", "metadata"} & set(path) for path in found.attributes)


def test_a_stream_has_no_end_to_count_to(spark):
    with pytest.raises(RuledexError, match="the events are a stream"):
        profile(spark.readStream.format("rate").load())


def test_quantiles_are_near_the_truth_whatever_the_partitions(spark):
    events = spark.range(20_000).select(((functions.col("id") * 7919) % 20_000).alias("x"))
    for n_partitions in (1, 5):
        found = profile(events.repartition(n_partitions), quantiles=200).attributes["x",]
        (values,) = found.values
        for wanted, got in zip((5_000, 10_000, 15_000), values.quantiles(4), strict=True):
            assert abs(got - wanted) < 600


def test_only_the_columns_that_are_named_are_looked_at(spark):
    events = spark.createDataFrame(ROWS, SCHEMA)
    assert list(profile(events, ["n", "device"]).attributes) == [
        ("device",),
        ("device", "os"),
        ("device", "screens"),
        ("device", "screens", "width"),
        ("n",),
    ]
    with pytest.raises(RuledexError, match="no column 'nowhere'"):
        profile(events, ["nowhere"])
    with pytest.raises(RuledexError, match="heavy must be at least 1"):
        profile(events, heavy=0)


def test_no_events_have_no_statistics(spark):
    assert profile(spark.createDataFrame([], SCHEMA)) == EventStatistics(0, {})


def test_an_index_is_built_by_them(spark):
    events = spark.range(1000).selectExpr("id % 2 AS common", "id AS rare")
    index = Index.build([(1, "common = 1 AND rare = 5")], "sparse", profile(events))
    assert index.match({"common": 1, "rare": 5}) == [1]

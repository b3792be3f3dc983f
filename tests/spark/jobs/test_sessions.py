"""The session of a caller: its time zone, its kinds of frames, its watermarks, its log, and jobs that it cancels."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from datetime import datetime

import pytest
from pyspark.sql import functions

from ruledex import Index, Schema
from ruledex.errors import InputError, RuledexError, RuledexWarning
from ruledex.spark import backtest, build_index, coverage, match, match_ids, profile, ratify
from tests.spark.conftest import watermarked_counts, write_minutes

RULES = [(1, "hour(seen) BETWEEN 9 AND 17"), (2, "seen >= TIMESTAMP '2024-01-01 00:00:00'"), (3, "n = 1")]


@contextmanager
def zone(spark, name):
    """The session in another time zone."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", name)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(scope="module")
def rules(spark):
    return spark.createDataFrame(RULES, "id long, expr string")


@pytest.fixture(scope="module")
def moments(spark):
    """An event per hour around the new year in New York."""
    start = int(datetime(2023, 12, 31).timestamp())
    seen = functions.timestamp_seconds(functions.col("id") * 3600 + start)
    return spark.range(60).select("id", seen.alias("seen"), functions.lit(1).alias("n"))


def by_spark(events, text):
    return {row.id for row in events.where(text).collect()}


def by_rule(found):
    rows = found.collect()
    return {rule: {row.id for row in rows if row.rule == rule} for rule in (1, 2)}


# Time zones.


def test_an_index_is_built_in_the_zone_of_the_session_and_answers_as_its_filters_do(spark, rules, moments, tmp_path):
    with zone(spark, "America/New_York"), warnings.catch_warnings():
        warnings.simplefilter("error")
        build_index(rules, tmp_path)
        assert Index.open(tmp_path).schema.time_zone == "America/New_York"
        found = by_rule(match(moments, tmp_path, keep=["id"], explode=True))
        assert found == {number: by_spark(moments, text) for number, text in RULES[:2]}
        assert 0 < len(found[1]) < 60
        assert 0 < len(found[2]) < 60


def test_the_zone_of_a_schema_comes_first_and_an_offset_has_no_name(spark, rules, tmp_path):
    with zone(spark, "Asia/Kolkata"):
        build_index(rules, tmp_path / "given", schema=Schema(time_zone="Europe/Berlin"))
    with zone(spark, "+05:30"):
        build_index(rules, tmp_path / "offset")
    assert Index.open(tmp_path / "given").schema.time_zone == "Europe/Berlin"
    assert Index.open(tmp_path / "offset").schema.time_zone == "UTC"


def test_another_zone_is_told_when_a_match_is_planned_if_rules_depend_on_it(spark, moments, tmp_path):
    Index.build(RULES).save(tmp_path / "times")
    Index.build([(3, "id = 1"), (4, "exists(id, i -> i = 1)")]).save(tmp_path / "others")
    times = tmp_path / "times"
    with zone(spark, "America/New_York"):
        told = "session is America/New_York, and that of the index UTC"
        with pytest.warns(RuledexWarning, match=told) as found:
            match(moments, times)
        assert found[0].filename == __file__
        with pytest.warns(RuledexWarning, match=told):
            match_ids(times, "seen", session=spark)
        with pytest.warns(RuledexWarning, match=told):
            coverage(times, moments)
        with pytest.warns(RuledexWarning, match=told):
            backtest(times, times, moments)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            match(moments, tmp_path / "others")
    with zone(spark, "Etc/UTC"), warnings.catch_warnings():
        warnings.simplefilter("error")
        match(moments, times)


# Frames and columns.


def test_a_frame_of_pandas_on_spark_is_taken_by_every_job(spark, tmp_path):
    import pyspark.pandas  # noqa: F401  # adds pandas_api

    rules = spark.createDataFrame([(1, "n = 1"), (2, "n > 1")], "id long, expr string")
    events = spark.range(3).withColumnRenamed("id", "n").pandas_api()
    assert build_index(rules.pandas_api(), tmp_path).n_rules == 2
    assert sorted(tuple(row) for row in match(events, tmp_path).collect()) == [(0, []), (1, [1]), (2, [2])]
    assert coverage(tmp_path, events).totals().n_without == 1
    assert backtest(tmp_path, tmp_path, events).count() == 2
    assert profile(events).n_events == 3
    assert ratify(tmp_path, events).passed


def test_other_frames_and_columns_that_are_no_names_are_refused_with_a_hint(spark, tmp_path):
    import pandas as pd

    Index.build([(1, "n = 1")]).save(tmp_path)
    with pytest.raises(InputError, match=r"the events are a pandas\.\S*DataFrame, not a Spark DataFrame: make one"):
        match(pd.DataFrame({"n": [1]}), tmp_path)
    with pytest.raises(InputError, match=r"the rules are a list"):
        build_index([(1, "n = 1")], tmp_path / "none")
    events = spark.range(1).withColumnRenamed("id", "n")
    with pytest.raises(RuledexError, match=r"given by their names, not as .*Column.*withColumn first"):
        match(events, tmp_path, keep=[functions.col("n")])


# Builds that are cancelled.


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_build_that_is_interrupted_or_cancelled_leaves_no_staging(
    spark, rules, tmp_path, monkeypatch, remote, shards
):
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    root = f"dir::file://{tmp_path}/root" if remote else tmp_path / "root"

    def interrupt(stage):
        if stage == "merge":
            raise KeyboardInterrupt

    def cancel(stage):
        if stage == "merge":
            spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs("tests: a build")

    with pytest.raises(KeyboardInterrupt):
        build_index(rules, root, shards=shards, progress=interrupt)
    assert left(tmp_path / "root") == []
    spark.sparkContext.setJobGroup("tests: a build", "a build that is cancelled")
    try:
        with pytest.raises(Exception, match="cancelled"):
            build_index(rules, root, shards=shards, progress=cancel)
        assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") == "tests: a build"
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert left(tmp_path / "root") == []


def left(root):
    """Files of builds that are not done."""
    return [path for path in (root / "staging").rglob("*") if path.is_file()]


# Streams.


def test_watermarks_pass_through_a_match(spark, tmp_path):
    Index.build([(1, "n >= 0")]).save(tmp_path / "index")
    write_minutes(tmp_path / "events", 4)
    for options in ({}, {"keep": ["seen"]}, {"explode": True}, {"count": True}, {"top": 1}, {"metrics": "found"}):
        counts = watermarked_counts(spark, tmp_path / "events", tmp_path / "index", **options)
        assert counts == [1, 1], options  # of the minutes that are over, by the watermark


# The log.


def test_rules_that_spark_refuses_are_found_without_a_word_in_the_log(spark, tmp_path, capfd, caplog):
    Index.build([(1, "app = 5"), (2, "tags = 'x'"), (3, "n = 1")]).save(tmp_path)
    events = spark.sql("SELECT '4.9' AS app, array('x') AS tags, 1L AS n")
    capfd.readouterr()
    found = ratify(tmp_path, events)
    assert (len(found.refusals), found.passed) == (2, True)
    assert [record for record in caplog.records if record.name.endswith("QueryContextLogger")] == []

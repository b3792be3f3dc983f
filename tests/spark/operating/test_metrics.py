"""Metrics of a match: by an Observation in batch, in the progress of a stream, and in the log of the driver."""

from __future__ import annotations

import json
import logging
import time

import pytest
from pyspark.sql import Observation, functions

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.spark import match

SHAPES = [{}, {"explode": True}, {"count": True}, {"top": 1}, {"top": 1, "explode": True}]
N_EVENTS = 40


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    Index.build([(1, "n < 10", 2.0), (2, "n < 5", 1.0)]).save(folder)
    return folder


@pytest.fixture(scope="module")
def events(spark):
    """Events of which the last half, in partitions of their own, match nothing. No column may be null."""
    columns = functions.col("id").alias("n"), functions.struct(functions.col("id").alias("inner")).alias("nested")
    return spark.range(N_EVENTS, numPartitions=4).select(*columns)


def plain(frame):
    return sorted(map(tuple, frame.collect()))


@pytest.mark.parametrize("options", SHAPES)
@pytest.mark.parametrize("texts", [False, True])
def test_an_observation_has_the_metrics_and_the_result_is_as_without(spark, index, events, tmp_path, options, texts):
    if texts:
        index = tmp_path
        Index.build([("one", "n < 10", 2.0), ("two", "n < 5", 1.0)]).save(index)
    seen = Observation("ruledex")
    found = match(events, index, metrics=seen, **options)
    without = match(events, index, **options)
    assert found.schema == without.schema
    assert plain(found) == plain(without)
    metrics = seen.get
    assert metrics.pop("bytes") > 0
    assert metrics == {
        "events": N_EVENTS,
        "matches": 10 if "top" in options else 15,
        "by_value": 0,
        "version": Index.open(index).version,
        "refused": 0,
        "set_aside": 0,
        "reason": None,
    }


def test_events_that_match_nothing_are_counted_and_no_events_are_none(spark, index, events):
    for chosen, n_events in (("n >= 20", 20), ("n < 0", 0)):
        seen = Observation()
        assert match(events.where(chosen), index, explode=True, metrics=seen).count() == 0
        assert (seen.get["events"], seen.get["matches"], seen.get["bytes"]) == (n_events, 0, 0)


def test_values_that_no_vector_can_tell_are_counted(spark, tmp_path):
    Index.build([(1, "lower(s) = 'i'")]).save(tmp_path)
    for texts, n_values in ((["I", "a", "I"], 0), (["I", "\u0130", "\u0130\u0130"], 2)):  # Turkish capitals
        seen = Observation()
        events = spark.createDataFrame([(text,) for text in texts], "s string")
        assert match(events, tmp_path, count=True, metrics=seen).count() == len(texts)
        assert seen.get["by_value"] == n_values


def test_metrics_have_a_name_or_an_observation(spark, index, events):
    for wrong in ("", 5):
        with pytest.raises(RuledexError, match="a name or an Observation"):
            match(events, index, metrics=wrong)
    stream = spark.readStream.format("rate").load().select(functions.col("value").alias("n"))
    with pytest.raises(RuledexError, match="no Observation from a stream: give metrics a name"):
        match(stream, index, metrics=Observation())


# Streams.


@pytest.fixture
def stream(spark, tmp_path):
    """A stream of files with one event each, and the function that writes the next."""
    folder = tmp_path / "events"
    folder.mkdir()
    numbers = iter(range(100))

    def write():
        number = next(numbers)
        (folder / f"{number}.json").write_text(json.dumps({"n": number, "other": 1}))

    return spark.readStream.schema("n long, other long").json(str(folder)), write


def run(source, index, tmp_path, changes, **options):
    """Run one micro-batch before each change and one after all. Returns the metrics of each, and the rules found."""
    stream, write = source
    session = stream.sparkSession
    found = match(stream, index, keep=["n"], metrics="ads", **options)
    name = f"found_{time.monotonic_ns()}"
    checkpoint = str(tmp_path / "checkpoint")
    query = found.writeStream.format("memory").queryName(name).option("checkpointLocation", checkpoint).start()
    try:
        for change in [*changes, lambda: None]:
            write()
            query.processAllAvailable()
            change()
        rows = sorted((row.n, row.rules) for row in session.table(name).collect())
        metrics = [each.observedMetrics["ads"].asDict() for each in query.recentProgress if each.numInputRows]
    finally:
        query.stop()
    return metrics, rows


def test_the_progress_of_a_stream_has_metrics_and_a_refused_version_is_a_warning(stream, tmp_path, caplog):
    index = tmp_path / "index"
    Index.build([(1, "n >= 0")]).save(index)
    first = Index.open(index).version

    def publish():
        Index.build([(1, "n >= 0"), (2, "other = 1")]).save(index)

    with caplog.at_level(logging.WARNING, "ruledex.spark"):
        metrics, rows = run(stream, index, tmp_path, [publish])
        until = time.monotonic() + 30  # the listener is told some time later
        while not caplog.records and time.monotonic() < until:
            time.sleep(0.05)
    assert rows == [(0, [1]), (1, [1])]
    assert [(each["events"], each["matches"], each["version"]) for each in metrics] == [(1, 1, first)] * 2
    assert [each["refused"] for each in metrics] == [0, 1]
    second = Index.open(index).version
    assert metrics[0]["reason"] is None
    assert f"{second} is refused: its rules look at other" in metrics[1]["reason"]
    assert f"uses version {first}: {second} is refused" in caplog.records[0].getMessage()


def test_a_stream_can_read_all_columns_for_rules_to_come(stream, tmp_path):
    index = tmp_path / "index"
    Index.build([(1, "n >= 0")]).save(index)
    later = Index.build([(1, "n >= 0"), (2, "other = 1")])
    metrics, rows = run(stream, index, tmp_path, [lambda: later.save(index)], columns="*")
    assert rows == [(0, [1]), (1, [1, 2])]
    assert [each["refused"] for each in metrics] == [0, 0]


def test_a_star_keeps_all_columns_and_another_text_is_refused(index, events):
    assert match(events, index, keep="*").columns == match(events, index).columns == ["n", "nested", "rules"]
    for options in ({"keep": "n"}, {"columns": "n"}):
        with pytest.raises(RuledexError, match=r"give columns as a list: \['n'\], or all of them as \"\*\""):
            match(events, index, **options)

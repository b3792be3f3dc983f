"""Streams: each micro-batch has one version, also when it is run again, and new versions are taken up on the way."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from ruledex import Index
from ruledex.artifact import collect_garbage, list_versions
from ruledex.artifact.layout import version_folder
from ruledex.artifact.pins import list_pins
from ruledex.spark import match, pins, ship
from tests.spark.conftest import started, wait_for

SCHEMA = "n bigint, a int, device struct<os:string,model:string>, unused string"


def publish(root, *rules):
    return Index.build(list(rules)).save(root)


def add_events(folder: Path, name: str, *numbers: int) -> None:
    """A file of events, which appears whole."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"n": n, "a": 1, "device": {"os": "ios", "model": "x"}}) + "\n" for n in numbers]
    (folder / f".{name}").write_text("".join(lines))
    (folder / f".{name}").rename(folder / f"{name}.json")


def read_events(spark, folder):
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "events"))


def start(found, folder, **trigger):
    return (
        found.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(**trigger)
        .start()
    )


def written(spark, folder):
    rows = spark.read.parquet(str(folder / "out")).orderBy("n").collect()
    return {row.n: (row.rules, row.version) for row in rows} if len({row.n for row in rows}) == len(rows) else rows


def damage(root: Path, version: str) -> None:
    path = root / version_folder(version) / "arrays-0000.bin"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)


def test_new_versions_are_taken_up_and_those_that_cannot_be_used_are_refused(spark, tmp_path):
    root = tmp_path / "index"
    first = publish(root, (1, "a = 1 AND device.os = 'ios'"))
    add_events(tmp_path / "events", "1", 1, 2)
    found = match(read_events(spark, tmp_path), root, keep=["n"], columns=["unused"])
    query = start(found, tmp_path, processingTime="0 seconds")

    def after_file(name, n):
        add_events(tmp_path / "events", name, n)
        query.processAllAvailable()

    try:
        query.processAllAvailable()
        second = publish(root, (2, "a = 1"), (3, "elsewhere = 1"))
        after_file("2", 3)
        corrupt = publish(root, (4, "a = 1"), (5, "a = 2"))
        damage(root, corrupt)
        after_file("3", 4)
        after_file("4", 5)
        of_strings = publish(root, ("x", "a = 1"))
        after_file("5", 6)
        outside = publish(root, (6, "a = 1 AND device.model = 'x'"))
        after_file("6", 7)
        last = publish(root, (7, "a = 1 AND unused IS NULL"))
        after_file("7", 8)
    finally:
        query.stop()
    assert written(spark, tmp_path) == {
        1: ([1], first),
        2: ([1], first),
        **{n: ([2], second) for n in (3, 4, 5, 6, 7)},
        8: ([7], last),
    }
    told = pins(spark, str(root)).orderBy("time").collect()
    assert {row.stream for row in told} == {query.id}
    assert [row.version for row in told] == [first, *[second] * 5, last]
    assert [row.refused for row in told] == [None, None, corrupt, corrupt, of_strings, outside, None]
    assert [row.n_refused for row in told] == [0, 0, 1, 1, 2, 3, 3]
    reasons = [row.reason for row in told if row.reason is not None]
    assert "is damaged" in reasons[0]
    assert "its rules have string ids" in reasons[2]
    assert "device.model, which the running query does not read" in reasons[3]
    assert set(collect_garbage(root).versions) == {corrupt, of_strings, outside}
    assert list_versions(root) == sorted([first, second, last])


def held_stream(folder: Path) -> None:
    """A stream whose first micro-batch ends after its pin and before its commit: never."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

    def hold(batches):
        import time

        time.sleep(600)
        yield from batches

    found = match(read_events(spark, folder), str(folder / "index"), keep=["n"])
    start(found.mapInArrow(hold, found.schema), folder, availableNow=True).awaitTermination()


def test_a_micro_batch_that_was_killed_between_pin_and_commit_runs_again_on_its_version(spark, tmp_path):
    root = tmp_path / "index"
    first = publish(root, (1, "a = 1"))
    add_events(tmp_path / "events", "1", 1, 2, 3)
    with started(held_stream, tmp_path) as process:
        wait_for(lambda: list_pins(root) or not process.is_alive(), "the pin")
        assert process.is_alive()
    (pinned,) = list_pins(root)
    assert pinned.pin.version == first
    assert not list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))

    # The new version looks at another column than the one that runs again.
    second = publish(root, (2, "unused IS NULL"))
    assert collect_garbage(root).versions == ()
    add_events(tmp_path / "events", "2", 4, 5)

    def run():
        found = match(read_events(spark, tmp_path), str(root), keep=["n"])
        start(found, tmp_path, availableNow=True).awaitTermination()

    run()
    expected = {**{n: ([1], first) for n in (1, 2, 3)}, **{n: ([2], second) for n in (4, 5)}}
    assert written(spark, tmp_path) == expected
    # A stream that is started while the newest version is damaged goes on with the one before.
    damage(root, publish(root, (3, "a = 1")))
    add_events(tmp_path / "events", "3", 6)
    run()
    assert written(spark, tmp_path) == {**expected, 6: ([2], second)}
    assert [each.stream for each in list_pins(root)] == [pinned.stream] * 3


def latest_pin(root: Path) -> int:
    return max((pinned.time for pinned in list_pins(root)), default=0)


def endless_stream(folder: Path) -> None:
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    found = match(read_events(spark, folder).repartition(2), str(folder / "index"), keep=["n"])
    start(found, folder, processingTime="0 seconds").awaitTermination()


@pytest.mark.skipif("RULEDEX_SPARK_FULL" not in os.environ, reason="takes minutes; set RULEDEX_SPARK_FULL to run it")
def test_a_stream_that_is_killed_again_and_again_has_each_event_once(spark, tmp_path):
    root, random = tmp_path / "index", Random(7)
    rule_of = {publish(root, (0, "a = 1")): 0}
    n_events = 0
    for _ in range(5):
        for _ in range(20):
            n_events += 1
            add_events(tmp_path / "events", str(n_events), n_events)
        before = latest_pin(root)
        with started(endless_stream, tmp_path) as process:
            wait_for(lambda p=process, time=before: latest_pin(root) > time or not p.is_alive(), "a pin")
            for _ in range(3):
                rule = len(rule_of)
                rule_of[publish(root, (rule, "a = 1"))] = rule
                time.sleep(random.uniform(0.0, 2.0))
            assert process.is_alive()
        collect_garbage(root)
    found = match(read_events(spark, tmp_path), root, keep=["n"])
    start(found, tmp_path, availableNow=True).awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "out")).orderBy("n").collect()
    assert [row.n for row in rows] == list(range(1, n_events + 1))
    assert [row.rules for row in rows] == [[rule_of[row.version]] for row in rows]
    assert len({row.version for row in rows}) > 3


def test_every_shape_of_a_result_says_its_version(spark, tmp_path):
    version = publish(tmp_path / "index", (1, "value >= 0"), (2, "value % 2 = 0"))
    events = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 4).load()
    shapes = {
        "count": ({"count": True}, {"value": 0, "n_rules": 2, "version": version}),
        "rows": ({"explode": True, "top": 1}, {"value": 0, "rule": 1, "score": 1.0, "version": version}),
    }
    for name, (options, expected) in shapes.items():
        query = match(events, str(tmp_path / "index"), keep=["value"], **options).writeStream.format("memory")
        running = query.queryName(f"shape_{name}").trigger(availableNow=True).start()
        running.awaitTermination()
        first = spark.table(f"shape_{name}").orderBy("value").first()
        assert first.asDict() == expected


def test_two_streams_and_one_that_matches_twice_in_batches_of_its_own(spark, tmp_path):
    root = tmp_path / "index"
    version = publish(root, (1, "a = 1"), (2, "first = 1"))
    for n in range(3):
        add_events(tmp_path / "events", str(n), n)
    plain = tmp_path / "plain"
    found = match(read_events(spark, tmp_path), root, keep=["n", "a"])
    again = match(found.withColumnsRenamed({"rules": "first", "version": "other"}), root, keep=["n", "first"])

    def write(rows, _):
        rows.write.mode("append").parquet(str(tmp_path / "twice"))

    queries = [
        start(found.select("n", "rules", "version"), plain, availableNow=True),
        again.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(tmp_path / "state"))
        .trigger(availableNow=True)
        .start(),
    ]
    for query in queries:
        query.awaitTermination()
    assert written(spark, plain) == {n: ([1], version) for n in range(3)}
    rows = spark.read.parquet(str(tmp_path / "twice")).collect()
    assert sorted(row.n for row in rows) == [0, 1, 2]
    assert {(*row.first, *row.rules, row.version) for row in rows} == {(1, 1, 2, version)}
    pinned = list_pins(root)
    assert {each.stream for each in pinned} == {query.id for query in queries}
    assert len(pinned) == 6


def test_a_version_that_was_removed_is_asked_for_no_more(spark, tmp_path):
    root = tmp_path / "index"

    def run(name, n):
        add_events(tmp_path / "events", name, n)
        found = match(read_events(spark, tmp_path), root, keep=["n"])
        start(found, tmp_path, availableNow=True).awaitTermination()

    first = publish(root, (1, "a = 1"))
    run("1", 1)
    second = publish(root, (2, "a = 1"))
    shutil.rmtree(root / version_folder(first))
    run("2", 2)
    assert written(spark, tmp_path) == {1: ([1], first), 2: ([2], second)}


def test_a_version_that_is_named_or_shipped_stays(spark, tmp_path):
    first = publish(tmp_path / "index", (1, "a = 1"))
    add_events(tmp_path / "events", "1", 1)
    events = read_events(spark, tmp_path)
    shipped = ship(spark, tmp_path / "index")
    publish(tmp_path / "index", (2, "a = 1"))
    for name, found in {
        "named": match(events, tmp_path / "index", keep=["n"], version=first),
        "shipped": match(events, shipped, keep=["n"]),
    }.items():
        running = found.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
        running.awaitTermination()
        assert [tuple(row) for row in spark.table(name).collect()] == [(1, [1], first)]
    assert list_pins(tmp_path / "index") == []

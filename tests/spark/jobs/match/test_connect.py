"""The same through Spark Connect, whose client is not the driver. In a process of its own: a classic and a Connect
session do not live together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest

from ruledex import Index
from ruledex.workloads import workload
from tests.spark.conftest import WAIT_S, own_process

N_RULES, N_EVENTS = 500, 300


def through_connect(folder: Path) -> dict[str, object]:
    """What a Connect session finds, as plain values."""
    from pyspark.errors import StreamingQueryException
    from pyspark.sql import SparkSession, functions

    from ruledex.spark import match, match_ids, pins, ship

    os.environ["SPARK_TESTING"] = "1"  # else the server takes the one port that every other takes, too
    spark = SparkSession.builder.remote("local[2]").config("spark.task.cpus", "2").getOrCreate()
    root = str(folder / "index")
    events = spark.read.parquet(str(folder / "events")).repartition(2)

    def threads(batches):
        import pyarrow as pa

        from ruledex.artifact import current_version
        from ruledex.spark.worker.opened import open_index

        for _ in batches:
            engine = cast(Any, open_index(root, current_version(root))._state).shards[0].engine
            yield pa.RecordBatch.from_pydict({"threads": [engine.threads], "of_batches": [engine.batch.threads]})

    def rows(found):
        return sorted(found.collect(), key=lambda row: row.number)

    def rules(found):
        return [row.rules for row in rows(found)]

    shipped = ship(spark, folder / "index")
    assert ship(spark, folder / "index") == shipped
    best = rows(match(events, root, keep=["number"], top=3))
    stream = spark.readStream.schema(events.schema).parquet(str(folder / "events"))
    query = (
        match(stream, root, keep=["number"])
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    written = spark.read.parquet(str(folder / "out"))

    def in_batches(frame, function):
        query = frame.writeStream.foreachBatch(function).trigger(availableNow=True).start()
        query.awaitTermination()

    def match_within(rows, _):
        match(rows, root, keep=["number"]).write.parquet(str(folder / "within"))

    in_batches(stream, match_within)
    try:
        in_batches(match(stream, root, keep=["number"]), lambda rows, _: rows.collect())
        refusal = ""
    except StreamingQueryException as error:
        refusal = str(error)
    found = {
        "is_connect": type(spark).__module__.startswith("pyspark.sql.connect"),
        "by path": rules(match(events, root, keep=["number"])),
        "shipped": rules(match(events, shipped, keep=["number"])),
        "counts": [row.n_rules for row in rows(match(events, root, keep=["number"], count=True))],
        "best": [list(zip(row.rules, row.scores, strict=True)) for row in best],
        "column": rules(
            events.select("number", match_ids(root, *(functions.col(name) for name in events.columns)).alias("rules"))
        ),
        "stream": rules(written),
        "within batches": rules(spark.read.parquet(str(folder / "within"))),
        "refusal": refusal,
        "versions": {row.version for row in rows(written)},
        "threads": tuple(spark.range(1).mapInArrow(threads, "threads bigint, of_batches bigint").first()),
        "pins": [(row.version, row.refused) for row in pins(spark, root).collect()],
    }
    spark.stop()
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("connect")
    generator = workload("demo", seed=3)
    index = Index.build(generator.rule_table(N_RULES))
    index.save(folder / "index")
    table = generator.event_table(N_EVENTS)
    (folder / "events").mkdir()
    pq.write_table(table.append_column("number", [range(N_EVENTS)]), folder / "events" / "1.parquet")
    with own_process() as process:
        return index, table, process.submit(through_connect, folder).result(WAIT_S)


def test_results_through_connect_are_those_of_the_index(made):
    index, table, found = made
    rules = list(index.match_batch(table))
    assert found["is_connect"]
    assert any(rules)
    for name in ("by path", "shipped", "column", "stream", "within batches"):
        assert found[name] == rules, name
    assert found["counts"] == index.count(table).tolist()
    best = index.top_batch(table, 3)
    assert [[rule for rule, _ in row] for row in found["best"]] == list(best)
    assert [score for row in found["best"] for _, score in row] == best.scores.tolist()


def test_engines_have_as_many_threads_as_tasks_have_cpus(made):
    assert made[2]["threads"] == (2, 2)


def test_batches_that_do_not_know_their_query_say_what_to_do(made):
    assert "in `foreachBatch` through Spark Connect, call `match` within the function" in made[2]["refusal"]


def test_a_stream_through_connect_pins_its_version(made):
    index, _, found = made
    assert found["versions"] == {index.version}
    assert found["pins"] == [(index.version, None)]

"""The same through Spark Connect, whose client is not the driver. In a process of its own: a classic and a Connect
session do not live together."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest

from ruledex import Index
from ruledex.spark.worker.metrics import _KIND
from ruledex.workloads import workload
from tests.spark.conftest import WAIT_S, own_process, wait_for

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
        "observed": observed(events, root),
        "stream metrics": stream_metrics(spark, folder),
    }
    spark.stop()
    return found


def observed(events: Any, root: str) -> dict[str, object]:
    """The metrics of a match in batch, and the rows that it has."""
    from pyspark.sql import Observation

    from ruledex.spark import match

    seen = Observation()
    n_rows = match(events, root, keep=["number"], metrics=seen).count()
    return seen.get | {"rows": n_rows}


def stream_metrics(spark: Any, folder: Path) -> dict[str, object]:
    """The metrics of a stream that refuses the second version, and what the client logs."""
    from ruledex.spark import match

    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("ruledex.spark").addHandler(handler)
    root, numbers = folder / "refusing", folder / "numbers"
    numbers.mkdir()
    first = Index.build([(1, "n >= 0")]).save(root)
    stream = spark.readStream.schema("n long, other long").json(str(numbers))
    query = match(stream, root, keep=["n"], metrics="ads").writeStream.format("memory").queryName("found").start()

    def write(number: int) -> None:
        (numbers / f"{number}.json").write_text(json.dumps({"n": number, "other": 1}))
        query.processAllAvailable()

    write(0)
    second = Index.build([(1, "n >= 0"), (2, "other = 1")]).save(root)
    write(1)
    wait_for(lambda: told, "the warning")
    # Without their names: docs/spark-operations.md says so.
    progress = [each.observedMetrics["ads"]["values"] for each in query.recentProgress if each.numInputRows]
    query.stop()
    return {"progress": progress, "told": told, "versions": (first, second)}


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


def test_metrics_through_connect_are_those_of_a_classic_session(made):
    index, table, found = made
    metrics = dict(found["observed"])
    assert metrics.pop("bytes") > 0
    assert metrics.pop("by_value") > 0  # rules of the demo have LIKE
    assert metrics == {
        "rows": N_EVENTS,
        "events": N_EVENTS,
        "matches": int(index.count(table).sum()),
        "version": index.version,
        "refused": 0,
        "set_aside": 0,
        "reason": None,
    }


def test_a_version_that_a_stream_refuses_is_a_metric_and_a_warning_of_the_client(made):
    seen = made[2]["stream metrics"]
    first, second = seen["versions"]
    named = [dict(zip((field.name for field in _KIND), values, strict=True)) for values in seen["progress"]]
    assert [(each["events"], each["matches"], each["version"]) for each in named] == [(1, 1, first)] * 2
    assert [(each["refused"], each["reason"] is None) for each in named] == [(0, True), (1, False)]
    assert f"{second} is refused: its rules look at other" in named[1]["reason"]
    assert len(seen["told"]) == 1
    assert f"uses version {first}: {second} is refused" in seen["told"][0]

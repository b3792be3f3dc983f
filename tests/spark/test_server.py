"""All that `ruledex.spark` does, through Spark Connect to a server in a process of its own, as on a cluster.

The client and the server share a folder and nothing else: no session, no JVM, no working directory.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from ruledex import Index
from tests.spark.conftest import WAIT_S, own_process, watermarked_counts, write_minutes
from tests.spark.servers import connect_server
from tests.spark.sql import cases

RULES = [(1, "a > 2", 1.0), (2, "b = 'x'", 3.0), (3, "a < 0", 2.0), (4, "a >", 0.0)]
NEW = [(1, "a > 3", 1.0), (2, "b = 'x'", 3.0), (3, "a < 0", 2.0)]
SQL = (
    cases.an_index_is_tables,
    cases.files_are_matched_where_they_are_read,
    cases.rules_are_written,
)


def through_server(url: str, folder: Path) -> dict[str, Any]:
    """What a client of the server finds, as plain values."""
    from pyspark.sql import SparkSession

    from ruledex.spark import (
        backtest,
        build_index,
        check_columns,
        coverage,
        match,
        match_ids,
        pins,
        profile,
        ratify,
        register,
    )

    spark = SparkSession.builder.remote(url).getOrCreate()
    events = spark.range(6).selectExpr("id AS a", "if(id % 2 = 1, 'x', 'y') AS b").repartition(2)
    index = str(folder / "index")
    columns = "id long, expr string, score double"

    def rows(frame: Any) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, frame.collect()))

    report = build_index(spark.createDataFrame(RULES, columns), index, events=events)
    found: dict[str, Any] = {
        "build": (report.n_rules, [row.code for row in report.quarantine.collect()]),
        "match": rows(match(events, index, keep=["a"])),
        "count": rows(match(events, index, keep=["a"], count=True)),
        "top": rows(match(events, index, keep=["a"], top=1, explode=True)),
        "column": rows(events.select("a", match_ids(index, "a", "b"))),
        "check": check_columns(events.withColumnRenamed("b", "B"), index)["what"].to_pylist(),
    }
    register(spark, "ads", index, events=events, keep=["a"])
    events.createOrReplaceTempView("events")
    found["table function"] = rows(spark.sql("SELECT * FROM ads(TABLE(events))"))
    found["scalar function"] = rows(spark.sql("SELECT a, ads_rules(struct(*)) FROM events"))
    statistics = profile(events)
    found["profile"] = (statistics.n_events, dict(statistics.attributes["b",].values[0].heavy))
    newer = build_index(spark.createDataFrame(NEW, columns), index, stats=statistics)
    ratified = ratify(index, events)
    found["ratify"] = (ratified.passed, ratified.n_events, ratified.n_spark_rules)
    changes = backtest(index, index, events, old_version=report.version, new_version=newer.version)
    found["backtest"] = [row[:5] for row in rows(changes)]
    covered = coverage(index, events)
    found["coverage"] = (rows(covered.rules), tuple(covered.totals()))

    Index.build([(1, "n >= 0")]).save(folder / "of minutes")
    write_minutes(folder / "minutes", 4)
    found["stream"] = watermarked_counts(spark, folder / "minutes", folder / "of minutes")
    found["pinned"] = {row.version for row in pins(spark, folder / "of minutes").collect()}
    wrong = found["wrong"] = {}
    for case in SQL:
        own = folder / case.__name__
        own.mkdir()
        try:
            case(spark, own)
        except Exception:
            wrong[case.__name__] = traceback.format_exc()
    spark.stop()
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    (folder / "shared").mkdir()
    settings = {"spark__sql__shuffle__partitions": "1", "spark__sql__session__timeZone": "UTC"}
    with connect_server(folder, **settings) as url, own_process() as process:
        return folder / "shared", process.submit(through_server, url, folder / "shared").result(WAIT_S)


def test_an_index_is_built_and_matched(made):
    _, found = made
    rules = {a: [1] * (a > 2) + [2] * (a % 2) for a in range(6)}
    assert found["build"] == (3, ["syntax"])
    for how in ("match", "column", "table function", "scalar function"):
        assert found[how] == list(rules.items()), how
    assert found["count"] == [(a, len(each)) for a, each in rules.items()]
    assert found["top"] == [(a, max(each), 4.0 if a % 2 else 2.0) for a, each in rules.items() if each]
    assert found["check"] == ["case"]


def test_jobs_over_events_count_what_there_is(made):
    _, found = made
    assert found["profile"] == (6, {"x": 3, "y": 3})
    assert found["ratify"] == (True, 6, 3)
    assert found["backtest"] == [(1, "changed", 0, 1, 2), (2, "same", 0, 0, 3), (3, "same", 0, 0, 0)]
    assert found["coverage"] == ([(1, 2), (2, 3), (3, 0)], (6, 5, 2))


def test_a_stream_keeps_its_watermark_and_pins_its_versions(made):
    folder, found = made
    assert found["stream"] == [1, 1]
    assert found["pinned"] == {Index.open(folder / "of minutes").version}


def test_an_index_is_a_data_source(made):
    assert made[1]["wrong"] == {}, "\n".join(made[1]["wrong"].values())

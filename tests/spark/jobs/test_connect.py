"""Profiling, ratifying, backtesting and coverage through Spark Connect, in a process of its own, and its progress."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ruledex import Index
from tests.spark.conftest import WAIT_S, own_process, watermarked_counts, write_minutes

OLD = [(1, "a > 2"), (2, "b = 'x'"), (3, "a < 0")]
NEW = [(1, "a > 3"), (2, "b = 'x'"), (3, "a < 0")]
SETTINGS = {
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    "spark.sql.session.timeZone": "Asia/Kolkata",
    "spark.sql.shuffle.partitions": "1",
}


def through_connect(folder: Path) -> dict[str, object]:
    """What a Connect session finds, as plain values."""
    from io import StringIO

    from pyspark.sql import SparkSession
    from rich.console import Console
    from rich.progress import Progress

    from ruledex.cli.spark.session import _follow_connect
    from ruledex.cli.terminal import Bar
    from ruledex.spark import backtest, build_index, check_columns, coverage, match, profile, ratify

    os.environ["SPARK_TESTING"] = "1"  # else the server takes the one port that every other takes, too
    builder = SparkSession.builder.remote("local[1]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    events = spark.range(6).selectExpr("id AS a", "if(id % 2 = 1, 'x', 'y') AS b").repartition(2)
    counted = coverage(folder / "old", events, [1, 2]).persist()
    ratified = ratify(folder / "old", events)
    screen = Progress(console=Console(file=StringIO()), auto_refresh=False)
    with screen as shown, _follow_connect(spark, Bar(shown, "profiling", "")):
        profiled = profile(events)
    found = {
        "profile": {path: dict(of.values[0].heavy) for path, of in profiled.attributes.items()},
        "coverage": sorted(map(tuple, counted.rules.collect())),
        "totals": tuple(counted.totals()),
        "pairs": list(map(tuple, counted.pairs.collect())),
        "backtest": sorted(map(tuple, backtest(folder / "old", folder / "new", events, key="a").collect())),
        "ratified": (ratified.passed, ratified.n_events, ratified.n_rules, ratified.n_spark_rules),
        "stages": shown.tasks[0].fields["told"],
    }
    for name, rows in (("sound", NEW), ("broken", [*NEW, (4, "a >")])):
        rules = spark.createDataFrame([(*row, 2.5) for row in rows], "id long, expr string, score double")
        report = build_index(rules, folder / name)
        matched = match(events, folder / name, keep=["a"])
        found[name] = (report.n_rules, report.quarantine.count(), sorted(map(tuple, matched.collect())))
    write_minutes(folder / "minutes", 4)
    found["watermarked"] = watermarked_counts(spark, folder / "minutes", folder / "sound")
    found["zone"] = Index.open(folder / "sound").schema.time_zone
    missing = check_columns(events.withColumnRenamed("b", "B"), folder / "sound").to_pylist()
    found["columns"] = [(row["attribute"], row["what"], row["n_rules"]) for row in missing]
    found["scores"] = Index.open(folder / "sound").rule(1).static_score
    counted.unpersist()
    spark.stop()
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("connect")
    Index.build(OLD).save(folder / "old")
    Index.build(NEW).save(folder / "new")
    with own_process() as process:
        return process.submit(through_connect, folder).result(WAIT_S)


def test_statistics_are_those_of_the_events(found):
    assert found["profile"] == {("a",): dict.fromkeys(range(6), 1), ("b",): {"x": 3, "y": 3}}


def test_counters_are_those_of_the_rules(found):
    assert found["coverage"] == [(1, 3), (2, 3), (3, 0)]
    assert found["totals"] == (6, 6, 2)
    assert found["pairs"] == [(1, 2, 2)]
    assert found["backtest"] == [
        (1, "changed", 0, 1, 2, [], [3]),
        (2, "same", 0, 0, 3, [], []),
        (3, "same", 0, 0, 0, [], []),
    ]


def test_an_index_is_built_whether_or_not_a_rule_is_bad(found):
    matches = [(number, [1] * (number > 3) + [2] * (number % 2)) for number in range(6)]
    assert found["sound"] == (3, 0, matches)
    assert found["broken"] == (3, 1, matches)
    assert found["scores"] == 2.5


def test_zones_watermarks_and_columns_are_those_of_a_classic_session(found):
    assert found["zone"] == "Asia/Kolkata"
    assert found["watermarked"] == [1, 1]
    assert found["columns"] == [("b", "case", 1)]


def test_the_index_is_ratified(found):
    assert found["ratified"] == (True, 6, 3, 3)


def test_stages_are_told_as_they_run(found):
    assert found["stages"].startswith("stage ")

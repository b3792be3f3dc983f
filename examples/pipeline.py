"""A whole pipeline on Spark: profile, build, match, a stream that switches to a new version, backtest, and a plot.

    python examples/pipeline.py FOLDER

reads `rules.jsonl` and `events.jsonl` from FOLDER, as `ruledex generate demo` writes them. It writes the index, the
results of the stream and `pipeline.png` to `pipeline/` beside them. With spark-submit it runs on a cluster, whose
workers must be able to read FOLDER.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

from ruledex.spark import backtest, build_index, coverage, match, profile

EVENTS_PER_FILE = 250
SECONDS_PER_FILE = 0.5


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    """Yield the session of spark-submit, or else one on two cores of this machine."""
    builder = SparkSession.builder.appName("ruledex pipeline")
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = (
            builder.master("local[2]")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.log.level", "ERROR")
        )
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


class Feed:
    """Writes files of events one after the other, as a source of a stream would."""

    def __init__(self, lines: list[str], folder: Path) -> None:
        self._parts = [lines[i : i + EVENTS_PER_FILE] for i in range(0, len(lines), EVENTS_PER_FILE)]
        self._folder = folder
        folder.mkdir()

    def write(self, n_files: int) -> None:
        """Write the next files at a steady pace, as long as there are any."""
        for _ in range(n_files):
            if not self._parts:
                return
            part = self._parts.pop(0)
            written = self._folder / f".{len(self._parts)}"
            written.write_text("\n".join(part) + "\n")
            written.rename(self._folder / f"{len(self._parts):05}.jsonl")  # a stream must never see half of a file
            time.sleep(SECONDS_PER_FILE)


def start_query(events: DataFrame, index: str, folder: Path) -> StreamingQuery:
    """Start a query that counts the true rules of each new event, and names the version of the index."""
    found = match(events, index, keep=["hour"], count=True)
    return (
        found.writeStream.format("parquet")
        .option("path", str(folder / "found"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="500 milliseconds")
        .start()
    )


class Rate(NamedTuple):
    """When a micro-batch began, and how many events per second it processed."""

    at: datetime
    events_per_second: float


def draw(folder: Path, matches: list[int], rates: list[Rate], published: datetime) -> Path:
    """Plot how many events each rule matches, and the rate of the stream over time. Returns the path of the image."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    left.plot(range(1, len(matches) + 1), sorted(matches, reverse=True))
    left.set(xscale="log", xlabel="rules, by how often they match", ylabel="events that a rule matches")
    first = rates[0].at
    right.plot([(rate.at - first).total_seconds() for rate in rates], [rate.events_per_second for rate in rates], "o-")
    right.axvline((published - first).total_seconds(), linestyle="--", color="grey", label="a new version is published")
    right.set(xlabel="seconds of the stream", ylabel="events per second", ylim=(0, None))
    right.legend()
    path = folder / "pipeline.png"
    figure.savefig(path, dpi=120)
    return path


def run(spark: SparkSession, source: Path) -> None:
    """Run all steps. Each prints what it did."""
    folder = source / "pipeline"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    index = str(folder / "index")
    rules, events = spark.read.json(str(source / "rules.jsonl")), spark.read.json(str(source / "events.jsonl"))

    statistics = profile(events)
    print(f"profiled {statistics.n_events:,} events")

    report = build_index(rules, index, stats=statistics)
    seconds = ", ".join(f"{stage} {taken:.1f}" for stage, taken in report.seconds.items())
    print(f"built {report.n_rules:,} rules, version {report.version[:12]}, seconds: {seconds}")

    begin = time.perf_counter()
    row = match(events, index, keep=[], count=True).agg(f.count("*"), f.sum("n_rules")).first()
    assert row is not None
    print(f"matched {row[0]:,} events, {row[1]:,} matches in {time.perf_counter() - begin:.1f} s")

    feed = Feed((source / "events.jsonl").read_text().splitlines(), folder / "incoming")
    stream = spark.readStream.schema(events.schema).json(str(folder / "incoming"))
    query = start_query(stream, index, folder)
    feed.write(8)
    newer = build_index(rules.where("id % 10 != 0"), index, stats=statistics)
    published = datetime.now(UTC)
    feed.write(8)
    query.processAllAvailable()
    rates = [
        Rate(datetime.fromisoformat(batch.timestamp), batch.processedRowsPerSecond)
        for batch in query.recentProgress
        if batch.numInputRows
    ]
    query.stop()
    found = spark.read.parquet(str(folder / "found"))
    answered = {row["version"]: row["count"] for row in found.groupBy("version").count().collect()}
    parts = ", ".join(f"{answered.get(made.version, 0):,} by version {made.version[:12]}" for made in (report, newer))
    print(f"streamed {sum(answered.values()):,} events: {parts}")

    changes = backtest(index, index, events, old_version=report.version, new_version=newer.version)
    gained, lost, kept = changes.agg(f.sum("gained"), f.sum("lost"), f.sum("kept")).first() or (0, 0, 0)
    print(f"backtest: {kept:,} matches kept, {lost:,} lost, {gained:,} gained with version {newer.version[:12]}")

    covered = coverage(index, events)
    matches = [row["matches"] for row in covered.rules.select("matches").collect()]
    print(f"coverage: {sum(n == 0 for n in matches):,} of {len(matches):,} rules are never true")
    print(f"drew {draw(folder, matches, rates, published)}")


if __name__ == "__main__":
    with spark_session() as session:
        run(session, Path(sys.argv[1]))

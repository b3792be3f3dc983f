"""Matching events of 20 ordinary columns in Spark, by stage, beside an empty task, plain SQL and the forms of SQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions

from columns import events as draw_events
from core_timing import say, spread
from ruledex.events.arrow.encoder import ArrowEncoder
from ruledex.index import Index
from ruledex.language.parser import parse
from ruledex.language.spark_text import to_spark
from ruledex.spark import match, register
from ruledex.spark.worker.blocks import EVENTS_PER_BLOCK
from ruledex.spark.worker.columns import project_events
from spark_match import N_FILES, written
from spark_timing import core_rounds, run

SEED = 20
N_EVENTS, N_QUICK_EVENTS = 1_000_000, 20_000
SIZES = (10, 100, 1_000)
N_ROUNDS, N_QUICK_ROUNDS = 3, 1
CONDITIONS = 10_000_000  # that plain SQL is given in a round: a condition costs it up to 1 µs
FEWEST_SQL_EVENTS = 64 * N_FILES
N_ENCODED = 8 * EVENTS_PER_BLOCK  # events that are encoded and matched in this process, to tell the two apart

# What a rule asks of one column. Each is drawn with constants of its own.
PREDICATES: dict[str, Callable[[Random], str]] = {
    "event_id": lambda draw: f"event_id % 100 < {draw.randrange(1, 100)}",
    "clicks": lambda draw: f"clicks > {draw.randrange(1_000)}",
    "views": lambda draw: f"views BETWEEN {draw.randrange(50_000)} AND {draw.randrange(50_000, 100_000)}",
    "small": lambda draw: f"small IN {tuple(draw.sample(range(100), 20))}",
    "score": lambda draw: f"score < {draw.randrange(1, 100) / 100}D",
    "ratio": lambda draw: f"ratio >= {draw.randrange(1, 100) / 100}D",
    "price": lambda draw: f"price > {draw.randrange(100_000) / 100:.2f}",
    "budget": lambda draw: f"budget <= {draw.randrange(10_000)}.50",
    "rate": lambda draw: f"rate < {draw.randrange(1, 10)}.5",
    "country": lambda draw: f"country IN {tuple(f'c{n}' for n in draw.sample(range(200), 30))}",
    "city": lambda draw: f"city LIKE 'city{draw.randrange(1, 10)}%'",
    "home": lambda draw: f"home < 'city{draw.randrange(1, 10)}'",
    "email": lambda draw: f"length(email) > {draw.randrange(15, 22)}",
    "code": lambda draw: f"CAST(code AS BIGINT) > {draw.randrange(1_000_000)}",
    "device": lambda draw: f"device != 'd{draw.randrange(10)}'",
    "ts": lambda draw: f"hour(ts) BETWEEN {draw.randrange(12)} AND {draw.randrange(12, 24)}",
    "local": lambda draw: f"local > TIMESTAMP '2024-{draw.randrange(1, 13):02}-01 00:00:00'",
    "day": lambda draw: f"day < DATE '2024-{draw.randrange(1, 13):02}-15'",
    "flag": lambda draw: draw.choice(("flag", "NOT flag")),
    "tags": lambda draw: f"exists(tags, tag -> tag = 't{draw.randrange(50)}')",
}


def draw_rules(n_rules: int) -> list[str]:
    """Conjunctions of three to five conditions, each on another column."""
    draw = Random(SEED)
    return [
        " AND ".join(PREDICATES[name](draw) for name in draw.sample(sorted(PREDICATES), draw.randrange(3, 6)))
        for _ in range(n_rules)
    ]


def measure_columns(started: SparkSession, scratch: Path, n_events: int, n_rounds: int) -> Iterator[dict[str, Any]]:
    """Seconds of processor time, by number of rules and by way; and how long encoding and matching alone take.

    Yields what there is after each number of rules.
    """
    say(f"    {n_events:,} events of {len(PREDICATES)} ordinary columns")
    table = draw_events(n_events // N_FILES * N_FILES)
    events = written(started, table, scratch / "events")
    results: list[dict[str, Any]] = []
    for n_rules in SIZES:
        results.append(_measure(started, events, table, scratch, n_rules, n_rounds))
        yield {"n_events": table.num_rows, "n_columns": table.num_columns, "results": results}


def _measure(
    started: SparkSession, events: DataFrame, table: pa.Table, scratch: Path, n_rules: int, n_rounds: int
) -> dict[str, Any]:
    say(f"    {n_rules:,} rules on ordinary columns")
    texts = draw_rules(n_rules)
    root = str(scratch / f"index-{n_rules}")
    Index.build(list(enumerate(texts))).save(root)
    index = Index.open(root)
    names = [name for name in table.column_names if (name,) in set(index.paths)]
    n_sql = min(table.num_rows, max(FEWEST_SQL_EVENTS, CONDITIONS // n_rules // N_FILES * N_FILES))
    few = written(started, table.slice(0, n_sql), scratch / f"few-{n_rules}")
    by_sql = _by_sql(few, texts)
    expected = int(index.count(table.slice(0, n_sql)).sum())
    counted = match(few, root, keep=[], count=True).agg(functions.sum("n_rules")).collect()[0][0]
    found = by_sql.agg(functions.sum("n_rules")).collect()[0][0]
    if not expected == counted == found:
        raise AssertionError(f"{expected:,} matches in this process, {counted:,} in Spark, {found:,} by SQL")
    jobs = _jobs(started, events, scratch, root, names) | {"sql": by_sql}
    times = core_rounds({name: lambda job=job: run(job) for name, job in jobs.items()}, n_rounds)
    return {
        "n_rules": n_rules,
        "n_read": len(names),
        "n_sql_events": n_sql,
        "matches_per_event": expected / n_sql,
        "seconds": times,
        **_in_process(index, table.select(names)),
    }


def _jobs(started: SparkSession, events: DataFrame, scratch: Path, root: str, names: list[str]) -> dict[str, DataFrame]:
    """The ways to ask, and what all of them have to do: reading the columns, and handing them to Python."""

    def empty(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": pa.array([sum(batch.num_rows for batch in batches)])})

    read = events.select(*names)
    laid_out, _ = project_events(events, [(name,) for name in names], [])
    events.createOrReplaceTempView("ordinary")
    register(started, "ordinary_rules", root, events=read, keep=[], count=True)
    source = started.read.format("ruledex").option("index", root).option("events", str(scratch / "events"))
    return {
        "read": read,
        "empty": read.mapInArrow(empty, "n bigint"),
        "laid out": laid_out.mapInArrow(empty, "n bigint"),
        "count": match(events, root, keep=[], count=True),
        "arrays": match(events, root, keep=["event_id"]),
        "rows": match(events, root, keep=["event_id"], explode=True),
        "function": started.sql(f"SELECT * FROM ordinary_rules(TABLE(SELECT {', '.join(names)} FROM ordinary))"),
        "source": source.option("keep", "").option("count", "true").load(),
    }


def _by_sql(events: DataFrame, texts: list[str]) -> DataFrame:
    conditions = (f"if({to_spark(parse(text))}, 1, NULL)" for text in texts)
    return events.selectExpr(f"CAST(size(array_compact(array({', '.join(conditions)}))) AS BIGINT) AS n_rules")


def _in_process(index: Index, table: pa.Table) -> dict[str, Any]:
    """Seconds per event of one thread: to encode blocks as large as a task has them, and to count their matches too."""
    encoder = ArrowEncoder(index._state.dictionary)
    blocks = [table.slice(start, EVENTS_PER_BLOCK) for start in range(0, min(N_ENCODED, len(table)), EVENTS_PER_BLOCK)]
    n_events = sum(map(len, blocks))
    index.count(blocks[0])
    found: dict[str, list[float]] = {"encode": [], "count": []}
    for _ in range(3):
        for name, ask in (("encode", encoder.encode), ("count", index.count)):
            start = time.thread_time()
            for block in blocks:
                ask(block)
            found[name].append((time.thread_time() - start) / n_events)
    return {f"{name}_in_process": spread(times) for name, times in found.items()}

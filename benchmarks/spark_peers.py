"""What one would do in Spark without an index, at as many rules as it gets to, beside the index on the same events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import LongType

from core_timing import say
from ruledex.index import Index
from ruledex.language.parser import parse
from ruledex.language.spark_text import to_spark
from ruledex.language.tree import (
    And,
    Attribute,
    Compare,
    Expression,
    In,
    Not,
    Or,
)
from ruledex.spark import match
from ruledex.workloads import workload
from ruledex.workloads.base import Workload
from spark_match import repeated, written
from spark_shapes import MAPS
from spark_timing import timed

N_EVENTS = 2048
INDEX_EVENTS = 32 * N_EVENTS  # the same again and again: what a job costs by itself would be most of it
NEVER = -1_000_000  # what a hit on an excluded value adds to a conjunction's count
PRESENT = ""  # beside an attribute: it is there, with whatever value

Ask = Callable[[list[str]], Callable[[], int]]  # of some rules: what gives the number of all matches


def measure_peers(started: SparkSession, scratch: Path, sizes: tuple[int, ...], limit: float) -> list[dict[str, Any]]:
    """Each way at growing numbers of rules until one takes too long or fails; all find as many matches as the index."""
    general = workload("abe", seed=0, n_expressions=max(sizes))
    conjunctions = workload("advertising", seed=0, form="dnf")
    found = []
    for name, generator, ask, table in (
        ("one SQL condition a rule", general, _sql, None),
        ("a Python UDF over compiled conditions", general, _udf, None),
        ("a broadcast join on conjunctions", conjunctions, _join, key_table(conjunctions)),
    ):
        folder = scratch / name.replace(" ", "-")
        events = repeated(generator.event_table(N_EVENTS), N_EVENTS) if table is None else table
        asked = written(started, events, folder / "events")
        many = written(started, repeated(MAPS.events(generator, N_EVENTS), INDEX_EVENTS), folder / "many")
        found += _growing(name, generator, many, ask(asked), sizes, limit, scratch)
    return found


def _growing(
    name: str,
    generator: Workload,
    events: DataFrame,
    ask: Ask,
    sizes: tuple[int, ...],
    limit: float,
    scratch: Path,
) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for n_rules in sizes:
        say(f"    {name}, {n_rules:,} rules")
        table = generator.rule_table(n_rules)
        root = str(scratch / f"{generator.__class__.__name__}-{n_rules}")
        Index.build(pa.Table.from_batches(map(MAPS.rules, table.to_batches()))).save(root)
        result: dict[str, Any] = {"peer": name, "n_rules": n_rules, "n_events": N_EVENTS, "index_events": INDEX_EVENTS}
        if not results:
            _counted(events, root)  # workers have to be there, and their kernels loaded
        result["index_seconds"], expected = timed(lambda: _counted(events, root) // (INDEX_EVENTS // N_EVENTS))  # noqa: B023
        try:
            result["prepare_seconds"], answer = timed(lambda: ask(table["expr"].to_pylist()))  # noqa: B023
            result["seconds"], n_found = timed(answer)
            if n_found != expected:
                raise AssertionError(f"{name} finds {n_found:,} matches of {n_rules:,} rules, the index {expected:,}")
        except PySparkException as error:
            result["error"] = str(error).splitlines()[0][:200]
        results.append(result)
        if "error" in result or result["prepare_seconds"] + result["seconds"] > limit:
            break
    return results


def _counted(events: DataFrame, root: str) -> int:
    """The whole job, planned anew: Spark would take up what a plan has computed before."""
    return int(match(events, root, keep=[], count=True).agg(functions.sum("n_rules")).collect()[0][0])


def _sql(events: DataFrame) -> Ask:
    def ask(texts: list[str]) -> Callable[[], int]:
        conditions = [f"if({to_spark(parse(text))}, 1, NULL)" for text in texts]
        counted = events.selectExpr(f"size(array_compact(array({', '.join(conditions)}))) AS n")
        return lambda: int(counted.agg(functions.sum("n")).collect()[0][0] or 0)

    return ask


def _udf(events: DataFrame) -> Ask:
    def ask(texts: list[str]) -> Callable[[], int]:
        kept: list[Any] = []

        def count(event: Any) -> int:
            if not kept:
                from spark_python import compiled

                kept.extend(compiled(texts))  # once a worker: functions do not travel
            values = event.asDict()
            return sum(condition(values) for condition in kept)

        counting = functions.udf(count, LongType())
        counted = events.select(counting(functions.struct("*")).alias("n"))
        return lambda: int(counted.agg(functions.sum("n")).collect()[0][0] or 0)

    return ask


def _join(events: DataFrame) -> Ask:
    """Keys of events to keys of conjunctions: one is true of which an event has as many keys as it has predicates."""
    keys = events.select("event", functions.explode("keys").alias("key"))

    def ask(texts: list[str]) -> Callable[[], int]:
        rows = [row for rule, text in enumerate(texts) for row in conjunction_rows(rule, parse(text))]
        schema = "rule bigint, conjunction bigint, asked int, key string, adds int"
        conjunctions = functions.broadcast(events.sparkSession.createDataFrame(rows, schema))
        hits = keys.join(conjunctions, "key").groupBy("event", "rule", "conjunction", "asked")
        true = hits.agg(functions.sum("adds").alias("hits")).where("hits = asked").select("event", "rule").distinct()
        return true.count

    return ask


def key_table(generator: Workload) -> pa.Table:
    """Events as the papers have them: each a list of its keys, an attribute with a value, and with none."""
    keys = [
        [key for name, value in event.items() for key in (f"{name}={value}", f"{name}={PRESENT}")]
        for event in generator.events(N_EVENTS)
    ]
    return pa.table({"event": pa.array(range(N_EVENTS)), "keys": pa.array(keys, pa.list_(pa.string()))})


def conjunction_rows(rule: int, tree: Expression) -> list[tuple[int, int, int, str, int]]:
    """Rule, conjunction, how many predicates it has, a key, and what a hit on the key adds."""
    rows = []
    for number, conjunction in enumerate(tree.children if isinstance(tree, Or) else (tree,)):
        parts = conjunction.children if isinstance(conjunction, And) else (conjunction,)
        for part in parts:
            rows += [(rule, number, len(parts), key, adds) for key, adds in _keys(part)]
    return rows


def _keys(literal: Expression) -> list[tuple[str, int]]:
    predicate = literal.child if isinstance(literal, Not) else literal
    assert isinstance(predicate, Compare | In)
    assert isinstance(predicate.operand, Attribute)
    (name,) = predicate.operand.path
    values = predicate.values if isinstance(predicate, In) else (predicate.value,)
    if isinstance(literal, Not):
        return [(f"{name}={PRESENT}", 1), *((f"{name}={value}", NEVER) for value in values)]
    return [(f"{name}={value}", 1) for value in values]

"""Compare two versions of an index on the same past events: which rules gain matches, and which lose some."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from ruledex.errors import RuledexError
from ruledex.spark.jobs.coverage.job import partition_by_rule
from ruledex.spark.worker.columns import project_events, refuse_stream, require_columns
from ruledex.spark.worker.layout import Layout
from ruledex.spark.worker.needs import id_type, read_needs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_COUNTERS: Final = ("gained", "lost", "kept")
_EXAMPLES: Final = ("gained_events", "lost_events")


class IndexVersion(NamedTuple):
    """One of the two versions that are compared."""

    root: str
    version: str
    trust: bool | None


class BacktestRequest(NamedTuple):
    """What a backtest asks of its tasks: plain values, which travel with the plan."""

    old: IndexVersion
    new: IndexVersion
    layout: Layout
    key: str | None  # the column that identifies an example; without one an example is the event as JSON
    n_examples: int


def backtest(
    old: str | os.PathLike[str],
    new: str | os.PathLike[str],
    events: DataFrame,
    *,
    key: str | None = None,
    examples: int = 3,
    old_version: str | None = None,
    new_version: str | None = None,
    trust: bool | None = None,
) -> DataFrame:
    """Return one row per rule of either index: how many events match only the new one, only the old one, and both.

    The columns are `rule`; `change`, which is "added", "removed", "changed" (if the text differs) or "same"; `gained`,
    `lost` and `kept`; and a few examples, `gained_events` and `lost_events`. An example is the value of the column
    `key`, or without `key` the attributes that rules look at, as JSON. The current versions are compared unless
    `old_version` or `new_version` is given, so both paths may be the same. `trust` is as in `match`, for both.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

    refuse_stream(events)
    if examples < 0:
        raise RuledexError(f"examples is {examples}; it must be 0 or more")
    require_columns(events, [] if key is None else [key])
    before = read_needs(events.sparkSession, os.fspath(old), old_version, trust=trust)
    after = read_needs(events.sparkSession, os.fspath(new), new_version, trust=trust)
    if before.ids != after.ids:
        raise RuledexError(f"the rules of one index have {before.ids} ids, and those of the other have {after.ids} ids")
    paths = tuple(dict.fromkeys([*before.paths, *after.paths]))
    read, layout = project_events(events, paths, [] if key is None else [key])
    request = BacktestRequest(
        IndexVersion(os.fspath(old), before.version, trust),
        IndexVersion(os.fspath(new), after.version, trust),
        layout,
        key,
        examples,
    )
    example = ArrayType(StringType() if key is None else events.schema[key].dataType)
    rule = StructField("rule", id_type(before.ids), False)
    change = StructField("change", StringType())
    counters = [StructField(name, LongType(), False) for name in _COUNTERS]
    examples_of = [StructField(name, example, False) for name in _EXAMPLES]

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.backtest.counters import count_changes

        return count_changes(request, batches)

    def compare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.backtest.counters import compare_rules

        return compare_rules(request, batches)

    one_task = events.sparkSession.range(1, numPartitions=1)
    texts = one_task.mapInArrow(compare, StructType([rule, change]))
    # Every rule has a row, even if it is true of no event.
    rules = texts.select(
        "rule",
        "change",
        *(functions.lit(0).cast("bigint").alias(name) for name in _COUNTERS),
        *(functions.array().cast(example).alias(name) for name in _EXAMPLES),
    )
    counted_rules = read.mapInArrow(count, StructType([rule, change, *counters, *examples_of]))
    return (
        partition_by_rule(counted_rules.unionAll(rules), max(before.n_rules, after.n_rules), "rule")
        .groupBy("rule")
        .agg(
            functions.max("change").alias("change"),
            *(functions.sum(name).alias(name) for name in _COUNTERS),
            *(_first(functions.collect_list(name), examples).alias(name) for name in _EXAMPLES),
        )
    )


def _first(lists: Column, n: int) -> Column:
    """Return the first n elements of several lists joined."""
    from pyspark.sql import functions

    return functions.slice(functions.flatten(lists), 1, n)

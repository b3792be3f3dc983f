"""Two versions of an index on the same past events: which rules gain matches, and which lose some."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from ruledex.errors import RuledexError
from ruledex.spark.jobs.coverage.job import by_rules, require_past
from ruledex.spark.jobs.match.plan import id_type
from ruledex.spark.worker.columns import projected, require_columns
from ruledex.spark.worker.layout import Layout
from ruledex.spark.worker.needs import read_needs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_COUNTERS: Final = ("gained", "lost", "kept")
_EXAMPLES: Final = ("gained_events", "lost_events")


class Version(NamedTuple):
    """One of the two."""

    root: str
    version: str
    trust: bool | None


class Question(NamedTuple):
    """What the workers are asked."""

    old: Version
    new: Version
    layout: Layout
    key: str | None  # the column that an example is told by; without one it is the event, as JSON
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
    """For each rule of either index, the events that match by the new one alone, by the old one alone, and by both.

    The columns are `rule`; `change`, which is "added", "removed", "changed" where the text is another, or "same";
    `gained`, `lost` and `kept`; and some events of the first two kinds, `gained_events` and `lost_events`: what they
    have in the column `key`, or without one what rules look at, as JSON. Current versions are compared unless others
    are given, so one path may be given twice. `trust` is as in `match`, for both.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

    require_past(events)
    if examples < 0:
        raise RuledexError(f"examples is {examples}, a number of events was expected")
    require_columns(events, [] if key is None else [key])
    before = read_needs(events.sparkSession, os.fspath(old), old_version, trust=trust)
    after = read_needs(events.sparkSession, os.fspath(new), new_version, trust=trust)
    if before.ids != after.ids:
        raise RuledexError(f"the rules of one index have {before.ids} ids, those of the other {after.ids} ids")
    paths = tuple(dict.fromkeys([*before.paths, *after.paths]))
    read, layout = projected(events, paths, [] if key is None else [key])
    question = Question(
        Version(os.fspath(old), before.version, trust),
        Version(os.fspath(new), after.version, trust),
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
        from ruledex.spark.jobs.backtest.counters import counted

        return counted(question, batches)

    def compare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.backtest.counters import compared

        return compared(question, batches)

    one_task = events.sparkSession.range(1, numPartitions=1)
    texts = one_task.mapInArrow(compare, StructType([rule, change]))
    # Every rule has a row, also where no event makes it true.
    rules = texts.select(
        "rule",
        "change",
        *(functions.lit(0).cast("bigint").alias(name) for name in _COUNTERS),
        *(functions.array().cast(example).alias(name) for name in _EXAMPLES),
    )
    counted_rules = read.mapInArrow(count, StructType([rule, change, *counters, *examples_of]))
    return (
        by_rules(counted_rules.unionAll(rules), max(before.n_rules, after.n_rules), "rule")
        .groupBy("rule")
        .agg(
            functions.max("change").alias("change"),
            *(functions.sum(name).alias(name) for name in _COUNTERS),
            *(_first(functions.collect_list(name), examples).alias(name) for name in _EXAMPLES),
        )
    )


def _first(lists: Column, n: int) -> Column:
    """The first n elements of lists together."""
    from pyspark.sql import functions

    return functions.slice(functions.flatten(lists), 1, n)

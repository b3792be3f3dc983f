"""Compare two versions of an index on the same past events: which rules gain matches, and which lose some.

Within a task, one number stands for a match: the event times the number of rules, plus the rule. So the matches of a
block are ascending numbers, and a match that both versions have stands twice when both lists are sorted together.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.errors import RuledexError
from ruledex.index import IndexMatches, RuleId
from ruledex.language.clock import Now
from ruledex.spark.jobs.coverage import partition_by_rule
from ruledex.spark.worker.blocks import ROWS_PER_BATCH, match_regrouped, spark_ids, split_batches
from ruledex.spark.worker.columns import KEPT, project_events, refuse_stream, require_columns, spark_frame
from ruledex.spark.worker.distribution import readable_root, with_functions
from ruledex.spark.worker.events import Layout, events_of_block, fields_of, mappings
from ruledex.spark.worker.faults import warn_of_zones
from ruledex.spark.worker.job_names import job_group
from ruledex.spark.worker.needs import id_type, read_needs, time_of_job
from ruledex.spark.worker.opened import explain_memory_errors, open_index

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_COUNTERS: Final = ("gained", "lost", "kept")
_EXAMPLES: Final = ("gained_events", "lost_events")
ADDED, REMOVED, CHANGED, SAME = "added", "removed", "changed", "same"

Counts = NDArray[np.int64]


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
    now: Now  # the time of the job, the same in all tasks


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
    now: Now = None,
) -> DataFrame:
    """Return one row per rule of either index: how many events match only the new one, only the old one, and both.

    The columns are `rule`; `change`, which is "added", "removed", "changed" (if the text differs) or "same"; `gained`,
    `lost` and `kept`; and a few examples, `gained_events` and `lost_events`. An example is the value of the column
    `key`, or without `key` the attributes that rules look at, as JSON. The current versions are compared unless
    `old_version` or `new_version` is given, so both paths may be the same. `trust` is as in `match`, for both.
    `now` is what now() means in rules; by default the time of the call, in all tasks and for both versions.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

    events = spark_frame(events)
    refuse_stream(events)
    if examples < 0:
        raise RuledexError(f"examples is {examples}; it must be 0 or more")
    require_columns(events, [] if key is None else [key])
    old_root = readable_root(events.sparkSession, old, old_version)
    new_root = readable_root(events.sparkSession, new, new_version)
    with job_group(events.sparkSession, "backtest"):
        before = read_needs(events.sparkSession, old_root, old_version, trust=trust)
        after = read_needs(events.sparkSession, new_root, new_version, trust=trust)
    warn_of_zones(events.sparkSession, after)
    if before.ids != after.ids:
        raise RuledexError(f"the rules of one index have {before.ids} ids, and those of the other have {after.ids} ids")
    paths = tuple(dict.fromkeys([*before.paths, *after.paths]))
    read, layout = project_events(events, paths, [] if key is None else [key])
    request = BacktestRequest(
        IndexVersion(old_root, before.version, trust),
        IndexVersion(new_root, after.version, trust),
        layout,
        key,
        examples,
        time_of_job(now, before.uses_now or after.uses_now),
    )
    example = ArrayType(StringType() if key is None else events.schema[key].dataType)
    rule = StructField("rule", id_type(before.ids))
    change = StructField("change", StringType())
    counters = [StructField(name, LongType()) for name in _COUNTERS]
    examples_of = [StructField(name, example) for name in _EXAMPLES]

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return count_changes(request, batches)

    def compare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return compare_rules(request, batches)

    one_task = events.sparkSession.range(1, numPartitions=1)
    texts = one_task.mapInArrow(with_functions(compare), StructType([rule, change]))
    # Every rule has a row, even if it is true of no event.
    rules = texts.select(
        "rule",
        "change",
        *(functions.lit(0).cast("bigint").alias(name) for name in _COUNTERS),
        *(functions.array().cast(example).alias(name) for name in _EXAMPLES),
    )
    counted_rules = read.mapInArrow(with_functions(count), StructType([rule, change, *counters, *examples_of]))
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


# Inside a task.


def count_changes(request: BacktestRequest, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the counters of one partition: matches gained, lost and kept per rule, with examples.

    Rules without a match have no row.
    """
    with explain_memory_errors(f"{request.old.root} or {request.new.root}"):
        old, new = (open_index(*version) for version in (request.old, request.new))
        rules = _union(old.ids, new.ids)
        positions = [pc.index_in(index.ids, rules).to_numpy() for index in (old, new)]
        gained, lost, kept = (np.zeros(len(rules), np.int64) for _ in range(3))
        examples = [_Examples(len(rules), request.n_examples) for _ in range(2)]
        kind = None
        for table, found in match_regrouped(batches, request.layout, [old, new], request.now):
            kind = pa.string() if request.key is None else table.schema.field(KEPT).type.field(request.key).type
            before, after = (
                _numbers(side, position, len(rules)) for side, position in zip(found, positions, strict=True)
            )
            both = np.concatenate([before, after])
            both.sort(kind="stable")  # two ascending runs, which it merges
            common = both[1:][both[1:] == both[:-1]]
            kept += _by_rule(common, len(rules))
            for mine, of_rule, shown in ((after, gained, examples[0]), (before, lost, examples[1])):
                only = np.setdiff1d(mine, common, assume_unique=True)
                of_rule += _by_rule(only, len(rules))
                shown.take(only, table, request)
        if kind is not None:
            yield from _write_rows(rules, gained, lost, kept, [shown.lists(kind) for shown in examples])


class _Examples:
    """The first few events of each rule."""

    def __init__(self, n_rules: int, most: int) -> None:
        self.most = most
        self._n_rules = n_rules
        self._n_taken: Counts = np.zeros(n_rules if most else 0, np.int64)
        self._rules: list[Counts] = []
        self._events: list[pa.Array] = []

    def take(self, numbers: Counts, table: pa.Table, request: BacktestRequest) -> None:
        """Add the matches of a block whose rules still need examples."""
        if not (self.most and len(numbers)):
            return
        event, rule = np.divmod(numbers, self._n_rules)
        order = np.argsort(rule, kind="stable")
        event, rule = event[order], rule[order]
        first = np.searchsorted(rule, rule)  # of each rule's run
        wanted = np.arange(len(rule)) - first < self.most - self._n_taken[rule]
        if wanted.any():
            event, rule = event[wanted], rule[wanted]
            self._n_taken += np.bincount(rule, minlength=self._n_rules)
            self._rules.append(rule)
            self._events.append(_shown(table, event, request))

    def lists(self, kind: Any) -> pa.Array:
        """Return the examples of each rule as lists of this type."""
        owner = np.concatenate([*self._rules, np.zeros(0, np.int64)])
        order = np.argsort(owner, kind="stable")
        events = pa.chunked_array(self._events, kind).combine_chunks().take(pa.array(order))
        offsets = np.searchsorted(owner[order], np.arange(self._n_rules + 1))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), events)


def _union(old: pa.Array, new: pa.Array) -> pa.Array:
    """Return all ids of both versions, ascending."""
    both = pc.unique(pa.concat_arrays([old, new]))
    return both.take(pc.sort_indices(both))


def _numbers(found: IndexMatches, position: Counts, n_rules: int) -> Counts:
    event = np.repeat(np.arange(found.n_events, dtype=np.int64), np.diff(found.offsets))
    return event * n_rules + position[found.position]


def _by_rule(numbers: Counts, n_rules: int) -> Counts:
    return np.bincount(numbers % n_rules, minlength=n_rules) if n_rules else np.zeros(0, np.int64)


def _shown(table: pa.Table, event: Counts, request: BacktestRequest) -> pa.Array:
    if request.key is not None:
        return fields_of(table, KEPT)[request.key].combine_chunks().take(pa.array(event))
    distinct, inverse = np.unique(event, return_inverse=True)
    events = events_of_block(table.take(pa.array(distinct)), request.layout)
    rows = mappings(events) if isinstance(events, pa.Table) else events
    texts = [orjson.dumps(row, default=str, option=orjson.OPT_PASSTHROUGH_DATETIME).decode() for row in rows]
    return pa.array(texts, pa.string()).take(pa.array(inverse))


def _write_rows(
    rules: pa.Array, gained: Counts, lost: Counts, kept: Counts, examples: list[pa.Array]
) -> Iterator[pa.RecordBatch]:
    seen = np.flatnonzero(gained + lost + kept)
    table = pa.table(
        {
            "rule": spark_ids(rules.take(pa.array(seen))),
            "change": pa.nulls(len(seen), pa.string()),
            "gained": gained[seen],
            "lost": lost[seen],
            "kept": kept[seen],
            "gained_events": examples[0].take(pa.array(seen)),
            "lost_events": examples[1].take(pa.array(seen)),
        }
    )
    yield from split_batches(table)


def compare_rules(request: BacktestRequest, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one row per rule of either version, with its change. Reads texts in the order of ids, some at a time."""
    old, new = (open_index(*version) for version in (request.old, request.new))
    kind = pa.string() if pa.types.is_large_string(new.ids.type) else new.ids.type
    for _ in batches:
        sides = merge(((i, 0, text) for i, text in old), ((i, 1, text) for i, text in new))
        rows: list[tuple[RuleId, str]] = []
        for rule_id, found in groupby(sides, key=lambda side: side[0]):
            rows.append((rule_id, _change([(side, text) for _, side, text in found])))
            if len(rows) == ROWS_PER_BATCH:
                yield _batch(rows, kind)
                rows = []
        yield _batch(rows, kind)


def _change(sides: list[tuple[int, str]]) -> str:
    if len(sides) == 2:
        return SAME if sides[0][1] == sides[1][1] else CHANGED
    return ADDED if sides[0][0] else REMOVED


def _batch(rows: list[tuple[RuleId, str]], kind: pa.DataType) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"rule": pa.array([row[0] for row in rows], kind), "change": pa.array([row[1] for row in rows], pa.string())}
    )

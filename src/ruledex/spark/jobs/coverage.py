"""Count how often each rule is true of past events.

The counters of rules, pairs of rules and events are kept inside the tasks, and leave them once per partition.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.errors import RuledexError, quoted
from ruledex.index import Index, IndexMatches, RuleId
from ruledex.language.clock import Now
from ruledex.spark.worker.blocks import match_regrouped, spark_ids, split_batches
from ruledex.spark.worker.columns import project_events, refuse_stream, spark_frame
from ruledex.spark.worker.distribution import readable_root, with_functions
from ruledex.spark.worker.events import Layout
from ruledex.spark.worker.faults import warn_of_zones
from ruledex.spark.worker.job_names import job_group, job_step
from ruledex.spark.worker.needs import id_type, read_needs, time_of_job
from ruledex.spark.worker.opened import explain_memory_errors, open_index

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_PAIRED: Final = 500  # rules; counting the pairs of all rules would need too much memory
RULES_PER_PARTITION = 100_000
RULE, PAIR, EVENTS, MATCHES, WITHOUT = "rule", "pair", "events", "matches", "without"  # what is counted


class Totals(NamedTuple):
    """The number of events, of their matches, and of events that match no rule."""

    n_events: int
    n_matches: int
    n_without: int


@dataclass(frozen=True)
class Coverage:
    """The result of counting. Call `persist` first to read several results with one pass over the events.

    `counters` has one row per rule, even if it is never true (`kind` is "rule"), one per pair ("pair"), and one per
    total ("events", "matches", "without").
    """

    counters: DataFrame

    @property
    def rules(self) -> DataFrame:
        """Every rule of the index and how many events it matches: `rule`, `matches`."""
        return self._of(RULE).select("rule", "matches")

    @property
    def never_true(self) -> DataFrame:
        """The rules that are true of no event: `rule`."""
        return self._of(RULE).where("matches = 0").select("rule")

    @property
    def pairs(self) -> DataFrame:
        """Pairs of the chosen rules that are true of the same event: `rule`, `other`, `matches`."""
        return self._of(PAIR).select("rule", "other", "matches")

    def totals(self) -> Totals:
        """Return the totals over all events. Runs a job."""
        session = self.counters.sparkSession
        with job_group(session, "coverage"), job_step(session, "read the totals"):
            rows = self.counters.where(f"kind IN ('{EVENTS}', '{MATCHES}', '{WITHOUT}')").collect()
        found = {row.kind: row.matches for row in rows}
        return Totals(found.get(EVENTS, 0), found.get(MATCHES, 0), found.get(WITHOUT, 0))

    def persist(self) -> Coverage:
        """Keep the counters in Spark's cache once they are counted. Returns the result to read from."""
        return Coverage(self.counters.persist())

    def unpersist(self) -> None:
        """Remove the counters from Spark's cache."""
        self.counters.unpersist()

    def _of(self, kind: str) -> DataFrame:
        return self.counters.where(f"kind = '{kind}'")


class CoverageRequest(NamedTuple):
    """What a coverage asks of its tasks: plain values, which travel with the plan."""

    root: str
    version: str
    layout: Layout
    pairs: tuple[int, ...]  # positions of the rules whose pairs are counted
    trust: bool | None
    now: Now  # the time of the job, the same in all tasks


def coverage(
    index: str | os.PathLike[str],
    events: DataFrame,
    pairs: Sequence[RuleId] | int | None = None,
    *,
    seed: int = 0,
    version: str | None = None,
    trust: bool | None = None,
    now: Now = None,
) -> Coverage:
    """Count the matches of each rule, the rules that are never true, and the events that match no rule.

    `pairs` names rules, or says how many to draw by `seed`; for each two of them, the events that match both are
    counted. `trust` is as in `match`. `now` is what now() means in rules; by default the time of the call, in all
    tasks.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    events = spark_frame(events)
    refuse_stream(events)
    root = readable_root(events.sparkSession, index, version)
    with job_group(events.sparkSession, "coverage"):
        needs = read_needs(events.sparkSession, root, version, trust=trust)
        chosen = choose_positions(events.sparkSession, root, needs.version, pairs, seed, trust)
    warn_of_zones(events.sparkSession, needs)
    read, layout = project_events(events, needs.paths, [])
    request = CoverageRequest(root, needs.version, layout, chosen, trust, time_of_job(now, needs.uses_now))
    identity = id_type(needs.ids)
    schema = StructType(
        [
            StructField("kind", StringType()),
            StructField("rule", identity),
            StructField("other", identity),
            StructField("n", LongType()),
        ]
    )

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return count_matches(request, batches)

    def zero(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return write_zeros(request, batches)

    all_rules = events.sparkSession.range(1, numPartitions=1).mapInArrow(with_functions(zero), schema)
    keys = ("kind", "rule", "other")
    found = partition_by_rule(read.mapInArrow(with_functions(count), schema).unionAll(all_rules), needs.n_rules, *keys)
    return Coverage(found.groupBy(*keys).agg(functions.sum("n").alias("matches")))


def partition_by_rule(counters: DataFrame, n_rules: int, *keys: str) -> DataFrame:
    """Partition counters by rule, so that they can be summed.

    The number of partitions is explicit, because Spark does not join small partitions of what is cached.
    """
    return counters.repartition(n_rules // RULES_PER_PARTITION + 1, *keys)


def choose_positions(
    session: SparkSession, root: str, version: str, pairs: Sequence[RuleId] | int | None, seed: int, trust: bool | None
) -> tuple[int, ...]:
    """Return the positions of the rules whose pairs are counted, ascending: those named, or as many as are drawn.

    One task looks them up.
    """
    if pairs is None:
        return ()
    wanted = pairs if isinstance(pairs, int) else list(pairs)
    n_wanted = wanted if isinstance(wanted, int) else len(wanted)
    if not 0 <= n_wanted <= MOST_PAIRED:
        raise RuledexError(f"pairs can be counted for at most {MOST_PAIRED} rules, not for {n_wanted:,}")

    def choose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield _choose(root, version, wanted, seed, trust)

    answer = session.range(1, numPartitions=1).mapInArrow(with_functions(choose), "chosen string, error string")
    with job_step(session, "choose the rules of pairs"):
        (row,) = answer.collect()
    if row.error is not None:
        raise RuledexError(row.error)
    return tuple(json.loads(row.chosen))


def _choose(root: str, version: str, wanted: Sequence[RuleId] | int, seed: int, trust: bool | None) -> pa.RecordBatch:
    index = open_index(root, version, trust)
    missing: list[RuleId] = []
    if isinstance(wanted, int):
        positions = random.Random(seed).sample(range(len(index)), min(wanted, len(index)))
    else:
        missing = [rule_id for rule_id in wanted if rule_id not in index]
        named = [] if missing else wanted
        positions = pc.index_in(pa.array(named, index.ids.type), index.ids).to_pylist()
    error = f"the index has no rule {quoted(missing[0])}" if missing else None
    return pa.RecordBatch.from_pydict(
        {
            "chosen": pa.array([json.dumps(sorted(set(positions)))], pa.string()),
            "error": pa.array([error], pa.string()),
        }
    )


# Inside a task.


def count_matches(request: CoverageRequest, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the counters of one partition, without those that are 0."""
    with explain_memory_errors(request.root):
        index = open_index(request.root, request.version, request.trust)
        of_rule: NDArray[np.int64] = np.zeros(len(index), np.int64)
        pairs = _Pairs(len(index), request.pairs)
        n_events = n_without = 0
        for _, (found,) in match_regrouped(batches, request.layout, [index], request.now):
            of_rule += np.bincount(found.position, minlength=len(index))
            pairs.count(found)
            n_events += found.n_events
            n_without += int(np.count_nonzero(np.diff(found.offsets) == 0))
        yield from _write_counters(index, of_rule, pairs)
        totals = {EVENTS: n_events, MATCHES: int(of_rule.sum()), WITHOUT: n_without}
        for kind, n in totals.items():
            yield from _rows(kind, pa.nulls(1, index.ids.type), pa.nulls(1, index.ids.type), np.array([n]))


def write_zeros(request: CoverageRequest, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield a counter of 0 per rule, so that rules that are never true have a row too."""
    index = open_index(request.root, request.version, request.trust)
    for _ in batches:
        yield from _rows(RULE, index.ids, pa.nulls(len(index), index.ids.type), np.zeros(len(index), np.int64))


class _Pairs:
    """For each two of the chosen rules, how many events match both."""

    def __init__(self, n_rules: int, positions: tuple[int, ...]) -> None:
        self.positions = np.array(positions, np.int64)
        self.together = np.zeros((len(positions), len(positions)), np.int64)
        self._column: NDArray[np.int32] = np.full(n_rules if positions else 0, -1, np.int32)
        self._column[self.positions] = np.arange(len(positions))

    def count(self, found: IndexMatches) -> None:
        if not len(self.positions):
            return
        column = self._column[found.position]
        is_chosen = column >= 0
        event = np.repeat(np.arange(found.n_events), np.diff(found.offsets))[is_chosen]
        truth = np.zeros((found.n_events, len(self.positions)), np.float32)
        truth[event, column[is_chosen]] = 1.0
        self.together += (truth.T @ truth).astype(np.int64)  # integers small enough to be exact in a float32

    def found(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of both rules, the smaller first, and their counts."""
        first, second = np.nonzero(np.triu(self.together, 1))
        return self.positions[first], self.positions[second], self.together[first, second]


def _write_counters(index: Index, of_rule: NDArray[np.int64], pairs: _Pairs) -> Iterator[pa.RecordBatch]:
    true = np.flatnonzero(of_rule)
    yield from _rows(RULE, index.ids.take(pa.array(true)), pa.nulls(len(true), index.ids.type), of_rule[true])
    first, second, together = pairs.found()
    yield from _rows(PAIR, index.ids.take(pa.array(first)), index.ids.take(pa.array(second)), together)


def _rows(kind: str, rule: pa.Array, other: pa.Array, n: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    kinds = pa.repeat(pa.scalar(kind), len(n))
    table = pa.table({"kind": kinds, "rule": spark_ids(rule), "other": spark_ids(other), "n": pa.array(n)})
    yield from split_batches(table)

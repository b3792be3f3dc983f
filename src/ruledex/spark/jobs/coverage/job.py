"""The rules of which pairs are counted: named, or drawn by a seed. Their places are found by a task.

Which rules past events made true, and how often: counters inside the tasks, which leave them once a partition.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from ruledex.errors import RuledexError, quoted
from ruledex.spark.jobs.match.plan import id_type
from ruledex.spark.worker.columns import projected
from ruledex.spark.worker.layout import Layout
from ruledex.spark.worker.needs import read_needs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ruledex.index.identities import RuleId


MOST_PAIRED: Final = 500  # rules: pairs of all rules would be more than anybody can hold


def chosen_positions(
    session: SparkSession, root: str, version: str, pairs: Sequence[RuleId] | int | None, seed: int, trust: bool | None
) -> tuple[int, ...]:
    """The positions of the rules that are named, or of so many that are drawn, ascending."""
    if pairs is None:
        return ()
    wanted = pairs if isinstance(pairs, int) else list(pairs)
    n_wanted = wanted if isinstance(wanted, int) else len(wanted)
    if not 0 <= n_wanted <= MOST_PAIRED:
        raise RuledexError(f"pairs are counted of {MOST_PAIRED} rules at most, not of {n_wanted:,}")

    def choose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield _chosen(root, version, wanted, seed, trust)

    (row,) = session.range(1, numPartitions=1).mapInArrow(choose, "chosen string, error string").collect()
    if row.error is not None:
        raise RuledexError(row.error)
    return tuple(json.loads(row.chosen))


def _chosen(root: str, version: str, wanted: Sequence[RuleId] | int, seed: int, trust: bool | None) -> pa.RecordBatch:
    import pyarrow as pa
    import pyarrow.compute as pc

    from ruledex.spark.worker.opened import opened

    index = opened(root, version, trust)
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


RULES_A_PARTITION = 100_000
RULE, PAIR, EVENTS, MATCHES, WITHOUT = "rule", "pair", "events", "matches", "without"  # what is counted


class Totals(NamedTuple):
    """Events, their matches together, and the events of which no rule is true."""

    n_events: int
    n_matches: int
    n_without: int


@dataclass(frozen=True)
class Coverage:
    """What was counted. All else is read from `counters`: keep that (`persist`) to look at several things by one pass.

    `counters` has a row for each rule, also for those that are never true (`kind` is "rule"), for each pair ("pair"),
    and for all events together ("events", "matches", "without").
    """

    counters: DataFrame

    @property
    def rules(self) -> DataFrame:
        """Every rule of the index, with the number of events that it is true of: `rule`, `matches`."""
        return self._of(RULE).select("rule", "matches")

    @property
    def never_true(self) -> DataFrame:
        """The rules that are true of no event: `rule`."""
        return self._of(RULE).where("matches = 0").select("rule")

    @property
    def pairs(self) -> DataFrame:
        """Pairs of the chosen rules that some event makes true together: `rule`, `other`, `matches`."""
        return self._of(PAIR).select("rule", "other", "matches")

    def totals(self) -> Totals:
        """Counts of all events; this runs a job."""
        rows = self.counters.where(f"kind IN ('{EVENTS}', '{MATCHES}', '{WITHOUT}')").collect()
        found = {row.kind: row.matches for row in rows}
        return Totals(found.get(EVENTS, 0), found.get(MATCHES, 0), found.get(WITHOUT, 0))

    def persist(self) -> Coverage:
        """Let Spark keep the counters once they are counted."""
        return Coverage(self.counters.persist())

    def unpersist(self) -> None:
        """Let Spark forget them."""
        self.counters.unpersist()

    def _of(self, kind: str) -> DataFrame:
        return self.counters.where(f"kind = '{kind}'")


class Question(NamedTuple):
    """What the workers are asked."""

    root: str
    version: str
    layout: Layout
    pairs: tuple[int, ...]  # positions of the rules of which pairs are counted
    trust: bool | None


def coverage(
    index: str | os.PathLike[str],
    events: DataFrame,
    pairs: Sequence[RuleId] | int | None = None,
    *,
    seed: int = 0,
    version: str | None = None,
    trust: bool | None = None,
) -> Coverage:
    """Matches a rule, rules that are never true, and events without a rule.

    `pairs` names rules, or says how many to draw, of which each two are counted that are true of one event.
    `trust` is as in `match`.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    require_past(events)
    root = os.fspath(index)
    needs = read_needs(events.sparkSession, root, version, trust=trust)
    chosen = chosen_positions(events.sparkSession, root, needs.version, pairs, seed, trust)
    read, layout = projected(events, needs.paths, [])
    question = Question(root, needs.version, layout, chosen, trust)
    identity = id_type(needs.ids)
    schema = StructType(
        [
            StructField("kind", StringType(), False),
            StructField("rule", identity),
            StructField("other", identity),
            StructField("n", LongType(), False),
        ]
    )

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.coverage.counters import counted

        return counted(question, batches)

    def zero(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.coverage.counters import zeros

        return zeros(question, batches)

    all_rules = events.sparkSession.range(1, numPartitions=1).mapInArrow(zero, schema)
    keys = ("kind", "rule", "other")
    found = by_rules(read.mapInArrow(count, schema).unionAll(all_rules), needs.n_rules, *keys)
    return Coverage(found.groupBy(*keys).agg(functions.sum("n").alias("matches")))


def by_rules(counters: DataFrame, n_rules: int, *keys: str) -> DataFrame:
    """Counters, of which a task has each rule once at most, partitioned to be summed.

    Said in so many words, since Spark keeps its 200 partitions, or whatever it is told, where the sums are cached.
    """
    return counters.repartition(n_rules // RULES_A_PARTITION + 1, *keys)


def require_past(events: DataFrame) -> None:
    """Counts have an end only where events have one."""
    if events.isStreaming:
        raise RuledexError("these events are a stream, whose counts would never be complete: read them as a table")

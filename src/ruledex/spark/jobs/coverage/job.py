"""Count how often each rule is true of past events.

The counters are kept inside the tasks, and leave them once per partition.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from ruledex.errors import RuledexError, quoted
from ruledex.spark.worker.columns import project_events, refuse_stream
from ruledex.spark.worker.layout import Layout
from ruledex.spark.worker.needs import id_type, read_needs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ruledex.index.identities import RuleId

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


def coverage(
    index: str | os.PathLike[str],
    events: DataFrame,
    pairs: Sequence[RuleId] | int | None = None,
    *,
    seed: int = 0,
    version: str | None = None,
    trust: bool | None = None,
) -> Coverage:
    """Count the matches of each rule, the rules that are never true, and the events that match no rule.

    `pairs` names rules, or says how many to draw by `seed`; for each two of them, the events that match both are
    counted. `trust` is as in `match`.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    refuse_stream(events)
    root = os.fspath(index)
    needs = read_needs(events.sparkSession, root, version, trust=trust)
    chosen = choose_positions(events.sparkSession, root, needs.version, pairs, seed, trust)
    read, layout = project_events(events, needs.paths, [])
    request = CoverageRequest(root, needs.version, layout, chosen, trust)
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
        from ruledex.spark.jobs.coverage.counters import count_matches

        return count_matches(request, batches)

    def zero(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.coverage.counters import write_zeros

        return write_zeros(request, batches)

    all_rules = events.sparkSession.range(1, numPartitions=1).mapInArrow(zero, schema)
    keys = ("kind", "rule", "other")
    found = partition_by_rule(read.mapInArrow(count, schema).unionAll(all_rules), needs.n_rules, *keys)
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

    (row,) = session.range(1, numPartitions=1).mapInArrow(choose, "chosen string, error string").collect()
    if row.error is not None:
        raise RuledexError(row.error)
    return tuple(json.loads(row.chosen))


def _choose(root: str, version: str, wanted: Sequence[RuleId] | int, seed: int, trust: bool | None) -> pa.RecordBatch:
    import pyarrow as pa
    import pyarrow.compute as pc

    from ruledex.spark.worker.opened import open_index

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

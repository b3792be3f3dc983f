"""The rules of which pairs are counted: named, or drawn by a seed. Their places are found by a task."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ruledex.errors import RuledexError, quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

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

    from ruledex.spark.worker import opened

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

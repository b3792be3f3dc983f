"""Count rules, pairs of rules and events inside a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.spark.jobs.coverage.job import EVENTS, MATCHES, PAIR, RULE, WITHOUT
from ruledex.spark.worker.matching import match_blocks, spark_ids, split_batches
from ruledex.spark.worker.memory import explain_memory_errors
from ruledex.spark.worker.opened import open_index

if TYPE_CHECKING:
    from ruledex.index import Index, IndexMatches
    from ruledex.spark.jobs.coverage.job import CoverageRequest


def count_matches(request: CoverageRequest, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the counters of one partition, without those that are 0."""
    with explain_memory_errors(request.root):
        index = open_index(request.root, request.version, request.trust)
        of_rule: NDArray[np.int64] = np.zeros(len(index), np.int64)
        pairs = _Pairs(len(index), request.pairs)
        n_events = n_without = 0
        for _, (found,) in match_blocks(batches, request.layout, [index]):
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

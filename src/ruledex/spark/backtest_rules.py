"""In a task: the rules of two versions of an index, and which of them are others now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from ruledex.spark.coverage_blocks import ROWS_A_BATCH
from ruledex.spark.worker import opened

if TYPE_CHECKING:
    from ruledex.index.identities import RuleId
    from ruledex.spark.backtest import Question

ADDED, REMOVED, CHANGED, SAME = "added", "removed", "changed", "same"


def compared(question: Question, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each rule of either version. Texts are read in the order of ids, some at a time."""
    old, new = (opened(*version) for version in (question.old, question.new))
    kind = pa.string() if pa.types.is_large_string(new.ids.type) else new.ids.type
    for _ in batches:
        sides = merge(((i, 0, text) for i, text in old), ((i, 1, text) for i, text in new))
        rows: list[tuple[RuleId, str]] = []
        for rule_id, found in groupby(sides, key=lambda side: side[0]):
            rows.append((rule_id, _change([(side, text) for _, side, text in found])))
            if len(rows) == ROWS_A_BATCH:
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

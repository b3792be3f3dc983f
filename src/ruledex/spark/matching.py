"""In a task: blocks of events in, their rules out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from ruledex.index import IndexMatches
from ruledex.spark.blocks import cuts, regrouped
from ruledex.spark.columns import EVENT, KEPT, NOTHING
from ruledex.spark.variants import with_variants
from ruledex.spark.worker import opened

if TYPE_CHECKING:
    from ruledex.spark.match import Question

EVENTS_A_BLOCK: Final = 8192  # whole blocks of the batch engine, and enough that a column's fixed cost is small
MATCHES_A_BATCH: Final = 1 << 20  # 8 MiB of ids: one batch of 60 million would be more than a JVM can take


def answers(question: Question, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The result's rows, in the order of the events."""
    index = opened(question.root, question.version)
    for table in regrouped(batches, EVENTS_A_BLOCK):
        events, kept = with_variants(_fields(table, EVENT), question.variants), _fields(table, KEPT)
        if question.shape == "count":
            yield _batch(kept, {"n_rules": pa.array(index.count(events))})
        else:
            found = (
                index.match_batch(events)
                if question.top is None
                else index.top_batch(events, question.top, question.rank)
            )
            write = _arrays if question.shape == "arrays" else _rows
            yield from write(kept, found)


def _arrays(kept: pa.Table, found: IndexMatches) -> Iterator[pa.RecordBatch]:
    """A row an event; a batch has so many matches at the most, unless one event has more."""
    for first, last in cuts(found.offsets, MATCHES_A_BATCH):
        begin, end = int(found.offsets[first]), int(found.offsets[last])
        offsets = pa.array(found.offsets[first : last + 1] - begin, pa.int32())
        columns = {"rules": pa.ListArray.from_arrays(offsets, _ids(found, begin, end))}
        if found.scores is not None:
            columns["scores"] = pa.ListArray.from_arrays(offsets, pa.array(found.scores[begin:end]))
        yield _batch(kept.slice(first, last - first), columns)


def _rows(kept: pa.Table, found: IndexMatches) -> Iterator[pa.RecordBatch]:
    """A row a match; an event's may lie in several batches."""
    event_of = np.repeat(np.arange(found.n_events), np.diff(found.offsets))
    for begin in range(0, found.n_matches, MATCHES_A_BATCH):
        end = min(begin + MATCHES_A_BATCH, found.n_matches)
        columns = {"rule": _ids(found, begin, end)}
        if found.scores is not None:
            columns["score"] = pa.array(found.scores[begin:end])
        yield _batch(kept.take(pa.array(event_of[begin:end])), columns)


def _ids(found: IndexMatches, begin: int, end: int) -> pa.Array:
    ids = found.ids(begin, end)
    return pa.array(ids) if isinstance(ids, np.ndarray) else ids.cast(pa.string())


def _fields(table: pa.Table, name: str) -> pa.Table:
    """The fields of a struct as columns."""
    structs = table[name]
    names = [field.name for field in structs.type]
    return pa.concat_tables([pa.Table.from_arrays(struct.flatten(), names) for struct in structs.chunks])


def _batch(kept: pa.Table, added: dict[str, pa.Array]) -> pa.RecordBatch:
    columns = {name: kept[name].combine_chunks() for name in kept.column_names if name != NOTHING}
    return pa.RecordBatch.from_pydict({**columns, **added})

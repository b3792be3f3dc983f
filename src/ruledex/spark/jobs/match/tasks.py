"""In a task: blocks of events in, their rules out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.engines.batch.rows import N_EVENTS
from ruledex.errors import RuledexError
from ruledex.index import Index, IndexMatches
from ruledex.spark.jobs.match.stream import pinned_version
from ruledex.spark.worker.blocks import (
    Blocks,
    event_cuts,
    events_of,
    match_cuts,
    row_bytes,
)
from ruledex.spark.worker.columns import (
    KEPT,
    NOTHING,
    TIME,
    WEIGHTS,
)
from ruledex.spark.worker.layout import events_of_block, fields_of
from ruledex.spark.worker.memory import explaining_memory
from ruledex.spark.worker.opened import opened
from ruledex.spark.worker.variants import mappings

if TYPE_CHECKING:
    from ruledex.language.reference import Weights
    from ruledex.spark.jobs.match.plan import Question

EVENTS_A_BLOCK: Final = 16 * N_EVENTS  # whole blocks of the batch engine; so many that a column's fixed cost is small
MATCHES_A_BLOCK: Final = 1 << 24  # 64 MiB of positions
BYTES_A_BATCH: Final = 8 << 20  # a JVM takes a batch as a whole, and one of 60 million matches kills a default one
_SOME_IDS: Final = 4096
MOST_BYTES_A_ROW: Final = (1 << 31) - 1  # what Spark can hold in one value


def answers(question: Question, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The result's rows, in the order of the events."""
    with explaining_memory(question.root):
        yield from _answers(question, batches)


def _answers(question: Question, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    most_matches = 0 if question.shape == "count" else question.top
    is_bounded = most_matches is not None and most_matches * EVENTS_A_BLOCK <= MATCHES_A_BLOCK
    blocks = Blocks(batches, EVENTS_A_BLOCK if is_bounded else N_EVENTS)
    version, index = question.version, None
    for table in blocks:
        if index is None:
            if question.stream is not None:
                version = pinned_version(question, table[TIME][0].value)
            index = opened(question.root, version, question.trust)
        added = {"version": version} if question.tells_version else {}
        kept = fields_of(table, KEPT)
        if question.shape == "count":
            counts = index.count(events_of_block(table, question.layout))
            yield from _counts(kept, counts, added)
            continue
        found = _found(question, index, table)
        if not is_bounded:
            blocks.size = next_size(blocks.size, found)
        write = _arrays if question.shape == "arrays" else _rows
        yield from write(kept, found, added)


def _found(question: Question, index: Index, table: pa.Table) -> IndexMatches:
    weights = _weights(question, table)
    events: Any = events_of_block(table, question.layout)
    if weights is not None and isinstance(events, pa.Table):
        events = mappings(events)  # weights are given by value, event by event
    if question.top is None:
        return index.match_batch(events)
    return index.top_batch(events, question.top, question.rank, weights)


def _weights(question: Question, table: pa.Table) -> list[Weights] | None:
    if WEIGHTS in table.column_names:
        return [row[WEIGHTS] for row in mappings(table.select([WEIGHTS]))]
    return None if question.weights is None else [question.weights] * table.num_rows


def next_size(size: int, found: IndexMatches) -> int:
    """So many events that their matches fit into memory well; at first few, since nobody knows how many rules fire."""
    fitting = MATCHES_A_BLOCK * found.n_events // max(1, found.n_matches) // N_EVENTS * N_EVENTS
    return max(N_EVENTS, min(2 * size, fitting, EVENTS_A_BLOCK))


def _counts(kept: pa.Table, counts: NDArray[np.int64], added: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """A row an event; what is kept of it may be large."""
    for first, last in event_cuts(row_bytes(kept) + counts.itemsize, BYTES_A_BATCH):
        yield _batch(kept.slice(first, last - first), {"n_rules": pa.array(counts[first:last])}, added)


def _arrays(kept: pa.Table, found: IndexMatches, added: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """A row an event; a batch has so many bytes at the most, unless one event has more."""
    widths = row_bytes(kept) + np.diff(found.offsets) * _match_bytes(found)
    if len(widths) and widths.max() > MOST_BYTES_A_ROW:
        n_matches = int(np.diff(found.offsets)[widths.argmax()])
        raise RuledexError(
            f"an event has {n_matches:,} rules, which do not fit into one row: ask with `explode`, or for the `top`"
        )
    for first, last in event_cuts(widths, BYTES_A_BATCH):
        begin, end = int(found.offsets[first]), int(found.offsets[last])
        offsets = pa.array(found.offsets[first : last + 1] - begin, pa.int32())
        columns = {"rules": pa.ListArray.from_arrays(offsets, ids(found, begin, end))}
        if found.scores is not None:
            columns["scores"] = pa.ListArray.from_arrays(offsets, pa.array(found.scores[begin:end]))
        yield _batch(kept.slice(first, last - first), columns, added)


def _rows(kept: pa.Table, found: IndexMatches, added: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """A row a match; an event's may lie in several batches."""
    widths = row_bytes(kept) + _match_bytes(found)
    for begin, end in match_cuts(found.offsets, widths, BYTES_A_BATCH):
        columns = {"rule": ids(found, begin, end)}
        if found.scores is not None:
            columns["score"] = pa.array(found.scores[begin:end])
        yield _batch(kept.take(pa.array(events_of(found.offsets, begin, end))), columns, added)


def _match_bytes(found: IndexMatches) -> int:
    return id_bytes(found) + (0 if found.scores is None else found.scores.itemsize)


def ids(found: IndexMatches, begin: int, end: int) -> pa.Array:
    """The ids of some of the matches, of the type that Spark has them in."""
    taken = found.ids(begin, end)
    return pa.array(taken) if isinstance(taken, np.ndarray) else taken.cast(pa.string())


def id_bytes(found: IndexMatches) -> int:
    """About how many bytes an id has: of integers exactly, of strings by some."""
    some = ids(found, 0, min(found.n_matches, _SOME_IDS))
    return int(-(-some.nbytes // max(1, len(some))))


def _batch(kept: pa.Table, added: dict[str, pa.Array], repeated: dict[str, str]) -> pa.RecordBatch:
    columns = {name: kept[name].combine_chunks() for name in kept.column_names if name != NOTHING}
    same = {name: pa.repeat(pa.scalar(value), kept.num_rows) for name, value in repeated.items()}
    return pa.RecordBatch.from_pydict({**columns, **added, **same})

"""Regroup incoming Arrow batches to blocks of events, match the blocks, and cut results into batches by bytes.

A block is as large as the number of its matches allows, so that a task never holds more than memory takes well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.engines.batch.rows import N_EVENTS
from ruledex.index import Index, IndexMatches
from ruledex.language.clock import Now
from ruledex.spark.worker.events import Layout, events_of_block

EVENTS_PER_BLOCK: Final = 16 * N_EVENTS  # whole blocks of the batch engine; a column's fixed cost is then small
MOST_EVENTS_PER_BLOCK: Final = (
    4 * EVENTS_PER_BLOCK
)  # if they are small, and nothing but their number of matches is wanted
BYTES_PER_BLOCK: Final = 16 << 20  # of more events than EVENTS_PER_BLOCK
MATCHES_PER_BLOCK: Final = 1 << 24  # 64 MiB of positions
ROWS_PER_BATCH: Final = 1 << 16
_UNKNOWN_WIDTH = 16  # bytes; for the few types that do not state a width


class BlockReader:
    """Iterates over batches as tables of `size` rows; the last may be smaller. `size` may change while iterating."""

    def __init__(self, batches: Iterable[pa.RecordBatch], size: int) -> None:
        self.size = size
        self._batches = batches

    def __iter__(self) -> Iterator[pa.Table]:
        waiting: list[pa.RecordBatch] = []
        n_waiting = 0
        for batch in self._batches:
            begin = 0
            while batch.num_rows - begin >= self.size - n_waiting:
                taken = self.size - n_waiting
                table = pa.Table.from_batches([*waiting, batch.slice(begin, taken)])
                waiting, n_waiting, begin = [], 0, begin + taken
                yield table
            if begin < batch.num_rows:
                waiting.append(batch.slice(begin))
                n_waiting += batch.num_rows - begin
        if n_waiting:
            yield pa.Table.from_batches(waiting)


def event_cuts(widths: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Yield runs of events that have at most `most` bytes. An event that is larger by itself is a run."""
    ends = np.cumsum(widths)
    first, before = 0, 0
    while first < len(widths):
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield first, last
        first, before = last, int(ends[last - 1])


def match_cuts(offsets: NDArray[np.int64], widths: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Yield runs of matches that have at most `most` bytes. `widths` has the bytes per match, by event.

    A run may begin and end within an event. A match that is larger by itself is a run.
    """
    begin, n_matches = 0, int(offsets[-1])
    ends = np.cumsum(np.diff(offsets) * widths)  # in bytes: where the matches of each event end
    while begin < n_matches:
        event = int(np.searchsorted(offsets, begin, side="right")) - 1
        left = int((offsets[event + 1] - begin) * widths[event])  # bytes of the event's remaining matches
        if left > most:
            end = begin + max(1, most // int(widths[event]))
        else:
            after = int(np.searchsorted(ends, ends[event] - left + most, side="right"))
            end = int(offsets[after])  # of the last event that fits as a whole
        yield begin, end
        begin = end


def event_lists(offsets: NDArray[np.int64], begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the events that have a match in a run, and where the matches of each begin and end, counted from 0."""
    first = int(np.searchsorted(offsets, begin, side="right")) - 1
    last = int(np.searchsorted(offsets, end, side="left"))
    within: NDArray[np.int64] = np.clip(offsets[first : last + 1], begin, end) - begin
    has_matches = within[1:] > within[:-1]
    return first + np.flatnonzero(has_matches), np.concatenate([within[:1], within[1:][has_matches]])


def events_of(offsets: NDArray[np.int64], begin: int, end: int) -> NDArray[np.int64]:
    """Return the event of each match of a run."""
    events, cuts = event_lists(offsets, begin, end)
    return np.repeat(events, np.diff(cuts))


def row_bytes(table: pa.Table) -> NDArray[np.int64]:
    """Return about how many bytes each row has."""
    total = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        if column.num_chunks:
            total += np.concatenate([_bytes(chunk) for chunk in column.chunks])
    return total


def _bytes(array: pa.Array) -> NDArray[np.int64]:
    kind = array.type
    if pa.types.is_struct(kind):
        # `flatten` would copy the fields to apply the struct's nulls to them.
        return sum((_bytes(array.field(n)) for n in range(kind.num_fields)), np.zeros(len(array), np.int64))
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = np.asarray(array.offsets).astype(np.int64)
        first, n_items = int(offsets[0]), int(offsets[-1] - offsets[0])
        children = [array.keys, array.items] if pa.types.is_map(kind) else [array.values]
        items = sum((_bytes(child.slice(first, n_items)) for child in children), np.zeros(n_items, np.int64))
        before = np.concatenate([[0], np.cumsum(items)])
        return 4 + before[offsets[1:] - first] - before[offsets[:-1] - first]  # type: ignore[no-any-return]
    if kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        return 4 + np.asarray(pc.binary_length(array).fill_null(0)).astype(np.int64)
    return np.full(len(array), _width(kind), np.int64)


def _width(kind: pa.DataType) -> int:
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return _UNKNOWN_WIDTH


# Matching.


def match_regrouped(
    batches: Iterable[pa.RecordBatch], layout: Layout, indexes: Sequence[Index], now: Now
) -> Iterator[tuple[pa.Table, list[IndexMatches]]]:
    """Yield each block of projected events with the matches of every index, as of one time.

    The first blocks are small. Later blocks are as large as the number of matches allows.
    """
    blocks = BlockReader(batches, N_EVENTS)
    for table in blocks:
        events = events_of_block(table, layout)
        found = [index.match_batch(events, now=now) for index in indexes]
        blocks.size = min(next_block_size(blocks.size, matches) for matches in found)
        yield table, found


def next_block_size(size: int, found: IndexMatches) -> int:
    """Return how many events the next block should have, given the matches of the last one.

    The size at most doubles, since nobody knows beforehand how many rules an event matches.
    """
    fitting = MATCHES_PER_BLOCK * found.n_events // max(1, found.n_matches) // N_EVENTS * N_EVENTS
    return max(N_EVENTS, min(2 * size, fitting, EVENTS_PER_BLOCK))


def counted_block_size(block: pa.Table) -> int:
    """Return how many events the next block should have, given the last one, if their matches are only counted."""
    row_size: int = max(1, block.nbytes // max(1, block.num_rows))
    fitting = BYTES_PER_BLOCK // row_size // N_EVENTS * N_EVENTS
    return max(EVENTS_PER_BLOCK, min(fitting, MOST_EVENTS_PER_BLOCK))


def split_batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Split a table into batches of a size that a JVM takes well."""
    yield from table.combine_chunks().to_batches(ROWS_PER_BATCH)


def spark_ids(ids: pa.Array) -> pa.Array:
    """Return ids in the Arrow type that Spark uses for them."""
    return ids.cast(pa.string()) if pa.types.is_large_string(ids.type) else ids

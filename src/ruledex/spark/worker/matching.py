"""Match blocks of events inside a task, without holding more matches than memory takes well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from ruledex.engines.batch.rows import N_EVENTS
from ruledex.index import Index, IndexMatches
from ruledex.spark.worker.blocks import BlockReader
from ruledex.spark.worker.layout import Layout, events_of_block

EVENTS_PER_BLOCK: Final = 16 * N_EVENTS  # whole blocks of the batch engine; a column's fixed cost is then small
MATCHES_PER_BLOCK: Final = 1 << 24  # 64 MiB of positions
ROWS_PER_BATCH: Final = 1 << 16


def match_blocks(
    batches: Iterable[pa.RecordBatch], layout: Layout, indexes: Sequence[Index]
) -> Iterator[tuple[pa.Table, list[IndexMatches]]]:
    """Yield each block of projected events with the matches of every index.

    The first blocks are small. Later blocks are as large as the number of matches allows.
    """
    blocks = BlockReader(batches, N_EVENTS)
    for table in blocks:
        events = events_of_block(table, layout)
        found = [index.match_batch(events) for index in indexes]
        blocks.size = min(next_size(blocks.size, matches) for matches in found)
        yield table, found


def next_size(size: int, found: IndexMatches) -> int:
    """Return how many events the next block should have, given the matches of the last one.

    The size at most doubles, since nobody knows beforehand how many rules an event matches.
    """
    fitting = MATCHES_PER_BLOCK * found.n_events // max(1, found.n_matches) // N_EVENTS * N_EVENTS
    return max(N_EVENTS, min(2 * size, fitting, EVENTS_PER_BLOCK))


def split_batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Split a table into batches of a size that a JVM takes well."""
    yield from table.combine_chunks().to_batches(ROWS_PER_BATCH)


def spark_ids(ids: pa.Array) -> pa.Array:
    """Return ids in the Arrow type that Spark uses for them."""
    return ids.cast(pa.string()) if pa.types.is_large_string(ids.type) else ids

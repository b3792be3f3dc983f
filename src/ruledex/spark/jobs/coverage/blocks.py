"""In a task: events in blocks, with their matches by one index or several, of which none has too many to hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from ruledex.engines.batch.rows import N_EVENTS
from ruledex.index import Index, IndexMatches
from ruledex.spark.jobs.match.tasks import next_size
from ruledex.spark.worker.blocks import Blocks
from ruledex.spark.worker.layout import Layout, events_of_block

ROWS_A_BATCH = 1 << 16


def matched_blocks(
    batches: Iterable[pa.RecordBatch], layout: Layout, indexes: Sequence[Index]
) -> Iterator[tuple[pa.Table, list[IndexMatches]]]:
    """Blocks as `projected` gave them, and what each index finds; at first few events, then as many as fit."""
    blocks = Blocks(batches, N_EVENTS)
    for table in blocks:
        events = events_of_block(table, layout)
        found = [index.match_batch(events) for index in indexes]
        blocks.size = min(next_size(blocks.size, matches) for matches in found)
        yield table, found


def in_batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """A table in pieces that a JVM takes well."""
    yield from table.combine_chunks().to_batches(ROWS_A_BATCH)


def spark_ids(ids: pa.Array) -> pa.Array:
    """Ids of the type that Spark has them in."""
    return ids.cast(pa.string()) if pa.types.is_large_string(ids.type) else ids

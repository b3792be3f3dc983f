"""Collect statistics of events in one pass over a DataFrame."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ruledex.errors import RuledexError
from ruledex.events.statistics import EventStatistics
from ruledex.spark.worker.columns import columns_to_keep, project_events, refuse_stream, spark_frame
from ruledex.spark.worker.events import EVENT
from ruledex.spark.worker.job_names import job_group

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ruledex.spark.jobs.profile.attributes import EventSketch
    from ruledex.spark.worker.needs import Path

EVENTS_PER_BLOCK = 1 << 16  # adding many values to a sketch costs little more than adding a few


def profile(
    events: DataFrame, columns: Sequence[str] | None = None, *, heavy: int = 512, quantiles: int = 200
) -> EventStatistics:
    """Return statistics of events: how often each attribute is present, its most frequent values, and a sample by rank.

    `columns` names the columns to look at; by default all. Per attribute and type, `heavy` values are counted, and each
    count is wrong by at most 1/`heavy` of all values; ranks in the sample are wrong by about 2/`quantiles`. Pass the
    result as `stats` to `Index.build` or `build_index`.
    """
    if heavy < 1 or quantiles < 2:
        raise RuledexError(f"heavy must be at least 1 and quantiles at least 2, not {heavy} and {quantiles}")
    events = spark_frame(events)
    refuse_stream(events)
    names = columns_to_keep(events, columns, [])
    read, layout = project_events(events, [(name,) for name in names], [], is_packed=False)

    def sketch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _sketch(batches, layout.variants, heavy, quantiles)

    parts = read.mapInArrow(sketch, "sketch binary").repartition(1)
    with job_group(events.sparkSession, "profile"):
        rows = parts.mapInArrow(_merge, "statistics string").collect()
    if not rows:
        return EventStatistics(0, {})
    return EventStatistics.of_dict(json.loads(rows[0].statistics))


def _sketch(
    batches: Iterator[pa.RecordBatch], variants: tuple[Path, ...], heavy: int, quantiles: int
) -> Iterator[pa.RecordBatch]:
    """Yield one row per partition: its sketch, pickled, since only a task of the same job reads it."""
    import pyarrow as pa

    from ruledex.spark.jobs.profile.attributes import EventSketch, Sizes
    from ruledex.spark.worker.blocks import BlockReader
    from ruledex.spark.worker.events import fields_of

    seen = EventSketch(Sizes(heavy, quantiles))
    for table in BlockReader(batches, EVENTS_PER_BLOCK):
        seen.add(fields_of(table, EVENT), variants)
    if seen.n_events:
        yield pa.RecordBatch.from_pydict({"sketch": pa.array([pickle.dumps(seen)], pa.binary())})


def _merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one row: the statistics of all sketches merged."""
    import pyarrow as pa

    merged: EventSketch | None = None
    for batch in batches:
        for pickled in batch.column(0).to_pylist():
            part = pickle.loads(pickled)
            if merged is None:
                merged = part
            else:
                merged.merge(part)
    if merged is not None:
        text = json.dumps(merged.statistics().to_dict())
        yield pa.RecordBatch.from_pydict({"statistics": pa.array([text], pa.string())})

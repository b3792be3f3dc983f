"""The same rules and events in two shapes: an attribute is an entry of a map, or a column of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ruledex.workloads.base import Workload

MAP = "attributes"  # the column of maps
NAME = r"\b([ak]\d+|month)\b"  # the attributes of `abe` and `advertising`, in a rule


class Shape(NamedTuple):
    """How rules name attributes, and events hold them."""

    name: str
    rules: Callable[[pa.RecordBatch], pa.RecordBatch]
    events: Callable[[Workload, int], pa.Table]
    most_events: int  # of a round, for what they take in this process's memory and Spark's time


def rules_of_maps(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rules with `attributes.a1` for `a1`."""
    texts = pc.replace_substring_regex(batch["expr"], NAME, rf"{MAP}.\1")
    return batch.set_column(batch.schema.get_field_index("expr"), batch.schema.field("expr"), texts)


def maps_of_events(events: Iterable[dict[str, int]] | Iterable[dict[str, str]]) -> pa.Table:
    """A column of maps, with the attributes that an event has; all values are texts, or all are numbers."""
    entries = [list(event.items()) for event in events]
    is_text = isinstance(next(value for event in entries for _, value in event), str)
    return pa.table({MAP: pa.array(entries, pa.map_(pa.string(), pa.string() if is_text else pa.int32()))})


MAPS = Shape("maps", rules_of_maps, lambda generator, n: maps_of_events(generator.events(n)), 1 << 19)
COLUMNS = Shape("columns", lambda batch: batch, lambda generator, n: generator.event_table(n), 1 << 16)
SHAPES = {MAPS: ("count", "top"), COLUMNS: ("count",)}  # and what is asked of each

"""Events in any form that Arrow reads, as one table or record batch."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow as pa

from ruledex.errors import EventError, quoted

ArrowEvents: TypeAlias = Any  # what `is_arrow` says yes to; pyarrow has no types of its own


def is_arrow(events: Any) -> bool:
    """Whether events are a table, a record batch, an array of structs, or give an Arrow stream as frames do."""
    if isinstance(events, dict | list | tuple):
        return False
    return isinstance(events, pa.Array) or hasattr(events, "__arrow_c_stream__") or hasattr(events, "__arrow_c_array__")


def as_table(events: ArrowEvents) -> Any:
    """The events as a table or record batch, one row per event."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        return events
    if isinstance(events, pa.Array | pa.ChunkedArray):
        return _of_structs(events)
    try:
        if hasattr(events, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(events).read_all()
        if hasattr(events, "__arrow_c_array__"):
            return pa.record_batch(events)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise EventError(f"this {type(events).__name__} cannot be read as Arrow: {error}") from None
    raise EventError(f"events are a table of Arrow or a frame that gives one, not {type(events).__name__}")


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows as mappings, maps as mappings too."""
    names = table.schema.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise EventError(f"the events have several columns named {quoted(twice)}")
    try:
        rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="lossy")
    except (pa.ArrowException, ValueError, OverflowError) as error:  # of times that Python cannot name, for one
        raise EventError(f"this table cannot be read row by row: {error}") from None
    return rows


def _of_structs(events: Any) -> Any:
    """The fields of an array of structs as columns."""
    if not pa.types.is_struct(events.type):
        raise EventError(f"an array of events is one of structs, not of {events.type}")
    if events.null_count:
        number = events.is_null().index(True).as_py()
        raise EventError("an event is a mapping of names to values, not null").at(number)
    if isinstance(events, pa.ChunkedArray):
        batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in events.chunks]
        return pa.Table.from_batches(batches, pa.schema(list(events.type)))
    return pa.RecordBatch.from_struct_array(events)

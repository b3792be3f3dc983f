"""Match events inside a task that come as they are, and not in the structs that `match` plans for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import pyarrow as pa

from ruledex.errors import RuledexError, quoted
from ruledex.language.any_text import WHOLE_EVENT
from ruledex.language.functions.custom import import_functions
from ruledex.spark.jobs.match.plan import MatchRequest
from ruledex.spark.jobs.match.tasks import ids_of_events, match_partition, time_of
from ruledex.spark.worker.columns import KEPT, NOTHING
from ruledex.spark.worker.events import EVENT
from ruledex.spark.worker.needs import Path


class FunctionCall(NamedTuple):
    """What a function of SQL asks of its tasks: plain values, which travel with the plan."""

    name: str
    request: MatchRequest
    needed: frozenset[str] | None  # the columns that rules look at; None: all of them
    required: tuple[str, ...]  # the columns that no query may leave out
    kept: Mapping[str, str]  # the columns that the result keeps, with their types
    uses_now: bool
    modules: tuple[str, ...]  # with functions of users


def needed_names(paths: Iterable[Path]) -> frozenset[str] | None:
    """Return the names of the columns that rules look at; None if they look at all."""
    paths = list(paths)
    return None if WHOLE_EVENT in paths else frozenset(path[0] for path in paths)


def match_table(call: FunctionCall, events: pa.RecordBatch, now: pa.Array | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows that a table function returns for one batch of events."""
    if not isinstance(events, pa.RecordBatch):
        raise RuledexError(f"{call.name} takes a table: SELECT * FROM {call.name}(TABLE(SELECT … FROM events))")
    import_functions(list(call.modules))
    names = events.schema.names
    _require(call, names, [*call.kept, *call.required])
    _check_types(call, events.schema)
    request = call.request._replace(now=_time(call, now))
    needed = [name for name in names if call.needed is None or name in call.needed]
    for batch in match_partition(request, [as_structs(events, needed, list(call.kept))]):
        # All columns of the function may have nulls (see result_schema), and those of a match may not.
        yield pa.RecordBatch.from_arrays(batch.columns, batch.schema.names)


def match_structs(call: FunctionCall, events: pa.Array, now: pa.Array | None) -> pa.Array:
    """Return, for each struct, the ids of the rules that are true of it. A null is an event without values."""
    if not pa.types.is_struct(events.type):
        raise RuledexError(
            f"{call.name} takes a struct whose fields are the attributes of an event: {call.name}(struct(*)), "
            f"not {events.type}"
        )
    import_functions(list(call.modules))
    names = [field.name for field in events.type]
    _require(call, names, call.required)
    kept = [n for n, name in enumerate(names) if call.needed is None or name in call.needed]
    columns = events.flatten()
    # Rules that look at nothing, such as TRUE, still need to know how many events there are.
    read = {names[n]: columns[n] for n in kept} or {NOTHING: pa.nulls(len(events), pa.bool_())}
    return ids_of_events(call.request, pa.table(read), _time(call, now), call.name, "the table function")


def as_structs(events: pa.RecordBatch, needed: Sequence[str], kept: Sequence[str]) -> pa.RecordBatch:
    """Return events as `project_events` lays them out, without a copy."""
    return pa.RecordBatch.from_arrays([_struct(events, needed), _struct(events, kept)], [EVENT, KEPT])


def _struct(events: pa.RecordBatch, names: Sequence[str]) -> pa.StructArray:
    if not names:
        return pa.StructArray.from_arrays([pa.nulls(events.num_rows, pa.bool_())], [NOTHING])
    return pa.StructArray.from_arrays([events.column(name) for name in names], list(names))


def _require(call: FunctionCall, names: Sequence[str], required: Iterable[str]) -> None:
    """Raise an error if the events lack a column. Spark itself refuses two of one name."""
    for name in required:
        if name not in names:
            why = "the result keeps it" if name in call.kept else "rules look at it"
            raise RuledexError(
                f"{call.name} was registered for events with a column {quoted(name)}, and {why}, but this query gives "
                f"it only {', '.join(names)}"
            )


def _check_types(call: FunctionCall, schema: pa.Schema) -> None:
    from pyspark.sql.pandas.types import from_arrow_type

    for name, kind in call.kept.items():
        found = from_arrow_type(schema.field(name).type).simpleString()
        if found != kind:
            raise RuledexError(
                f"{call.name} was registered for events whose column {quoted(name)} is {kind}, and in this query it is "
                f"{found}: cast it, or register the function for these events"
            )


def _time(call: FunctionCall, now: pa.Array | None) -> date | str | None:
    """Return the time that now() means in this batch."""
    if now is None:
        if call.uses_now and call.request.now is None:
            raise RuledexError(
                f"rules ask for now(), and the tasks of a query have no time in common: give {call.name} "
                "current_timestamp() as a second argument, or register it with now=…"
            )
        return call.request.now
    if not pa.types.is_timestamp(now.type) or now.type.tz is None:
        raise RuledexError(f"the time that {call.name} takes is a TIMESTAMP, such as current_timestamp()")
    column: Any = pa.chunked_array([now.cast(pa.timestamp("us", tz="UTC"))])
    return time_of(column)

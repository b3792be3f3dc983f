"""Events in every form that a user may have them in, to an EventBatch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import orjson
import pyarrow as pa

from ruledex.encode.arrow_tables import as_table, is_arrow, rows_of
from ruledex.encode.event_batch import EventBatch
from ruledex.encode.events import EventEncoder
from ruledex.errors import EventError, RuledexError
from ruledex.index.arguments import require_rows
from ruledex.language.reference import Weights
from ruledex.language.resolve import mapping_of

Event: TypeAlias = Mapping[str, Any] | str | bytes  # a mapping, or a JSON object as text
Events: TypeAlias = "Iterable[Event] | pa.Table | pa.RecordBatch | EventBatch"


def encode_events(encoder: EventEncoder, events: Events, weights: Iterable[Weights | None] | None = None) -> EventBatch:
    """The cells of events: mappings, JSON texts, an Arrow table or batch, or any data frame that Arrow can read."""
    if isinstance(events, EventBatch):
        return events
    if isinstance(events, Mapping | str | bytes | pa.StructScalar):
        raise EventError("one event was given where several are expected: put it into a list")
    if is_arrow(events):
        if weights is None:
            return encoder.arrow.encode(events)
        events = rows_of(as_table(events))  # weights are given by value, event by event
    return encoder.encode(as_mappings(events), weights)


def as_mappings(events: Iterable[Event]) -> Iterator[Mapping[str, Any]]:
    """Events as mappings; an error of one of them has its number."""
    require_rows(events, "events are mappings, JSON texts, or a table or frame", EventError)
    for number, event in enumerate(events):
        try:
            mapping = event if type(event) is dict else as_mapping(event)
        except EventError as error:
            raise error.at(number) from None
        yield mapping


def as_mapping(event: Event) -> Mapping[str, Any]:
    """One event as a mapping."""
    try:
        return _mapping(event)
    except RuledexError:
        raise
    except Exception as error:  # an object of any kind may raise anything
        raise EventError.of(error) from error


def _mapping(event: Event) -> Mapping[str, Any]:
    if isinstance(event, str | bytes | bytearray | memoryview):
        try:
            event = orjson.loads(event)
        except orjson.JSONDecodeError as error:
            raise EventError(f"an event is not JSON: {error}") from None
    return mapping_of(event)

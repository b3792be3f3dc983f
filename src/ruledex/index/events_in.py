"""Events in every form that a user may have them in, to an EventBatch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import orjson
import pyarrow as pa

from ruledex.encode.event_batch import EventBatch
from ruledex.encode.events import EventEncoder
from ruledex.errors import EventError
from ruledex.language.reference import Weights

Event: TypeAlias = Mapping[str, Any] | str | bytes  # a mapping, or a JSON object as text
Events: TypeAlias = "Iterable[Event] | pa.Table | pa.RecordBatch | EventBatch"


def encode_events(encoder: EventEncoder, events: Events, weights: Iterable[Weights | None] | None = None) -> EventBatch:
    """The cells of events: mappings, JSON texts, an Arrow table or batch, or any data frame that Arrow can read."""
    if isinstance(events, EventBatch):
        return events
    if isinstance(events, Mapping | str | bytes):
        raise EventError("one event was given where several are expected: put it into a list")
    if isinstance(events, pa.RecordBatch) or hasattr(events, "__arrow_c_stream__"):
        if weights is None:
            return encoder.arrow.encode(events)
        events = pa.table(events).to_pylist(maps_as_pydicts="lossy")  # weights are given by value, event by event
    return encoder.encode((as_mapping(event) for event in events), weights)


def as_mapping(event: Event) -> Mapping[str, Any]:
    """One event as a mapping."""
    if isinstance(event, str | bytes):
        try:
            event = orjson.loads(event)
        except orjson.JSONDecodeError as error:
            raise EventError(f"an event is not JSON: {error}") from None
    if not isinstance(event, Mapping):
        raise EventError(f"an event is a mapping of names to values, not {type(event).__name__}")
    return event

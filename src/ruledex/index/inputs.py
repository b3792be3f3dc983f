"""Check the arguments that a user gives, and read events and statistics in every form that they may be given in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast, get_args

import numpy as np
import pyarrow as pa

from ruledex.engines.protocol import Rank, Statistics
from ruledex.errors import EventError, RuledexError, quoted
from ruledex.events.arrow.tables import TABLES, is_arrow, read_arrow_events, table_rows
from ruledex.events.batch import EventBatch
from ruledex.events.frequencies import cell_frequencies_of
from ruledex.events.mappings import EventEncoder
from ruledex.events.statistics import EventStatistics
from ruledex.language.plain import is_record
from ruledex.language.reference import Weights
from ruledex.language.resolve import mapping_of

Event: TypeAlias = Any  # a mapping, an object with fields such as a dataclass's, or a JSON object as text
Events: TypeAlias = "Iterable[Event] | pa.Table | pa.RecordBatch | EventBatch"


def check_choice(name: str, value: Any, choices: Iterable[str]) -> Any:
    """Return the value if it is one of the choices. The error says what it may be."""
    if not isinstance(value, str) or value not in choices:
        raise RuledexError(f"{name} is {quoted(value)}, but one of {', '.join(choices)} was expected")
    return value


def encode_events(encoder: EventEncoder, events: Events, weights: Iterable[Weights | None] | None = None) -> EventBatch:
    """Encode events: mappings, JSON texts, an Arrow table or batch, or any data frame that Arrow can read."""
    if isinstance(events, EventBatch):
        return events
    is_table = isinstance(events, TABLES)  # which needs no further question: a batch of a stream may have one event
    if not is_table and (isinstance(events, str | bytes | pa.StructScalar) or is_record(events)):
        raise EventError("one event was given where several are expected: put it into a list")
    if is_table or is_arrow(events):
        table: Any = events if is_table else read_arrow_events(events, lambda: [encoder.dictionary])
        if isinstance(table, list):
            events = table
        elif weights is not None:
            events = table_rows(table)  # weights are given by value, for each event
        else:
            is_by_column = encoder.has_derived or encoder.arrow.is_straight(table.schema)
            rows = None if is_by_column else encoder.few_rows.read(table)
            if rows is None:
                return encoder.arrow.encode(table)
            events = rows
    if weights is None and type(events) is list and set(map(type, events)) == {dict}:
        return encoder.encode(events)  # read in blocks, as they are
    return encoder.encode(as_mappings(events), weights)


def as_mappings(events: Iterable[Event]) -> Iterator[Mapping[str, Any]]:
    """Give events as mappings. An error in one of them names its number."""
    check_rows(events, "events are mappings, JSON texts, or a table or frame", EventError)
    for number, event in enumerate(events):
        try:
            mapping = event if type(event) is dict else as_mapping(event)
        except EventError as error:
            raise error.at(number) from None
        yield mapping


def as_mapping(event: Event) -> Mapping[str, Any]:
    """Return one event as a mapping."""
    try:
        return mapping_of(event)
    except RuledexError:
        raise
    except Exception as error:  # an object of an unknown type may raise anything
        raise EventError.of(error) from error


# Frequencies of cells, a profile of events, the path or URL of a saved one, or a sample of events.
Stats: TypeAlias = "Statistics | EventStatistics | str | os.PathLike[str] | Events"


def cell_statistics(encoder: EventEncoder, stats: Stats | None) -> Statistics | None:
    """Return how often events have each cell of the encoder's dictionary; None if nothing is known."""
    if stats is None or isinstance(stats, Statistics):
        return stats
    if isinstance(stats, str | os.PathLike):
        stats = EventStatistics.open(os.fspath(stats))
    if isinstance(stats, EventStatistics):
        return Statistics(cell_frequencies_of(stats, encoder.dictionary)) if stats.n_events else None
    batch = encode_events(encoder, stats)
    if batch.n_events == 0:
        return None
    return Statistics(np.bincount(batch.cells, minlength=encoder.dictionary.n_cells) / batch.n_events)


# Arguments.


def check_rank(rank: Any) -> Rank:
    """Return a way to rank."""
    return cast(Rank, check_choice("rank", rank, get_args(Rank)))


def check_weights(weights: Any) -> list[Weights | None] | None:
    """Return the weights of many events, one entry per event, as a list."""
    if weights is None:
        return None
    if isinstance(weights, Mapping | str | bytes) or not isinstance(weights, Iterable):
        raise EventError(f"weights are a list with one entry per event, a mapping or None, not {quoted(weights)}")
    return list(weights)


def check_rows(given: Any, what: str, error: type[RuledexError]) -> None:
    """Raise an error if rows cannot be read one by one."""
    if isinstance(given, Iterable):
        return
    hint = ""
    if hasattr(given, "collect"):  # a LazyFrame of polars, a relation, a frame of Spark
        hint = ": it has no rows yet; pass what .collect() returns"
    raise error(f"{what}, not {type(given).__name__}{hint}")

"""Read which columns the events of a file have, with their types, as an Arrow schema.

A Parquet file says so itself. Of JSON lines all events are read: their attributes are the columns. An attribute with
values of several types, or only with nulls, has the type null, which stands for any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ruledex.errors import EventError, InputError
from ruledex.sources.event_file import read_events
from ruledex.sources.lines import STANDARD_INPUT, convert_file_errors, form_of

if TYPE_CHECKING:
    import pyarrow as pa

_FORMS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet"}
_DEEPEST: Final = 100  # levels of attributes; what lies deeper has any type


def read_columns(name: str) -> pa.Schema:
    """Return the columns of a Parquet file, or of JSON lines; `-` is standard input."""
    if name != STANDARD_INPUT and form_of(name, _FORMS, "events with types") == "parquet":
        return _parquet_schema(name)
    import pyarrow as pa

    found: dict[str, _Seen] = {}
    n_events = 0
    for _, event in read_events(name):
        if isinstance(event, EventError):
            raise InputError(f"{name}: {event}")
        _see_fields(found, event, 1)
        n_events += 1
    if not n_events:
        raise InputError(f"{name}: there is no event whose columns rules could be checked against")
    return pa.schema({attribute: seen.type() for attribute, seen in found.items()})


def _parquet_schema(name: str) -> pa.Schema:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with convert_file_errors(name):
        try:
            return pq.read_schema(name)
        except pa.ArrowException as error:
            raise InputError(f"{name}: {error}") from None


class _Seen:
    """The types of the values that an attribute has had so far."""

    def __init__(self) -> None:
        self.scalars: set[str] = set()
        self.fields: dict[str, _Seen] | None = None  # None: no value was an object
        self.elements: _Seen | None = None  # None: no value was an array
        self.is_open = False

    def see(self, value: Any, depth: int) -> None:
        """Take in one more value."""
        if depth > _DEEPEST:
            self.is_open = True
        elif isinstance(value, Mapping):
            self.fields = {} if self.fields is None else self.fields
            _see_fields(self.fields, value, depth + 1)
        elif isinstance(value, list):
            self.elements = self.elements or _Seen()
            for element in value:
                self.elements.see(element, depth + 1)
        elif value is not None:
            self.scalars.add(_scalar_name(value))

    def type(self) -> pa.DataType:
        """Return the one type of all values, or null if there is no such type."""
        import pyarrow as pa

        n_kinds = len(self.scalars) + (self.fields is not None) + (self.elements is not None)
        if self.is_open or n_kinds != 1:
            return pa.null()
        if self.fields is not None:
            return pa.struct([(name, seen.type()) for name, seen in self.fields.items()])
        if self.elements is not None:
            return pa.list_(self.elements.type())
        return {"boolean": pa.bool_(), "number": pa.float64(), "string": pa.string()}[next(iter(self.scalars))]


def _see_fields(found: dict[str, _Seen], fields: Mapping[str, Any], depth: int) -> None:
    for name, value in fields.items():
        if name not in found:
            found[name] = _Seen()
        found[name].see(value, depth)


def _scalar_name(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string"

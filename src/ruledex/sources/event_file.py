"""Read events, or only their columns, from JSON lines, CSV, Parquet or standard input.

A broken line does not end the file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from ruledex.errors import EventError, InputError, quoted
from ruledex.language.json_decimals import load_decimals, read_decimal
from ruledex.language.schema import Schema, read_path
from ruledex.language.tree import Attribute
from ruledex.language.value import Family
from ruledex.sources.lines import STANDARD_INPUT, LineFile, SourceFile, as_text_file, convert_file_errors, form_of

if TYPE_CHECKING:
    import pyarrow as pa

EventRow: TypeAlias = tuple[int, dict[str, Any] | EventError]
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_MOST_DIGITS: Final = 1_000
_BOOLEANS: Final = {"true": True, "false": False}
_TYPED_FORMS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet"}
_FORMS: Final = {**_TYPED_FORMS, ".csv": "csv"}
_LARGEST: Final = 1 << 14  # rows of a table that are read at once
_MOST_AHEAD: Final = 1 << 16  # lines that are read ahead
_DEEPEST: Final = 100  # levels of attributes in a schema; what lies deeper has any type


def read_events(source: str | Iterable[bytes], decimals: bool = False) -> Iterator[EventRow]:
    """Yield the number of each line with its event, or with an error if the line is not an event.

    `source` is a path, `-` for standard input, or the lines themselves. Blank lines are skipped. With `decimals`,
    numbers with a fraction are decimals, as they are written.

    >>> from ruledex.sources import read_events
    >>> list(read_events([b'{"age": 20}', b"", b'{"age": 10}']))
    [(1, {'age': 20}), (3, {'age': 10})]
    """
    if isinstance(source, str):
        with closing(LineFile(source).lines()) as lines:
            yield from read_events(lines, decimals)
        return
    load = load_decimals if decimals else orjson.loads
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        try:
            event = load(line)
        except orjson.JSONDecodeError as error:
            yield number, EventError(f"line {number} is not JSON: {error}")
            continue
        except EventError as error:
            yield number, EventError(f"line {number}: {error}")
            continue
        yield number, event if isinstance(event, dict) else EventError(f"line {number} is not a JSON object")


@dataclass
class Batch:
    """Events with the line or row of each, and a message per line that is not an event."""

    numbers: list[int] = field(default_factory=list)
    events: list[dict[str, Any]] | pa.RecordBatch = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.numbers)


class EventFile(SourceFile):
    """A file of events that is read once, in batches. `batch_size` may change while reading.

    `schema` says which CSV fields are numbers and which are texts. With `decimals`, numbers with a fraction in JSON and
    CSV are decimals, as they are written.
    """

    def __init__(self, name: str, schema: Schema, batch_size: int, decimals: bool = False) -> None:
        super().__init__(name, "jsonl" if name == STANDARD_INPUT else form_of(name, _FORMS, "events"))
        self.batch_size = batch_size
        self._schema = schema
        self._decimals = decimals
        # Standard input may pause: events that have come are answered without waiting for a full batch.
        self._live = LiveLines(self._lines.lines()) if name == STANDARD_INPUT else None

    def batches(self) -> Iterator[Batch]:
        """Yield all events in their order."""
        if self._form == "parquet":
            yield from self._tables()
            return
        if self._live is not None:
            yield from self._gather(read_events(self._live, self._decimals))
            return
        with closing(self._lines.lines()) as lines:
            is_json = self._form == "jsonl"
            yield from self._gather(read_events(lines, self._decimals) if is_json else self._csv(lines))

    def _gather(self, rows: Iterator[EventRow]) -> Iterator[Batch]:
        batch = Batch()
        for number, event in rows:
            if isinstance(event, EventError):
                batch.faults.append(str(event))
            else:
                batch.numbers.append(number)
                assert isinstance(batch.events, list)
                batch.events.append(event)
            is_full = len(batch) >= self.batch_size or len(batch.faults) >= self.batch_size
            if is_full or (self._live is not None and self._live.is_waiting):
                yield batch
                batch = Batch()
        if batch.numbers or batch.faults:
            yield batch

    def _csv(self, lines: Iterator[bytes]) -> Iterator[EventRow]:
        """Yield events of CSV. The header has attributes as in rules (`device.os`), and an empty field is no value."""
        reader = csv.reader(as_text_file(lines), strict=True)
        try:
            header = next(reader, None)
            if header is None:
                raise InputError(f"{self.name}: the file is empty; its first row must name the attributes")
            for attribute in header:
                if header.count(attribute) > 1:
                    raise InputError(f"{self.name}: several columns are named {quoted(attribute)}")
            columns = [(path, self._schema.family(Attribute(path))) for path in map(read_path, header)]
            paths = {path for path, _ in columns}
            for path, _ in columns:
                if any(path[:n] in paths for n in range(1, len(path))):
                    both = f"{quoted('.'.join(path))} and one that it begins with"
                    raise InputError(f"{self.name}: there are columns {both}; an attribute is a value or a struct")
        except csv.Error as error:
            raise InputError(f"{self.name}: the first row is not CSV: {error}") from None
        while True:
            line = reader.line_num + 1
            try:
                record = next(reader, None)
            except csv.Error as error:
                yield line, EventError(f"line {line} is not CSV: {error}")
                continue
            if record is None:
                return
            if len(record) > len(columns):
                yield line, EventError(f"line {line} has {len(record)} fields, but the header has {len(columns)}")
            elif record:
                yield line, _event(record, columns, self._decimals)

    def _tables(self) -> Iterator[Batch]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with convert_file_errors(self.name):
            try:
                with pq.ParquetFile(self.name) as file:
                    self._n_rows = file.metadata.num_rows
                    for table in file.iter_batches(_LARGEST):
                        yield from self._slices(table)
            except pa.ArrowException as error:
                raise InputError(f"{self.name}: {error}") from None

    def _slices(self, table: pa.RecordBatch) -> Iterator[Batch]:
        start = 0
        while start < table.num_rows:
            rows = table.slice(start, self.batch_size)
            numbers = list(range(self._n_rows_read + 1, self._n_rows_read + rows.num_rows + 1))
            self._n_rows_read += rows.num_rows
            start += rows.num_rows
            yield Batch(numbers, rows)


def _event(record: list[str], columns: list[tuple[tuple[str, ...], Family]], decimals: bool) -> dict[str, Any]:
    event: dict[str, Any] = {}
    for text, (path, family) in zip(record, columns, strict=False):
        if text == "":
            continue
        at = event
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at[path[-1]] = _value(text, family, decimals)
    return event


def _value(text: str, family: Family, decimals: bool) -> Any:
    """Return a CSV field as the type that the schema or the rules give the attribute, or else as what it looks like."""
    if family in (Family.NUMBER, Family.ANY) and (match := _NUMBER.fullmatch(text)):
        # Python refuses to read an integer of thousands of digits.
        if match[2] or match[3] or len(text) > _MOST_DIGITS:
            return read_decimal(text) if decimals else float(text)
        return int(text)
    if family in (Family.BOOLEAN, Family.ANY) and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    return text


class LiveLines:
    """Reads lines in a thread, so that one can ask whether the next line has come."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._queue: SimpleQueue[bytes | Exception | None] = SimpleQueue()
        self._room = Semaphore(_MOST_AHEAD)
        Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: Iterator[bytes]) -> None:
        try:
            for line in lines:
                self._room.acquire()
                self._queue.put(line)
        except Exception as error:  # raised again where the lines are used
            self._queue.put(error)
        self._queue.put(None)

    @property
    def is_waiting(self) -> bool:
        """Whether the next line has not come yet."""
        return self._queue.empty()

    def __iter__(self) -> Iterator[bytes]:
        while (line := self._queue.get()) is not None:
            if isinstance(line, Exception):
                raise line
            self._room.release()
            yield line


def read_columns(name: str) -> pa.Schema:
    """Return the columns of events with their types, from a Parquet file, JSON lines, or standard input (`-`).

    A Parquet file states them. JSON lines are read to the end, and each attribute is a column. An attribute with values
    of several types, or only with nulls, has the type null, which stands for any type.
    """
    if name != STANDARD_INPUT and form_of(name, _TYPED_FORMS, "events with types") == "parquet":
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

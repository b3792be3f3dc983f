"""Lines of a stream that may pause: whether more are there already can be asked, so that nothing waits in vain.

Files of events in batches: JSON lines, CSV, Parquet, standard input. A broken line is a value, not the end.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from ruledex.errors import InputError
from ruledex.language.schema import Schema, read_path
from ruledex.language.tree import Attribute
from ruledex.language.value import Family
from ruledex.sources.lines import (
    STANDARD_INPUT,
    LineFile,
    as_text_file,
    convert_read_errors,
)

_MOST_AHEAD: Final = 1 << 16  # lines that are read before they are asked for


class LiveLines:
    """Reads lines in a thread of its own."""

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
        """Whether no further line has come yet."""
        return self._queue.empty()

    def __iter__(self) -> Iterator[bytes]:
        while (line := self._queue.get()) is not None:
            if isinstance(line, Exception):
                raise line
            self._room.release()
            yield line


_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_MOST_DIGITS: Final = 1_000
_BOOLEANS: Final = {"true": True, "false": False}
_FORMS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}


@dataclass
class Batch:
    """Some events, the line or row of each, and the lines that were none."""

    numbers: list[int] = field(default_factory=list)
    events: list[dict[str, Any]] | pa.RecordBatch = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.numbers)


class EventStream:
    """Events to be read once, in batches whose size may change on the way.

    `schema` tells numbers from texts in CSV, where a file does not. `n_read` of `size` tells how far reading is.
    """

    def __init__(self, name: str, schema: Schema, batch_size: int) -> None:
        self.batch_size = batch_size
        self._name = name
        self._schema = schema
        self._form = _form_of(name)
        self._lines = LineFile(name)
        # A stream may pause: what has come by then is answered, and does not wait for a batch to be full.
        self._live = LiveLines(self._lines.lines()) if name == STANDARD_INPUT else None
        self._n_rows: int | None = None
        self._n_rows_read = 0

    @property
    def size(self) -> int | None:
        """Bytes of a text file, rows of a table; None where it is not known."""
        return self._n_rows if self._form == "parquet" else self._lines.n_bytes

    @property
    def n_read(self) -> int:
        """How much of that has been read."""
        return self._n_rows_read if self._form == "parquet" else self._lines.n_bytes_read

    def batches(self) -> Iterator[Batch]:
        """All events in their order."""
        if self._form == "parquet":
            yield from self._tables()
            return
        batch = Batch()
        for number, event in self._json() if self._form == "jsonl" else self._csv():
            if isinstance(event, str):
                batch.faults.append(f"line {number}: {event}")
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

    def _json(self) -> Iterator[tuple[int, dict[str, Any] | str]]:
        for number, line in enumerate(self._live or self._lines.lines(), 1):
            if not line.strip():
                continue
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                yield number, f"this is not JSON: {error}"
                continue
            yield number, event if isinstance(event, dict) else "this is not a JSON object"

    def _csv(self) -> Iterator[tuple[int, dict[str, Any] | str]]:
        """A header is an attribute as rules write it (`device.os`), and an empty field is no value."""
        reader = csv.reader(as_text_file(self._lines.lines()), strict=True)
        try:
            header = next(reader, None)
            if header is None:
                raise InputError(f"{self._name}: the file is empty; its first row names the attributes")
            columns = [(path, self._schema.family(Attribute(path))) for path in map(read_path, header)]
        except csv.Error as error:
            raise InputError(f"{self._name}: the first row is not CSV: {error}") from None
        while True:
            line = reader.line_num + 1
            try:
                record = next(reader, None)
            except csv.Error as error:
                yield line, f"this is not CSV: {error}"
                continue
            if record is None:
                return
            if len(record) > len(columns):
                yield line, f"this has {len(record)} fields, and the header {len(columns)}"
            elif record:
                yield line, _event(record, columns)

    def _tables(self) -> Iterator[Batch]:
        with convert_read_errors(self._name):
            try:
                with pq.ParquetFile(self._name) as file:
                    self._n_rows = file.metadata.num_rows
                    for table in file.iter_batches(_LARGEST):
                        yield from self._slices(table)
            except pa.ArrowException as error:
                raise InputError(f"{self._name}: {error}") from None

    def _slices(self, table: pa.RecordBatch) -> Iterator[Batch]:
        start = 0
        while start < table.num_rows:
            rows = table.slice(start, self.batch_size)
            numbers = list(range(self._n_rows_read + 1, self._n_rows_read + rows.num_rows + 1))
            self._n_rows_read += rows.num_rows
            start += rows.num_rows
            yield Batch(numbers, rows)


_LARGEST: Final = 1 << 14


def _form_of(name: str) -> str:
    if name == STANDARD_INPUT:
        return "jsonl"
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    compressed = suffixes[-1:] == [".gz"]
    form = _FORMS.get((suffixes[-2:-1] if compressed else suffixes[-1:] or [""])[0] if suffixes else "")
    if form is None or (compressed and form == "parquet"):
        raise InputError(f"{name}: a file of events is one of {', '.join(_FORMS)}, or a text form of these with .gz")
    return form


def _event(record: list[str], columns: list[tuple[tuple[str, ...], Family]]) -> dict[str, Any]:
    event: dict[str, Any] = {}
    for text, (path, family) in zip(record, columns, strict=False):
        if text == "":
            continue
        at = event
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at[path[-1]] = _value(text, family)
    return event


def _value(text: str, family: Family) -> Any:
    """A field as what the schema or the rules take the attribute for; where neither tells, as what it looks like."""
    if family in (Family.NUMBER, Family.ANY) and (match := _NUMBER.fullmatch(text)):
        # Python reads no integer of thousands of digits.
        return float(text) if match[2] or match[3] or len(text) > _MOST_DIGITS else int(text)
    if family in (Family.BOOLEAN, Family.ANY) and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    return text

"""Write matches as JSON lines or Parquet, batch by batch as they come."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from ruledex.errors import InputError
from ruledex.outputs import whole_file
from ruledex.sources.lines import convert_file_errors


class Results(Protocol):
    """Writes the results of events."""

    def write(self, numbers: list[int], columns: pa.RecordBatch) -> None:
        """Write a batch: the numbers of events, and their `rules` (and `scores`) or `count`."""


class JsonResults:
    """Writes one JSON object per event."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, numbers: list[int], columns: pa.RecordBatch) -> None:
        """Write one line per event."""
        for number, row in zip(numbers, _rows(columns), strict=True):
            self._file.write(orjson.dumps({"event": number} | row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
        self._file.flush()


def _rows(columns: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    for row in range(columns.num_rows):
        found = {}
        for name, column in zip(columns.schema.names, columns.columns, strict=True):
            value = column[row]
            # Lists of numbers become JSON without a Python object per number.
            plain = isinstance(value, pa.LargeListScalar) and pa.types.is_primitive(value.type.value_type)
            found[name] = np.asarray(value.values) if plain else value.as_py()
        yield found


class ParquetResults:
    """Writes a table with one row per event, and one row group per batch."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer

    def write(self, numbers: list[int], columns: pa.RecordBatch) -> None:
        """Write a row group."""
        self._writer.write_batch(_add_numbers(numbers, columns))


def _add_numbers(numbers: list[int], columns: pa.RecordBatch) -> pa.RecordBatch:
    arrays = [pa.array(numbers, pa.int64()), *columns.columns]
    return pa.RecordBatch.from_arrays(arrays, ["event", *columns.schema.names])


@contextmanager
def results_to(output: str | None, empty: pa.RecordBatch) -> Iterator[Results]:
    """Open the file that results go to, for a `with`; by default standard output. `empty` has the columns to come.

    The file appears when all results are written. Until then an old file stays, which may be where events come from.
    """
    if output is None or output == "-":
        yield JsonResults(sys.stdout.buffer)
        return
    suffix = Path(output).suffix.lower()
    if suffix not in (".parquet", ".jsonl", ".ndjson"):
        raise InputError(f"{output}: a file of results ends in .jsonl, .ndjson or .parquet")
    with convert_file_errors(output), whole_file(output) as file:
        if suffix == ".parquet":
            with pq.ParquetWriter(file, _add_numbers([], empty).schema, compression="zstd") as writer:
                yield ParquetResults(writer)
        else:
            yield JsonResults(file)

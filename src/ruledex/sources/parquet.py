"""Read rules from a Parquet file, in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from ruledex.errors import InputError, quoted
from ruledex.sources.lines import convert_file_errors
from ruledex.sources.row import MISSING, BadRow, Columns, Row, row_of

_BATCH: Final = 8_192


class ParquetRules:
    """The rules of a Parquet file."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._name = str(path)
        self._columns = columns
        with convert_file_errors(self._name):
            try:
                self._file = pq.ParquetFile(path)
            except pa.ArrowInvalid as error:
                raise InputError(f"{path}: this is not a Parquet file: {error}") from None
        self.n_rows: int = self._file.metadata.num_rows
        fields = self._file.schema_arrow
        for wanted in (columns.id, columns.expr):
            if wanted not in fields.names:
                known = ", ".join(fields.names)
                raise InputError(f"{path}: there is no column {quoted(wanted)}; the columns are {known}")
        if not _is_text(fields.field(columns.expr).type):
            kind = fields.field(columns.expr).type
            raise InputError(f"{path}: the column {quoted(columns.expr)} holds {kind}, not text")
        self._read = [columns.id, columns.expr] + [columns.score] * (columns.score in fields.names)

    def rows(self) -> Iterator[Row]:
        """Yield all rows in their order, numbered from 1."""
        number = 0
        with convert_file_errors(self._name):
            try:
                for batch in self._file.iter_batches(_BATCH, columns=self._read):
                    ids, texts, *scores = (_values(batch.column(name)) for name in self._read)
                    for i in range(batch.num_rows):
                        number += 1
                        rule_id = _decode(ids[i])
                        if rule_id is None and ids[i] is not None:
                            yield BadRow(number, "", "the id is not UTF-8")
                        else:
                            yield row_of(number, rule_id, texts[i], MISSING, scores[0][i] if scores else MISSING)
            except pa.ArrowException as error:
                raise InputError(f"{self._name}: {error}") from None


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind))


def _values(column: pa.Array) -> list[Any]:
    """Return the values of a column, texts as bytes: Arrow does not check UTF-8, and one bad value must not end all."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return column.to_pylist()  # type: ignore[no-any-return]


def _decode(value: object) -> object:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None

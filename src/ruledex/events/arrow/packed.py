"""Pack many columns of one type into one column of lists, with one element per column.

Passing rows between processes costs time per column of each row, even if it is empty. If a table has a thousand
columns, of which a row has twenty, this costs more than everything else, while a list costs little more than its bytes.
The schema's metadata says which columns a list has, so that a packed table can be used wherever a plain one can.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.errors import EventError
from ruledex.events.arrow.buffers import there

_KEY: Final = b"ruledex.packed"


class SparseColumn(NamedTuple):
    """The values of a column that are not null, and their rows, which ascend."""

    values: Any
    rows: NDArray[np.int64]


def with_packed(table: Any, packed: Mapping[str, Sequence[str]]) -> Any:
    """Return the table, marked as packed: `packed` names the columns in each column of lists."""
    return table.replace_schema_metadata({_KEY: json.dumps(packed)}) if packed else table


def packed_in(schema: Any) -> Mapping[str, Sequence[str]]:
    """Return the columns of lists, and the columns in each."""
    metadata = schema.metadata
    return _names(metadata[_KEY]) if metadata and _KEY in metadata else {}


@lru_cache(16)  # the batches of a table have the same metadata
def _names(text: bytes) -> Mapping[str, Sequence[str]]:
    names: Mapping[str, Sequence[str]] = json.loads(text)
    return names


def sparse_columns(lists: Any, names: Sequence[str]) -> Iterator[tuple[str, SparseColumn]]:
    """Yield the columns in a column of lists, without those that are all null."""
    n_columns = len(names)
    values, rows, columns = [], [], []
    first = 0
    for chunk in _chunks(lists):
        elements = _elements(chunk, n_columns)
        places = there(elements)
        row, column = np.divmod(places, n_columns)
        values.append(elements.take(pa.array(places)))
        rows.append(row + first)
        columns.append(column)
        first += len(chunk)
    if not values:
        return
    column = np.concatenate(columns).astype(np.min_scalar_type(n_columns))  # fewer bits are sorted sooner
    order = np.argsort(column, kind="stable")
    ordered_values = pa.concat_arrays(values).take(pa.array(order))
    ordered_rows = np.concatenate(rows)[order]
    ends = np.cumsum(np.bincount(column, minlength=n_columns))
    begin = 0
    for name, end in zip(names, ends.tolist(), strict=True):
        if end > begin:
            yield name, SparseColumn(ordered_values.slice(begin, end - begin), ordered_rows[begin:end])
        begin = end


def unpacked(table: Any) -> Any:
    """Return the table with plain columns in place of each column of lists."""
    packed = packed_in(table.schema)
    if not packed:
        return table
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name not in packed:
            columns[name] = table[name]
            continue
        names, chunks = packed[name], [_elements(chunk, len(packed[name])) for chunk in _chunks(table[name])]
        kind = table.schema.field(name).type.value_type
        for place, inner in enumerate(names):
            parts = [chunk.take(pa.array(np.arange(place, len(chunk), len(names)))) for chunk in chunks]
            columns[inner] = pa.chunked_array(parts, kind)
    return pa.table(columns)


def _chunks(column: Any) -> Sequence[Any]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _elements(lists: Any, n_columns: int) -> Any:
    if lists.null_count or not pc.all(pc.equal(pc.list_value_length(lists), n_columns), min_count=0).as_py():
        raise EventError(f"a row of packed columns does not have one value for each of its {n_columns:,} columns")
    return lists.flatten()

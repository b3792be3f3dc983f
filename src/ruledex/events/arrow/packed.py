"""Many columns of one type as one column of lists, with an element a column.

Who hands over rows pays for each column of each row, whatever it holds. Of a table with a thousand columns of which a
row has twenty, that is more than all else; a list costs little more than its bytes. Which columns a list has is said by
the schema's metadata, so that such a table can stand wherever a plain one can.
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
    """The values of a column that are not null, and their rows, ascending."""

    values: Any
    rows: NDArray[np.int64]


def with_packed(table: Any, packed: Mapping[str, Sequence[str]]) -> Any:
    """A table some of whose columns are lists of values, each of the columns that are named for it."""
    return table.replace_schema_metadata({_KEY: json.dumps(packed)}) if packed else table


def packed_in(schema: Any) -> Mapping[str, Sequence[str]]:
    """The columns of lists, with the columns that are in each."""
    metadata = schema.metadata
    return _names(metadata[_KEY]) if metadata and _KEY in metadata else {}


@lru_cache(16)  # the batches of a table say the same
def _names(text: bytes) -> Mapping[str, Sequence[str]]:
    names: Mapping[str, Sequence[str]] = json.loads(text)
    return names


def sparse_columns(lists: Any, names: Sequence[str]) -> Iterator[tuple[str, SparseColumn]]:
    """The columns in a column of lists, those left out that are null throughout."""
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
    column = np.concatenate(columns).astype(np.min_scalar_type(n_columns))  # the fewer bits, the sooner in order
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
    """The same with plain columns, in the place of each list those that are in it."""
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
        raise EventError(f"a row of packed columns has not one value for each of its {n_columns:,} columns")
    return lists.flatten()

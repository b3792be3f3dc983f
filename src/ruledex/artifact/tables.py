"""Read and write Arrow tables as Parquet. Equal tables are equal bytes; damage is an error even without hashes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ruledex.artifact.layout import ROW_GROUP
from ruledex.errors import ArtifactError

if TYPE_CHECKING:
    import pyarrow.parquet as pq


_PAGE_BYTES = 16 << 20  # a row group is decoded as a whole, so larger pages cost nothing, and repeat more


def write_parquet(path: Path, table: pa.Table, what: str, distinct: Collection[str] = ()) -> None:
    """Write a table. Its chunks in memory do not affect the bytes.

    Integers, and the columns `distinct`, have no dictionary, which would only be written beside values that are all
    different. Of integers in lists, the bytes of equal weight lie together: their high bytes are much alike.
    """
    import pyarrow.parquet as pq

    lists = {field.name: field for field in table.schema if is_list_of_integers(field.type)}
    by_value = [
        field.name
        for field in table.schema
        if not pa.types.is_integer(field.type) and field.name not in lists and field.name not in distinct
    ]
    try:
        with pq.ParquetWriter(
            path,
            table.schema,
            compression="zstd",
            compression_level=3,
            use_dictionary=by_value,
            column_encoding={
                f"{name}.list.{field.type.value_field.name}": "BYTE_STREAM_SPLIT" for name, field in lists.items()
            },
            data_page_size=_PAGE_BYTES,
            write_page_checksum=True,
            use_compliant_nested_type=False,  # a compliant type would rename the fields in lists
        ) as to:
            for start in range(0, table.num_rows, ROW_GROUP):
                # Pages end where chunks end, so each group is made one chunk; one group at a time keeps memory small.
                to.write_table(table.slice(start, ROW_GROUP).combine_chunks(), row_group_size=ROW_GROUP)
    except pa.ArrowException as error:
        raise ArtifactError(f"{what} cannot be written as Parquet: {error}") from error


def is_list_of_integers(kind: pa.DataType) -> bool:
    """Return whether a column of this type has lists of integers of 32 bits."""
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return is_list and bool(kind.value_type == pa.int32())


def read_parquet(data: mmap, where: str, n_rows: int, columns: Sequence[str] | None) -> pa.Table:
    """Return all rows of some columns, or of all columns."""
    with _open_parquet(data, where, n_rows, columns) as file:
        return file.read(columns=columns)


def read_parquet_rows(
    data: mmap, where: str, n_rows: int, start: int, stop: int, columns: Sequence[str] | None
) -> pa.Table:
    """Return the rows from `start` to `stop`. Only their row groups are decoded."""
    start, stop, _ = slice(start, stop).indices(n_rows)
    with _open_parquet(data, where, n_rows, columns) as file:
        groups = []
        first_row = None
        end = 0
        for group in range(file.num_row_groups):
            begin, end = end, end + file.metadata.row_group(group).num_rows
            if begin < stop and start < end:
                groups.append(group)
                first_row = begin if first_row is None else first_row
        found = file.read_row_groups(groups, columns=columns)
        return found.slice(start - (first_row or 0), max(0, stop - start))


@contextmanager
def _open_parquet(data: mmap, where: str, n_rows: int, columns: Sequence[str] | None) -> Iterator[pq.ParquetFile]:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.BufferReader(pa.py_buffer(data)), page_checksum_verification=True) as file:
            if file.metadata.num_rows != n_rows:
                raise ArtifactError(f"{where} is damaged: it has {file.metadata.num_rows:,} rows, not {n_rows:,}")
            unknown = sorted(set(columns or ()) - set(file.schema_arrow.names))
            if unknown:
                raise ArtifactError(f"{where} has no column {', '.join(map(repr, unknown))}")
            yield file
    except (pa.ArrowException, OSError) as error:
        raise ArtifactError(f"{where} is damaged: {error}") from error

"""Decode a Parquet file from a stranger within bounds that its own size sets.

A page says how large it is when it is decompressed, and an entry of a dictionary stands for as many rows as it says: a
file of a kilobyte can stand for a terabyte. So the pages' headers are read first, which are not compressed, and then
texts stay in the form of a dictionary until it is known how long they are together. What would grow beyond the limit
`table_growth` is refused. What we write grows tenfold or so, unless very many rules have the very same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ruledex import limits
from ruledex.artifact.parquet_pages import decompressed_bytes
from ruledex.errors import ArtifactError

_SPARED: Final = 64 << 20  # bytes that any table may have, however small its file is
_LEAST_BYTES: Final = 4  # that a value which no other row has takes in a page, as we write them: its length, or itself


def read_bounded(data: bytes, where: str, n_rows: int, key: str, columns: Sequence[str]) -> pa.Table:
    """Read some columns of a file's bytes. Values of the column `key` are distinct; text columns are large strings.

    Refuses a file that would grow too much, that has other than `n_rows` rows, or whose values are not sound.
    """
    most = _SPARED + limits.current().table_growth * len(data)
    try:
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            _check_pages(file, data, where, n_rows, key, columns, most)
        with pq.ParquetFile(
            pa.BufferReader(data), page_checksum_verification=True, read_dictionary=list(columns)
        ) as file:
            table = file.read(columns=list(columns))
            if table.num_rows != n_rows:
                raise ArtifactError(f"{where} is damaged: it has {table.num_rows:,} rows, not {n_rows:,}")
            table.validate(full=True)  # which also checks that texts are UTF-8
            return pa.table({name: _plain(table.column(name), where, most) for name in columns})
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise ArtifactError(f"{where} is damaged: {error}") from error


def _check_pages(
    file: pq.ParquetFile, data: bytes, where: str, n_rows: int, key: str, columns: Sequence[str], most: int
) -> None:
    metadata = file.metadata
    if metadata.num_rows != n_rows:
        raise ArtifactError(f"{where} is damaged: it has {metadata.num_rows:,} rows, not {n_rows:,}")
    names = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
    for name in columns:
        if names.count(name) != 1:
            raise ArtifactError(f"{where} is damaged: it has {names.count(name)} columns {name!r}, not one")
    sizes = dict.fromkeys(columns, 0)
    for group in range(metadata.num_row_groups):
        for name in columns:
            chunk = metadata.row_group(group).column(names.index(name))
            starts = [chunk.data_page_offset]
            if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
                starts.append(chunk.dictionary_page_offset)
            sizes[name] += decompressed_bytes(data, min(starts), chunk.total_compressed_size, where)
    if sum(sizes.values()) > most:
        raise _too_large(where, sum(sizes.values()), most)
    if sizes[key] < _LEAST_BYTES * n_rows:
        raise ArtifactError(f"{where} is damaged: {sizes[key]:,} bytes of {key!r} cannot be {n_rows:,} distinct values")


def _plain(column: pa.ChunkedArray, where: str, most: int) -> pa.ChunkedArray:
    """A column of numbers as it is, one of texts as large strings, if they are not too long together."""
    if not pa.types.is_dictionary(column.type):
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise ArtifactError(f"{where} is damaged: a column holds {column.type}")
        return column
    if not (pa.types.is_string(column.type.value_type) or pa.types.is_large_string(column.type.value_type)):
        raise ArtifactError(f"{where} is damaged: a column holds {column.type}")
    n_bytes = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
        n_bytes += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    if n_bytes > most:
        raise _too_large(where, n_bytes, most)
    texts = [chunk.dictionary.cast(pa.large_string()).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(texts, pa.large_string())


def _too_large(where: str, n_bytes: int, most: int) -> ArtifactError:
    return ArtifactError(
        f"{where} would grow to {n_bytes:,} bytes, and as it is not trusted, its size allows {most:,}: raise the limit "
        "table_growth, or open the index with trust=True"
    )

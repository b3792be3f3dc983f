"""Read the tables of a version that somebody else has written. Nothing is mapped, and no array is read.

A table's file is read whole, since a mapped file could change or shrink under the reader. It must have the size and the
hash that the manifest lists, and it is decoded within bounds that its own size sets.

**Why bounds.** A page states its decompressed size, and a dictionary entry stands for as many rows as the page states:
a file of a kilobyte can stand for a terabyte. So the page headers, which are not compressed, are read first, and texts
stay dictionary-encoded until their total length is known. A table that would grow beyond the limit `table_growth` is
refused. Tables that ruledex writes grow about tenfold, unless very many rules have the same text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ruledex import limits
from ruledex.artifact.files import check_size
from ruledex.artifact.layout import version_folder
from ruledex.artifact.manifest import FileEntry
from ruledex.artifact.parquet_pages import decompressed_bytes
from ruledex.artifact.reader import read_manifest
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore
from ruledex.errors import ArtifactError

_SPARED: Final = 64 << 20  # bytes that any table may have, however small its file is
_LEAST_BYTES: Final = 4  # per distinct value in a page, as we write them: its length, or itself


class UntrustedArtifact:
    """A version of which only the manifest has been read. `metadata` holds whatever its writer has put there."""

    def __init__(self, store: LocalStore | RemoteStore, version: str) -> None:
        self.version = version
        self._store = store
        self._manifest = read_manifest(store, version)
        self.metadata: dict[str, Any] = self._manifest.metadata

    @property
    def table_names(self) -> list[str]:
        """Return the names of all tables, sorted."""
        return sorted(self._manifest.tables)

    def table(self, name: str, key: str, columns: Sequence[str]) -> pa.Table:
        """Read some columns of a table. Values in the column `key` are distinct, which bounds the number of rows."""
        if name not in self._manifest.tables:
            raise ArtifactError(f"{self._store.where(version_folder(self.version))} has no table {name!r}")
        entry = self._manifest.tables[name]
        path = f"{version_folder(self.version)}/{entry.file}"
        data = _read(self._store, path, self._manifest.files[entry.file])
        return read_bounded(data, self._store.where(path), entry.n_rows, key, columns)


def _read(store: LocalStore | RemoteStore, path: str, entry: FileEntry) -> bytes:
    where = store.where(path)
    parts, n_bytes = [], 0
    try:
        for chunk in store.chunks(path):
            n_bytes += len(chunk)
            check_size(n_bytes, entry.size, where)
            parts.append(bytes(chunk))
    except FileNotFoundError:
        raise ArtifactError(f"{where} is missing") from None
    except OSError as error:
        raise ArtifactError(f"cannot read {where}: {error.strerror or error}") from error
    data = b"".join(parts)
    if len(data) != entry.size or hashlib.sha256(data).hexdigest() != entry.sha256:
        raise ArtifactError(f"{where} is damaged: it is not the file that the manifest lists")
    return data


# Tables within bounds.


def read_bounded(data: bytes, where: str, n_rows: int, key: str, columns: Sequence[str]) -> pa.Table:
    """Read some columns of a Parquet file. Values of the column `key` are distinct; text columns are large strings.

    Refuses a file that would grow too much, that does not have `n_rows` rows, or whose values are not valid.
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
            table.validate(full=True)  # also checks that texts are UTF-8
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
    """Return a column of numbers as it is, and one of texts as large strings unless they are too long together."""
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

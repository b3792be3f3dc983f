"""Read the tables of a version that somebody else has written. Nothing is mapped, and no array is read.

A table's file is read whole, since a mapped file could change or shrink under the reader. It must have the size and the
hash that the manifest lists, and it is decoded within bounds that its own size sets.

**Why bounds.** A page states its decompressed size, and a dictionary entry stands for as many rows as the page states:
a file of a kilobyte can stand for a terabyte. So the page headers, which are not compressed, are read first, and texts
stay dictionary-encoded until their total length is known. A table that would grow beyond the limit `table_growth` is
refused. Tables that ruledex writes grow about tenfold, unless very many rules have the same text. Lists hold integers;
their pages also state how many, which counts, since nulls take no bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from ruledex import limits
from ruledex.artifact.layout import version_folder
from ruledex.artifact.manifest import FileEntry
from ruledex.artifact.reader import read_manifest
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore, check_size
from ruledex.artifact.tables import is_list_of_integers
from ruledex.errors import ArtifactError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_UNCOMPRESSED_SIZE, _COMPRESSED_SIZE = 2, 3
_DATA_HEADERS: Final = (5, 8)  # of the two versions of a data page; the first field of each is the number of values
_LIST_VALUE: Final = 8  # bytes in memory for an integer in a list: itself, and its levels
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_NUMBERS: Final = (_I16, _I32, _I64)
_DEEPEST: Final = 8  # structs in one another; a header has three
_LARGEST_PAGE: Final = (1 << 31) - 1
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

    def table(self, name: str, key: str, columns: Sequence[str], optional: Sequence[str] = ()) -> pa.Table:
        """Read some columns of a table, and the `optional` ones that it has.

        Values in the column `key` are distinct, which bounds the number of rows.
        """
        if name not in self._manifest.tables:
            raise ArtifactError(f"{self._store.where(version_folder(self.version))} has no table {name!r}")
        entry = self._manifest.tables[name]
        path = f"{version_folder(self.version)}/{entry.file}"
        data = _read(self._store, path, self._manifest.files[entry.file])
        return read_bounded(data, self._store.where(path), entry.n_rows, key, columns, optional)

    def check_growth(self, name: str, n_bytes: int) -> None:
        """Raise an ArtifactError if what a table stands for has more bytes than its file's size allows."""
        file = self._manifest.tables[name].file
        most = _most_bytes(self._manifest.files[file].size)
        if n_bytes > most:
            raise _too_large(self._store.where(f"{version_folder(self.version)}/{file}"), n_bytes, most)


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


def read_bounded(
    data: bytes, where: str, n_rows: int, key: str, columns: Sequence[str], optional: Sequence[str] = ()
) -> pa.Table:
    """Read some columns of a Parquet file. Values of the column `key` are distinct; text columns are large strings.

    Refuses a file that would grow too much, that does not have `n_rows` rows, or whose values are not valid.
    """
    import pyarrow.parquet as pq

    most = _most_bytes(len(data))
    try:
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            columns = [*columns, *(name for name in optional if name in file.schema_arrow.names)]
            _check_pages(file, data, where, n_rows, key, columns, most)
            flat = [name for name in columns if name in _paths(file.metadata)]
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True, read_dictionary=flat) as file:
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
    paths = _paths(metadata)
    names = [path.partition(".")[0] for path in paths]
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
            n_bytes, n_values = page_sizes(data, min(starts), chunk.total_compressed_size, where)
            sizes[name] += n_bytes + (_LIST_VALUE * n_values if name not in paths else 0)
    if sum(sizes.values()) > most:
        raise _too_large(where, sum(sizes.values()), most)
    if sizes[key] < _LEAST_BYTES * n_rows:
        raise ArtifactError(f"{where} is damaged: {sizes[key]:,} bytes of {key!r} cannot be {n_rows:,} distinct values")


def _paths(metadata: pq.FileMetaData) -> list[str]:
    return [metadata.schema.column(at).path for at in range(metadata.num_columns)]


def _plain(column: pa.ChunkedArray, where: str, most: int) -> pa.ChunkedArray:
    """Return numbers and lists of them as they are, and texts as large strings unless they are too long together."""
    if not pa.types.is_dictionary(column.type):
        if is_list_of_integers(column.type):
            return column
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise ArtifactError(f"{where} is damaged: a column holds {column.type}")
        return column
    if not (pa.types.is_string(column.type.value_type) or pa.types.is_large_string(column.type.value_type)):
        raise ArtifactError(f"{where} is damaged: a column holds {column.type}")
    import pyarrow.compute as pc

    n_bytes = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
        n_bytes += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    if n_bytes > most:
        raise _too_large(where, n_bytes, most)
    texts = [chunk.dictionary.cast(pa.large_string()).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(texts, pa.large_string())


def _most_bytes(file_size: int) -> int:
    return _SPARED + limits.current().table_growth * file_size


def _too_large(where: str, n_bytes: int, most: int) -> ArtifactError:
    return ArtifactError(
        f"{where} would grow to {n_bytes:,} bytes, and as it is not trusted, its size allows {most:,}: raise the limit "
        "table_growth, or open the index with trust=True"
    )


# Page headers. A header is a struct in Thrift's compact protocol: each field is one byte with its type and the step
# from the number of the field before, and then its value. Field 2 is the page's size decompressed, field 3 its size in
# the file. Field 5 or 8 is the header of a page of data.


def page_sizes(data: bytes, start: int, size: int, where: str) -> tuple[int, int]:
    """Return how many bytes and values all pages of a column, `size` bytes from `start`, have when decompressed."""
    end = start + size
    if not 0 <= start <= end <= len(data):
        raise ArtifactError(f"{where} is damaged: a column is outside the file")
    n_bytes = n_values = 0
    try:
        while start < end:
            reader = _HeaderReader(data, start, end)
            found = reader.sizes()
            if not all(0 <= size <= _LARGEST_PAGE for size in found.values()):
                raise ValueError("a size is not possible")
            n_bytes += found[_UNCOMPRESSED_SIZE]
            n_values += sum(found.get(header, 0) for header in _DATA_HEADERS)
            start = reader.at + found[_COMPRESSED_SIZE]
    except (ValueError, IndexError, KeyError) as error:
        raise ArtifactError(f"{where} is damaged: the header of a page cannot be read: {error}") from error
    return n_bytes, n_values


class _HeaderReader:
    """Reads a struct from `at`, and no byte at or after `end`."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self._data = data
        self._end = end
        self.at = at

    def sizes(self) -> dict[int, int]:
        """Return the two sizes in a page's header, and how many values it has. The reader is then behind the header."""
        found: dict[int, int] = {}
        number = 0
        while (head := self._byte()) != _STOP:
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            if number in (_UNCOMPRESSED_SIZE, _COMPRESSED_SIZE) and kind in _NUMBERS:
                if number in found:
                    raise ValueError("a field is there twice")
                found[number] = self._zigzag()
            elif number in _DATA_HEADERS and kind == _STRUCT:
                if number in found:
                    raise ValueError("a field is there twice")
                found[number] = self._n_values()
            else:
                self._skip(kind, 1)
        return found

    def _n_values(self) -> int:
        """Return the first field of the header of a data page."""
        number, found = 0, None
        while (head := self._byte()) != _STOP:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            if number == 1 and head & 15 in _NUMBERS and found is None:
                found = self._zigzag()
            else:
                self._skip(head & 15, 2)
        if found is None:
            raise ValueError("it does not say how many values there are")
        return found

    def _skip(self, kind: int, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deep")
        if kind in _NUMBERS:
            self._varint()
        elif kind == _BYTE:
            self._advance(1)
        elif kind == _DOUBLE:
            self._advance(8)
        elif kind == _BINARY:
            self._advance(self._varint())
        elif kind in (_LIST, _SET):
            head = self._byte()
            n_items = head >> 4 if head >> 4 != 15 else self._varint()
            self._skip_items(head & 15, n_items, depth)
        elif kind == _STRUCT:
            while (head := self._byte()) != _STOP:
                if not head >> 4:
                    self._varint()
                self._skip(head & 15, depth + 1)
        elif kind not in (_TRUE, _FALSE):
            raise ValueError(f"it has a field of type {kind}")

    def _skip_items(self, kind: int, n_items: int, depth: int) -> None:
        # An item takes at least one byte, so a count that does not fit is wrong.
        if n_items > self._end - self.at:
            raise ValueError("a list has no end")
        for _ in range(n_items):
            # A truth value takes no byte as a field, and one as an item.
            self._skip(_BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number has no end")

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _byte(self) -> int:
        self._advance(1)
        return self._data[self.at - 1]

    def _advance(self, n_bytes: int) -> None:
        if n_bytes > self._end - self.at:
            raise ValueError("it does not end within its column")
        self.at += n_bytes

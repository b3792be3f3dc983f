"""Read the tables of a version that somebody else has written. Nothing is mapped, and no array is looked at.

A table's file is read whole, since a mapped one could change or end under the reader. It has the size and the hash that
the manifest says, and is decoded only where its pages say that it stays within bounds (table_bounds.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ruledex.artifact.layout import version_folder
from ruledex.artifact.manifest import FileEntry
from ruledex.artifact.opening import check_size
from ruledex.artifact.reader import read_manifest
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore
from ruledex.errors import ArtifactError

if TYPE_CHECKING:
    import pyarrow as pa


class UnmappedArtifact:
    """A version of which only the manifest has been read. `metadata` are whatever its writer has put there."""

    def __init__(self, store: LocalStore | RemoteStore, version: str) -> None:
        self.version = version
        self._store = store
        self._manifest = read_manifest(store, version)
        self.metadata: dict[str, Any] = self._manifest.metadata

    @property
    def table_names(self) -> list[str]:
        """The names of all tables, sorted."""
        return sorted(self._manifest.tables)

    def table(self, name: str, key: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of a table. Each row has a value of its own in the column `key`, which bounds their number."""
        from ruledex.artifact.table_bounds import read_bounded

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

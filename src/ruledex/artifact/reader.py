"""Open a version: check it, map it, and return its arrays, tables and documents."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ruledex.artifact.cache import COPIES, cache_folders, copies_root, verify_once
from ruledex.artifact.files import seal
from ruledex.artifact.layout import MANIFEST, STAGING_DAMAGED, VERSIONS, version_folder
from ruledex.artifact.locks import claim_staging, root_lock
from ruledex.artifact.manifest import ArrayEntry, Manifest, decode_json, parse_manifest
from ruledex.artifact.ownership import is_own_version, is_version_folder
from ruledex.artifact.publish import install
from ruledex.artifact.remote import RemoteStore, in_threads
from ruledex.artifact.store import LocalStore, RootLike, current_version, find_version, locate, map_file, reporting
from ruledex.artifact.verification import Fault, file_fault, file_faults, raise_faults
from ruledex.errors import ArtifactError

if TYPE_CHECKING:
    import pyarrow as pa

Verify = Literal["once", "always", "never"]
Invariant = Callable[["Artifact"], None]
T = TypeVar("T")


class Artifact:
    """An open version. All its files are mapped, so it stays complete when the version is replaced or removed."""

    def __init__(self, version: str, folder: str, manifest: Manifest, maps: dict[str, mmap.mmap]) -> None:
        self.version = version
        self.metadata: dict[str, Any] = manifest.metadata
        self.library = manifest.library
        self._folder = folder
        self._manifest = manifest
        self._maps = maps
        self._arrays = {
            name: _view(entry, maps, f"{folder}: array {name!r}") for name, entry in manifest.arrays.items()
        }

    def __repr__(self) -> str:
        return f"Artifact({self._folder!r}, {len(self._arrays)} arrays, {self._manifest.n_bytes:,} bytes)"

    @property
    def array_names(self) -> list[str]:
        """The names of all arrays, sorted."""
        return sorted(self._arrays)

    @property
    def table_names(self) -> list[str]:
        """The names of all tables, sorted."""
        return sorted(self._manifest.tables)

    @property
    def document_names(self) -> list[str]:
        """The names of all documents, sorted."""
        return sorted(self._manifest.documents)

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return a read-only array over the mapped file. An array of size zero is read-only too."""
        return self._named(self._arrays, "array", name)

    def arrays(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays whose names begin with the prefix, by the rest of their names."""
        return {name.removeprefix(prefix): array for name, array in self._arrays.items() if name.startswith(prefix)}

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return a table, or some of its columns. Each call decodes it."""
        from ruledex.artifact.tables import read_parquet

        entry = self._named(self._manifest.tables, "table", name)
        return read_parquet(self._maps[entry.file], self._where(entry.file), entry.n_rows, columns)

    def table_rows(self, name: str, start: int, stop: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Return some rows of a table. Only their row groups are decoded. Bounds are those of a slice."""
        from ruledex.artifact.tables import read_parquet_rows

        entry = self._named(self._manifest.tables, "table", name)
        return read_parquet_rows(self._maps[entry.file], self._where(entry.file), entry.n_rows, start, stop, columns)

    def column_names(self, name: str) -> list[str]:
        """Return the names of a table's columns."""
        found: list[str] = self.table_rows(name, 0, 0).column_names
        return found

    def document(self, name: str) -> Any:
        """Return a document. Each call parses it and checks its hash, since all of it is read anyway."""
        file = self._named(self._manifest.documents, "document", name)
        data = bytes(self._maps[file])
        if hashlib.sha256(data).hexdigest() != self._manifest.files[file].sha256:
            raise ArtifactError(f"{self._where(file)} is damaged: its sha256 is not the manifest's")
        return decode_json(data, self._where(file))

    def _where(self, file: str) -> str:
        return f"{self._folder}/{file}"

    def _named(self, parts: dict[str, T], kind: str, name: str) -> T:
        try:
            return parts[name]
        except KeyError:
            raise ArtifactError(f"{self._folder} has no {kind} {name!r}") from None


def open_version(
    root: RootLike, version: str | None = None, *, verify: Verify = "once", invariants: Iterable[Invariant] = ()
) -> Artifact:
    """Open a version, the current one unless given. A remote one is copied to this host first.

    The manifest's hash, the format, and the existence and exact size of every file are always checked. The files'
    hashes are checked `"once"` per host and content (a receipt remembers it), `"always"`, or `"never"`. Then each of
    `invariants` is called with the artifact, and raises an ArtifactError if its arrays are not valid.
    """
    if verify not in ("once", "always", "never"):
        raise ValueError(f"verify is 'once', 'always' or 'never', not {verify!r}")
    store = locate(root)
    if version is None:
        artifact = open_current(store, lambda now: _open(store, now, verify))
    else:
        artifact = _open(store, find_version(store, version), verify)
    for invariant in invariants:
        invariant(artifact)
    return artifact


def open_own(store: LocalStore, version: str) -> Artifact | None:
    """Open a version as `open_version` does if it is this user's own. None if somebody else may have written it."""
    manifest = read_manifest(store, version)
    return _map_version(store, version, manifest, "once") if is_own_version(store, version, manifest) else None


def open_current(store: LocalStore | RemoteStore, open_it: Callable[[str], T]) -> T:
    """Return what `open_it` returns for the current version, even while versions are published and removed."""
    version = current_version(store)
    while True:
        try:
            return open_it(version)
        except ArtifactError:
            # After we read the pointer, another version may have been published and this one removed. An error about a
            # version that is still current is real.
            now = current_version(store)
            if now == version:
                raise
            version = now


def read_manifest(store: LocalStore | RemoteStore, version: str) -> Manifest:
    """Read and check the manifest of a version."""
    path = f"{version_folder(version)}/{MANIFEST}"
    data = store.read(path)
    if data is None and version not in store.folders(VERSIONS):
        raise ArtifactError(f"{store.where('')} has no version {version}")
    return parse_manifest(data, version, store.where(path))


def _open(store: LocalStore | RemoteStore, version: str, verify: Verify) -> Artifact:
    if isinstance(store, LocalStore):
        return _open_local(store, version, verify)
    copies, is_new = local_copy(store, version)
    try:
        return _open_local(copies, version, verify, is_verified=is_new)
    except ArtifactError as damage:
        # The original may be sound if the copy is damaged or missing.
        try:
            discard_copy(copies, version)
        except ArtifactError:
            raise damage from None
    copies, is_new = local_copy(store, version)
    return _open_local(copies, version, verify, is_verified=is_new)


def _open_local(store: LocalStore, version: str, verify: Verify, is_verified: bool = False) -> Artifact:
    return _map_version(store, version, read_manifest(store, version), verify, is_verified)


def _map_version(
    store: LocalStore, version: str, manifest: Manifest, verify: Verify, is_verified: bool = False
) -> Artifact:
    folder = version_folder(version)
    where = store.where(folder)
    maps: dict[str, mmap.mmap] = {}
    stats: dict[str, os.stat_result] = {}
    for path, entry in manifest.files.items():
        maps[path], stats[f"{where}/{path}"] = map_file(store.root, f"{folder}/{path}", entry.size)

    def check() -> None:
        if not is_verified:
            raise_faults(file_faults(store, folder, manifest))

    if verify == "once":
        verify_once(version, stats, check)
    elif verify == "always":
        check()
    return Artifact(version, where, manifest, maps)


def _view(entry: ArrayEntry, maps: dict[str, mmap.mmap], what: str) -> npt.NDArray[Any]:
    # Over bytes and over a read-only map, NumPy makes plain arrays that are read-only from the start.
    buffer = maps[entry.file] if entry.file else b""
    try:
        return np.ndarray(entry.shape, entry.dtype, buffer=buffer, offset=entry.offset if entry.file else 0)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArtifactError(f"{what} cannot be mapped: {error}") from error


# Copies of remote versions, once per host and content: the first process copies, the others wait and share. The folder
# of copies is a root without a pointer, with the same staging folders, locks and immutable versions.


def local_copy(store: RemoteStore, version: str) -> tuple[LocalStore, bool]:
    """Return a local root that has this version, and whether it was copied, and so verified in full, just now."""
    manifest = f"{version_folder(version)}/{MANIFEST}"
    for folder in cache_folders():
        copies = LocalStore(folder / COPIES)
        if copies.exists(manifest):
            return copies, False
    copies = LocalStore(copies_root())
    with claim_staging(copies.root, f"copy-{version}") as area:
        if copies.exists(manifest):
            return copies, False
        data = store.read(manifest)
        parsed = parse_manifest(data, version, store.where(manifest))

        def copy(path: str) -> Fault | None:
            source = f"{version_folder(version)}/{path}"
            target = area.files / path
            with reporting("write", target):
                target.parent.mkdir(parents=True, exist_ok=True)
                store.get(source, target, parsed.files[path].size)
            return file_fault(LocalStore(area.files), path, parsed.files[path], store.where(source))

        faults = in_threads(copy, sorted(parsed.files))
        raise_faults([fault for fault in faults if fault is not None])
        with reporting("write", area.files):
            (area.files / MANIFEST).write_bytes(data or b"")
            seal(area.files)
        with root_lock(copies.root):
            install(copies, area, version)
    return copies, True


def discard_copy(copies: LocalStore, version: str) -> None:
    """Remove a damaged copy, so that the next open copies the version again."""
    folder = copies.root / version_folder(version)
    with claim_staging(copies.root) as area, reporting("remove", folder):
        if is_version_folder(folder):
            folder.rename(area.path / STAGING_DAMAGED)

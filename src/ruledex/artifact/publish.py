"""Publish a version: install what was staged and move the pointer, assemble separate parts, or go back to a version.

`PointerCheck` says whether the pointer of a root is what it was, without reading it each time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from ruledex.artifact.cache import copies_root
from ruledex.artifact.files import replace_file, seal, sync
from ruledex.artifact.layout import (
    MANIFEST,
    NEXT_POINTER,
    POINTER,
    STAGING_DAMAGED,
    STAGING_FILES,
    VERSIONS,
    segment_file,
    version_folder,
)
from ruledex.artifact.locks import StagingArea, claim_staging, root_lock
from ruledex.artifact.manifest import ArrayEntry, Manifest, encode_pointer, library_version, parse_manifest
from ruledex.artifact.ownership import claim_remote, foreign_file, is_folder, mark_root
from ruledex.artifact.remote import RemoteStore, in_threads
from ruledex.artifact.store import LocalStore, RootLike, Store, find_version, locate, open_regular, reporting
from ruledex.artifact.verification import raise_faults, version_faults
from ruledex.errors import ArtifactError

T = TypeVar("T")
_SETTLED_NS: Final = 100_000_000  # a file system may count time in steps of ten milliseconds


def stage(store: LocalStore | RemoteStore) -> StagingArea:
    """Make a staging folder for a version of this root: in the root itself, or in the cache if the root is remote."""
    if isinstance(store, LocalStore):
        return claim_staging(store.root)
    claim_remote(store)
    return claim_staging(copies_root())


def publish_staged(store: LocalStore | RemoteStore, area: StagingArea, version: str) -> None:
    """Make the staged files the root's current version.

    On a local root a reader sees the old pointer or the new one. On a remote root the pointer is one small put, as
    atomic as the file system's put is; a torn pointer is an error for the reader, never another version.
    """
    if isinstance(store, LocalStore):
        with root_lock(store.root):
            install(store, area, version)
            _point(store.root, version)
        return
    if version_faults(store, version_folder(version), version)[0]:
        store.put_version(area.files, version)
    store.write(POINTER, encode_pointer(version))


def publish_existing(root: RootLike, version: str) -> None:
    """Move the pointer to a version that the root already has. The version is verified in full first."""
    store = locate(root)
    version = find_version(store, version)
    if isinstance(store, LocalStore):
        raise_faults(version_faults(store, version_folder(version), version)[0])
        mark_root(store.root)  # it has a version of ours; if its pointer is damaged, that is repaired here
        with root_lock(store.root):
            raise_faults(version_faults(store, version_folder(version), version)[0])
            _point(store.root, version)
        return
    raise_faults(version_faults(store, version_folder(version), version)[0])
    store.write(POINTER, encode_pointer(version))


def install(store: LocalStore, area: StagingArea, version: str) -> None:
    """Rename the staged files to the version's folder. If the version is there already and sound, it stays as it is.

    A damaged version is moved away as a whole and replaced. Files are never overwritten, so that processes that have
    them mapped keep them.
    """
    target = store.root / version_folder(version)
    with reporting("install", target):
        target.parent.mkdir(exist_ok=True)
        if os.path.lexists(target):
            if not version_faults(store, version_folder(version), version)[0]:
                return
            foreign = foreign_file(target) if is_folder(target) else ""
            if foreign is not None:
                raise ArtifactError(f"{target / foreign} was not written by ruledex: move it away, and publish again")
            target.rename(area.path / STAGING_DAMAGED)
        (area.path / STAGING_FILES).rename(target)
        sync(store.root / VERSIONS)


def _point(root: Path, version: str) -> None:
    with reporting("write", root / POINTER):
        # One name for all writers: we hold the root's lock, so a file of this name was left by a dead one.
        replace_file(root / POINTER, root / NEXT_POINTER, encode_pointer(version))


# Assembling one version of parts that were written separately, without copying them where links will do.


class PartVersion(NamedTuple):
    """A version in a root of its own, a folder within the root that is published to."""

    folder: str
    version: str


class Assembled(NamedTuple):
    """The name of the published version, and the bytes of its files."""

    version: str
    n_bytes: int


def assemble(root: RootLike, parts: Sequence[PartVersion], metadata: Mapping[str, Any]) -> Assembled:
    """Publish all arrays, tables and documents of the parts as one version. No two may have the same name.

    The parts stay as they are: files are linked on a local root, and copied by the file system itself on a remote one.
    The bytes depend only on the parts and their order, so that a repeated call publishes the same version.
    """
    store = locate(root)
    manifest, sources = _join_manifests(store, parts)
    manifest.metadata = dict(metadata)
    data = manifest.encode()
    version = hashlib.sha256(data).hexdigest()
    if isinstance(store, LocalStore):
        _publish_links(store, sources, data, version)
    else:
        _publish_copies(store, sources, data, version)
    return Assembled(version, manifest.n_bytes)


def _join_manifests(store: Store, parts: Sequence[PartVersion]) -> tuple[Manifest, dict[str, str]]:
    """Return the manifest of all parts, and for each of its files where it is now. Segments get new numbers."""
    whole = Manifest(library=library_version())
    sources: dict[str, str] = {}
    n_segments = 0
    for folder, version in parts:
        home = f"{folder}/{version_folder(version)}"
        part = parse_manifest(store.read(f"{home}/{MANIFEST}"), version, store.where(f"{home}/{MANIFEST}"))
        names: dict[str, str] = {}
        segments = {entry.file for entry in part.arrays.values() if entry.file}
        for path in sorted(part.files, key=lambda path: (len(path), path)):
            names[path] = segment_file(n_segments) if path in segments else path
            n_segments += path in segments
        _add(whole.files, {names[path]: entry for path, entry in part.files.items()}, "file")
        _add(whole.arrays, {name: _rename_segment(entry, names) for name, entry in part.arrays.items()}, "array")
        _add(whole.tables, part.tables, "table")
        _add(whole.documents, part.documents, "document")
        sources |= {names[path]: f"{home}/{path}" for path in part.files}
    return whole, sources


def _add(whole: dict[str, T], part: dict[str, T], kind: str) -> None:
    twice = sorted(whole.keys() & part.keys())
    if twice:
        raise ArtifactError(f"{kind} {twice[0]!r} is in two of the parts")
    whole.update(part)


def _rename_segment(entry: ArrayEntry, names: Mapping[str, str]) -> ArrayEntry:
    return entry._replace(file=names[entry.file]) if entry.file else entry


def _publish_links(store: LocalStore, sources: Mapping[str, str], data: bytes, version: str) -> None:
    with stage(store) as area:
        for path, source in sources.items():
            target = area.files / path
            with reporting("write", target):
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    os.link(store.root / source, target)
                except OSError:  # some file systems have no links
                    shutil.copyfile(store.root / source, target)
        with reporting("write", area.files):
            (area.files / MANIFEST).write_bytes(data)
            seal(area.files)
        publish_staged(store, area, version)


def _publish_copies(store: RemoteStore, sources: Mapping[str, str], data: bytes, version: str) -> None:
    claim_remote(store)
    folder = version_folder(version)
    if version_faults(store, folder, version)[0]:
        in_threads(lambda path: store.copy(sources[path], f"{folder}/{path}"), sorted(sources))
        store.write(f"{folder}/{MANIFEST}", data)  # last, since a version without a manifest does not count
    store.write(POINTER, encode_pointer(version))


class PointerCheck:
    """Says whether a root's pointer has certain bytes. It reads the file if it is another one, or was written to."""

    def __init__(self, store: LocalStore, data: bytes) -> None:
        self._store = store
        self._path = os.fspath(store.root / POINTER)
        self._data = data
        self._stamp: tuple[int, ...] | None = None  # of the file that was last found to have these bytes
        self._descriptor: int | None = None  # of that file: while it is open, no other file can have its number

    def __del__(self) -> None:
        self._forget()

    def holds(self) -> bool:
        """Return whether the pointer has these bytes."""
        if self._stamp is not None:
            try:
                if _stamp_of(os.lstat(self._path)) == self._stamp:
                    return True
            except OSError:  # reading it says what is wrong
                pass
            self._forget()
        return self._read()

    def _read(self) -> bool:
        with reporting("read", self._path):
            try:
                descriptor = open_regular(self._store.root, POINTER)
            except (FileNotFoundError, NotADirectoryError):
                return False
            found = os.fstat(descriptor)
            is_same = os.pread(descriptor, len(self._data) + 1, 0) == self._data
        # What was just written could be written again within the same instant of the file system's clock.
        is_old = max(found.st_mtime_ns, found.st_ctime_ns) < time.time_ns() - _SETTLED_NS
        if is_same and is_old:
            self._stamp, self._descriptor = _stamp_of(found), descriptor
        else:
            os.close(descriptor)
        return is_same

    def _forget(self) -> None:
        descriptor, self._stamp, self._descriptor = self._descriptor, None, None
        if descriptor is not None:
            os.close(descriptor)


def _stamp_of(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns

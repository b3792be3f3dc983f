"""Assemble one version from parts that were written separately, without copying them where links will do."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ruledex.artifact.files import reporting, seal
from ruledex.artifact.hashing import in_threads
from ruledex.artifact.layout import MANIFEST, POINTER, segment_file, version_folder
from ruledex.artifact.manifest import ArrayEntry, Manifest, parse_manifest
from ruledex.artifact.ownership import claim_remote
from ruledex.artifact.pointer import encode_pointer
from ruledex.artifact.publish import publish_staged, stage
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore, RootLike, Store, locate
from ruledex.artifact.verification import version_faults
from ruledex.artifact.writer import library_version
from ruledex.errors import ArtifactError

T = TypeVar("T")


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

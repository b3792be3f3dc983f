"""One version of what several hold: parts that were written apart, by whoever, become an artifact without a copy."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ruledex.artifact.files import reporting, seal
from ruledex.artifact.hashing import in_threads
from ruledex.artifact.layout import (
    MANIFEST,
    POINTER,
    segment_file,
    version_folder,
)
from ruledex.artifact.manifest import ArrayEntry, Manifest, parse_manifest
from ruledex.artifact.ownership import claim_remote
from ruledex.artifact.pointer import encode_pointer
from ruledex.artifact.publish import publish_staged, stage
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import (
    LocalStore,
    RootLike,
    Store,
    locate,
)
from ruledex.artifact.verification import version_faults
from ruledex.artifact.writer import library_version
from ruledex.errors import ArtifactError

T = TypeVar("T")


class Part(NamedTuple):
    """A version in a root of its own, which is a folder within the one that is published to."""

    folder: str
    version: str


class Assembled(NamedTuple):
    """The name of the version that was published, and the bytes of its files."""

    version: str
    n_bytes: int


def assemble(root: RootLike, parts: Sequence[Part], metadata: Mapping[str, Any]) -> Assembled:
    """Publish all arrays, tables and documents of the parts, no two of which have the same name, as one version.

    The parts stay as they are: files are linked on a local root, and copied by the file system itself on a remote one.
    The bytes depend on the parts and their order alone, so that whoever does it again publishes the same version.
    """
    store = locate(root)
    manifest, sources = _joined(store, parts)
    manifest.metadata = dict(metadata)
    data = manifest.encode()
    version = hashlib.sha256(data).hexdigest()
    if isinstance(store, LocalStore):
        _publish_links(store, sources, data, version)
    else:
        _publish_copies(store, sources, data, version)
    return Assembled(version, manifest.n_bytes)


def _joined(store: Store, parts: Sequence[Part]) -> tuple[Manifest, dict[str, str]]:
    """The manifest of all parts, and for each of its files where that lies now. Segments are numbered anew."""
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
        _add(whole.arrays, {name: _moved(entry, names) for name, entry in part.arrays.items()}, "array")
        _add(whole.tables, part.tables, "table")
        _add(whole.documents, part.documents, "document")
        sources |= {names[path]: f"{home}/{path}" for path in part.files}
    return whole, sources


def _add(whole: dict[str, T], part: dict[str, T], kind: str) -> None:
    twice = sorted(whole.keys() & part.keys())
    if twice:
        raise ArtifactError(f"{kind} {twice[0]!r} is in two of the parts")
    whole.update(part)


def _moved(entry: ArrayEntry, names: Mapping[str, str]) -> ArrayEntry:
    return entry._replace(file=names[entry.file]) if entry.file else entry


def _publish_links(store: LocalStore, sources: Mapping[str, str], data: bytes, version: str) -> None:
    with stage(store) as area:
        for path, source in sources.items():
            target = area.files / path
            with reporting("write", target):
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    os.link(store.root / source, target)
                except OSError:  # not every file system has links
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
        store.write(f"{folder}/{MANIFEST}", data)  # last: without it, a version does not count
    store.write(POINTER, encode_pointer(version))

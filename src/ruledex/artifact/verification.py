"""Hash the files of a version with sha256, and report every fault."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ruledex.artifact.layout import CHUNK_BYTES, MANIFEST, POINTER, VERSIONS, is_version, version_folder
from ruledex.artifact.manifest import FileEntry, Manifest, parse_manifest
from ruledex.artifact.remote import RemoteStore, in_threads
from ruledex.artifact.store import RootLike, Store, find_version, list_versions, locate, read_pointer
from ruledex.errors import ArtifactError


class Fault(NamedTuple):
    """What is wrong with a file; `file` is its full name."""

    file: str
    problem: str

    def __str__(self) -> str:
        return f"{self.file} {self.problem}"

    @classmethod
    def of(cls, file: str, error: ArtifactError) -> Fault:
        """Return the fault that an error describes. Errors begin with the file's name; a fault holds it separately."""
        return cls(file, str(error).removeprefix(file).lstrip(": "))


@dataclass(frozen=True)
class Report:
    """What was verified, and all its faults."""

    versions: tuple[str, ...]
    n_files: int
    n_bytes: int
    faults: tuple[Fault, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def raise_faults(self) -> None:
        """Raise one ArtifactError that names every fault, if there is one."""
        raise_faults(list(self.faults))


def verify(root: RootLike, versions: Iterable[str] | None = None) -> Report:
    """Read every byte of the given versions (of all versions, unless given) and of the pointer.

    Receipts are neither read nor written. A remote root is read itself, not its local copy.
    """
    store = locate(root)
    faults: list[Fault] = []
    pointed = _verify_pointer(store, faults)
    names = [find_version(store, version) for version in versions] if versions is not None else _present(store)
    if pointed is not None and versions is None and pointed not in names:
        names.append(pointed)
    n_files = n_bytes = 0
    for version in names:
        found, n_version_files, n_version_bytes = version_faults(store, version_folder(version), version)
        # A version that has vanished as a whole was garbage, and has been collected meanwhile.
        if found and versions is None and version != pointed and version not in _present(store):
            continue
        faults += found
        n_files += n_version_files
        n_bytes += n_version_bytes
    return Report(tuple(names), n_files, n_bytes, tuple(faults))


def version_faults(store: Store, folder: str, version: str) -> tuple[list[Fault], int, int]:
    """Return all faults of the version in a folder, and how many files and bytes it should have."""
    where = store.where(f"{folder}/{MANIFEST}")
    try:
        manifest = parse_manifest(store.read(f"{folder}/{MANIFEST}"), version, where)
    except ArtifactError as error:
        return [Fault.of(where, error)], 0, 0
    faults = file_faults(store, folder, manifest)
    for path in sorted(store.files(folder)):
        if path != MANIFEST and path not in manifest.files:
            faults.append(Fault(store.where(f"{folder}/{path}"), "is not in the manifest"))
    return faults, len(manifest.files), manifest.n_bytes


def _verify_pointer(store: Store, faults: list[Fault]) -> str | None:
    try:
        pointed = read_pointer(store)
    except ArtifactError as error:
        faults.append(Fault.of(store.where(POINTER), error))
        return None
    if pointed is None:
        faults.append(Fault(store.where(POINTER), "is missing"))
    return pointed


def _present(store: Store) -> list[str]:
    if isinstance(store, RemoteStore):
        return list_versions(store)
    # A local version appears and disappears in one rename: one without a manifest is damaged.
    return sorted(name for name in store.folders(VERSIONS) if is_version(name))


# One version, or one file.


def digest(store: Store, path: str, most_bytes: float = math.inf) -> FileEntry:
    """Return the size and the sha256 of a file. FileNotFoundError if it is missing.

    Reading stops after the chunk that exceeds `most_bytes`: the size is then larger, and the sha256 that of a part.
    """
    hasher = hashlib.sha256()
    size = 0
    for chunk in store.chunks(path):
        hasher.update(chunk)
        size += len(chunk)
        if size > most_bytes:
            break
    return FileEntry(size, hasher.hexdigest())


def file_faults(store: Store, folder: str, manifest: Manifest) -> list[Fault]:
    """Return what is wrong with the content of the manifest's files, in the order of their names."""

    def check(path: str) -> Fault | None:
        return file_fault(store, f"{folder}/{path}", manifest.files[path])

    paths = sorted(manifest.files)
    # Starting threads takes longer than hashing small files.
    found = in_threads(check, paths) if manifest.n_bytes > CHUNK_BYTES else map(check, paths)
    return [fault for fault in found if fault is not None]


def raise_faults(faults: list[Fault]) -> None:
    """Raise one error for all faults, if there are any."""
    if faults:
        raise ArtifactError("; ".join(map(str, faults)))


def file_fault(store: Store, path: str, entry: FileEntry, where: str | None = None) -> Fault | None:
    """Return what is wrong with a file, or None. `where` names the file in the fault, if not by its own path."""
    problem = _problem(store, path, entry)
    return None if problem is None else Fault(where or store.where(path), problem)


def _problem(store: Store, path: str, entry: FileEntry) -> str | None:
    try:
        found = digest(store, path, entry.size)
    except FileNotFoundError:
        return "is missing"
    except (OSError, ArtifactError) as error:
        return f"cannot be read: {error}"
    if found.size > entry.size:
        return f"is damaged: it has {found.size:,} bytes or more, not {entry.size:,}"
    if found.size != entry.size:
        return f"is damaged: it has {found.size:,} bytes, not {entry.size:,}"
    if found.sha256 != entry.sha256:
        return f"is damaged: its sha256 is {found.sha256}, not {entry.sha256}"
    return None

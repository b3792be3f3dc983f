"""Verify versions in full, and report every fault."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ruledex.artifact.hashing import Fault, file_faults, raise_faults
from ruledex.artifact.layout import MANIFEST, POINTER, VERSIONS, check_version, is_version, version_folder
from ruledex.artifact.manifest import parse_manifest
from ruledex.artifact.pointer import list_versions, read_pointer
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import RootLike, Store, locate
from ruledex.errors import ArtifactError


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
    names = list(map(check_version, versions)) if versions is not None else _present(store)
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

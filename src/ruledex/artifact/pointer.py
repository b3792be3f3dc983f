"""The pointer: which version is the current one. The only thing in a root that ever changes."""

from __future__ import annotations

from ruledex.artifact import canonical
from ruledex.artifact.layout import (
    FORMAT,
    MANIFEST,
    POINTER,
    VERSIONS,
    is_version,
    version_folder,
)
from ruledex.artifact.manifest import check_format
from ruledex.artifact.store import RootLike, Store, locate
from ruledex.errors import ArtifactError


def encode_pointer(version: str) -> bytes:
    """The bytes of `CURRENT` for a version."""
    # A version's name is its manifest's hash. It stands twice, so that a damaged digit cannot lead to another version.
    return canonical.encode({"format": FORMAT, "version": version, "manifest": version}, "the pointer")


def parse_pointer(data: bytes, where: str) -> str:
    """The version that a pointer names. Anything but the exact bytes that `encode_pointer` writes is damage."""
    pointer = canonical.decode(data, where)
    if not isinstance(pointer, dict):
        raise ArtifactError(f"{where} is damaged: it is not a JSON object")
    check_format(pointer.get("format"), where)
    version = pointer.get("version")
    if not isinstance(version, str) or not is_version(version) or data != encode_pointer(version):
        raise ArtifactError(f"{where} is damaged: it is not the pointer to a version")
    return version


def read_pointer(store: Store) -> str | None:
    """The current version, or None where nothing has been published."""
    data = store.read(POINTER)
    return None if data is None else parse_pointer(data, store.where(POINTER))


def current(root: RootLike) -> str:
    """The current version of a root."""
    store = locate(root)
    version = read_pointer(store)
    if version is None:
        raise ArtifactError(f"no index is published at {store.where('')}: {POINTER} is missing")
    return version


def list_versions(root: RootLike) -> list[str]:
    """All versions of a root, sorted by name, which says nothing of their age."""
    store = locate(root)
    # On a remote root the manifest is put last: without it the version is an upload that has not ended.
    return [
        name
        for name in sorted(store.folders(VERSIONS))
        if is_version(name) and store.exists(f"{version_folder(name)}/{MANIFEST}")
    ]

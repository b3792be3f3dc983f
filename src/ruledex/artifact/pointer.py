"""The pointer, which names the current version. It is the only file of a root that is ever replaced."""

from __future__ import annotations

from ruledex.artifact import canonical
from ruledex.artifact.layout import FORMAT, MANIFEST, POINTER, VERSIONS, is_version, version_folder
from ruledex.artifact.manifest import check_format
from ruledex.artifact.store import RootLike, Store, locate
from ruledex.errors import ArtifactError


def encode_pointer(version: str) -> bytes:
    """Return the bytes of `CURRENT` for a version."""
    # A version's name is its manifest's hash. It is written twice, so that a damaged digit cannot name another version.
    return canonical.encode({"format": FORMAT, "version": version, "manifest": version}, "the pointer")


def parse_pointer(data: bytes, where: str) -> str:
    """Return the version that a pointer names. Anything but the exact bytes that `encode_pointer` writes is damage."""
    pointer = canonical.decode(data, where)
    if not isinstance(pointer, dict):
        raise ArtifactError(f"{where} is damaged: it is not a JSON object")
    check_format(pointer.get("format"), where)
    version = pointer.get("version")
    if not isinstance(version, str) or not is_version(version) or data != encode_pointer(version):
        raise ArtifactError(f"{where} is damaged: it is not the pointer to a version")
    return version


def read_pointer(store: Store) -> str | None:
    """Return the current version, or None if nothing has been published."""
    data = store.read(POINTER)
    return None if data is None else parse_pointer(data, store.where(POINTER))


def current(root: RootLike) -> str:
    """Return the current version of a root. Raises an ArtifactError if there is none."""
    store = locate(root)
    version = read_pointer(store)
    if version is None:
        raise ArtifactError(f"no index is published at {store.where('')}: {POINTER} is missing")
    return version


def list_versions(root: RootLike) -> list[str]:
    """Return all versions of a root, sorted by name, which is not the order of their age."""
    store = locate(root)
    # On a remote root the manifest is written last: a version without it is an unfinished upload.
    return [
        name
        for name in sorted(store.folders(VERSIONS))
        if is_version(name) and store.exists(f"{version_folder(name)}/{MANIFEST}")
    ]

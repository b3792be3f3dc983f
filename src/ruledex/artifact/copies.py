"""Copy remote versions to this host, once per content: the first process copies, the others wait and share.

The folder of copies is a root without a pointer, with the same staging folders, locks and immutable versions.
"""

from __future__ import annotations

from ruledex.artifact.cache import COPIES, cache_folders, copies_root
from ruledex.artifact.files import reporting, seal
from ruledex.artifact.hashing import Fault, file_fault, in_threads, raise_faults
from ruledex.artifact.layout import MANIFEST, STAGING_DAMAGED, version_folder
from ruledex.artifact.locks import claim_staging, root_lock
from ruledex.artifact.manifest import parse_manifest
from ruledex.artifact.ownership import is_version_folder
from ruledex.artifact.publish import install
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore


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

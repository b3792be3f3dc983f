"""Publish a staged version: install its files and move the pointer. Or move the pointer back to an older version."""

from __future__ import annotations

import os
from pathlib import Path

from ruledex.artifact.cache import copies_root
from ruledex.artifact.files import replace_file, reporting, sync
from ruledex.artifact.hashing import raise_faults
from ruledex.artifact.layout import (
    NEXT_POINTER,
    POINTER,
    STAGING_DAMAGED,
    STAGING_FILES,
    VERSIONS,
    check_version,
    version_folder,
)
from ruledex.artifact.locks import StagingArea, claim_staging, root_lock
from ruledex.artifact.ownership import claim_remote, foreign_file, is_folder, mark_root
from ruledex.artifact.pointer import encode_pointer
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore, RootLike, locate
from ruledex.artifact.verification import version_faults
from ruledex.errors import ArtifactError


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
    check_version(version)
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

"""Remove what nobody needs: versions that are neither current, pinned nor kept, and staging folders of dead writers.

A version that a process has open may be removed: on POSIX systems, the only ones with the locks used here, a mapped
file lives until its last map is closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from ruledex.artifact.cache import COPIES, LOCK_SUFFIX, REBUILT, RECEIPTS, cache_folders
from ruledex.artifact.files import remove_tree, sync
from ruledex.artifact.layout import STAGING, VERSIONS, check_version, is_staging, is_version, version_folder
from ruledex.artifact.locks import claim_staging, remove_dead_staging, root_lock
from ruledex.artifact.ownership import (
    adopt_copies,
    foreign_names,
    is_folder,
    is_plain_file,
    is_version_file,
    is_version_folder,
    require_remote,
    require_root,
)
from ruledex.artifact.pins import pinned_versions
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore, RootLike, find_version, locate, read_pointer, reporting
from ruledex.errors import ArtifactError


@dataclass(frozen=True)
class Collected:
    """What was removed, and the staging folders that were kept because their writers are alive."""

    versions: tuple[str, ...]
    staging: tuple[str, ...] = ()
    living: tuple[str, ...] = ()


def collect_garbage(root: RootLike, keep: Iterable[str] = (), *, alone: bool = False) -> Collected:
    """Remove all versions except the current, the pinned and those in `keep`, and the staging folders of dead writers.

    On a local root this may run at any time, beside readers, writers and publishers. A remote root has no locks that
    tell an upload in progress from an abandoned one: there the caller has to state, with `alone=True`, that nobody
    publishes meanwhile. On a local root, `alone=True` ends the leases of builds by many writers, which otherwise count
    as alive for a day. A damaged pointer is an error, and without a pointer no version is removed. A folder that is no
    index is an error too. Files in an index that ruledex did not write are kept.
    """
    store = locate(root)
    kept = {find_version(store, version) for version in keep}
    if isinstance(store, LocalStore):
        return _collect_local(store, kept, alone)
    if not alone:
        raise ArtifactError(
            f"{store.where('')} is remote, where nothing shows who is publishing; pass alone=True if nobody is"
        )
    return _collect_remote(store, kept)


def collect_cache(keep: Iterable[str] = ()) -> Collected:
    """Remove this host's copies of remote versions, except those in `keep`, and all receipts of this user.

    Versions that were rebuilt because they are not trusted are removed too. Whatever is needed again is made again.
    """
    kept = set(map(check_version, keep))
    versions: list[str] = []
    staging: list[str] = []
    living: list[str] = []
    for folder in cache_folders():
        copies = LocalStore(folder / COPIES)
        if adopt_copies(copies.root):
            versions += _remove_versions(copies, kept)
            removed, alive = remove_dead_staging(copies.root)
            staging += removed
            living += alive
        _remove_rebuilt(folder / REBUILT)
        with reporting("clear", folder / RECEIPTS):
            receipts = folder / RECEIPTS
            for receipt in sorted(receipts.iterdir()) if is_folder(receipts) else []:
                if is_version(receipt.name) and is_plain_file(receipt):
                    receipt.unlink(missing_ok=True)
    return Collected(tuple(versions), tuple(staging), tuple(living))


def _remove_rebuilt(folder: Path) -> None:
    """Remove the roots in a folder that are named by a hash. A process that has one of them open keeps it."""
    with reporting("clear", folder):
        for path in sorted(folder.iterdir()) if is_folder(folder) else []:
            if is_version(path.name) and is_folder(path):
                require_root(path)
                remove_tree(path)
            elif is_version(path.name.removesuffix(LOCK_SUFFIX)) and is_plain_file(path):
                path.unlink(missing_ok=True)


def drop_root(root: RootLike) -> None:
    """Remove a whole index from a local folder, in one atomic step. Readers that have it open keep their version.

    A folder that is no index, or that has files which ruledex did not write, is an error, and stays as it is.
    """
    store = locate(root)
    if not isinstance(store, LocalStore):
        raise ArtifactError(f"{store.where('')} is remote; only a local index is removed in one step")
    folder = store.root
    require_root(folder)
    with root_lock(folder), reporting("remove", folder):
        if foreign := foreign_names(folder):
            raise ArtifactError(f"{folder} has files that ruledex did not write ({foreign[0]}): it is not removed")
        hidden = folder.with_name(f".dropped-{token_hex(8)}")
        folder.rename(hidden)
        sync(folder.parent)
    with reporting("remove", hidden):
        remove_tree(hidden)


def _collect_local(store: LocalStore, kept: set[str], alone: bool) -> Collected:
    if not store.root.is_dir():
        raise ArtifactError(f"there is no folder {store.root}")
    require_root(store.root)
    pointed = read_pointer(store)
    versions = [] if pointed is None else _remove_versions(store, kept)
    removed, living = remove_dead_staging(store.root, leased=alone)
    return Collected(tuple(versions), tuple(removed), tuple(living))


def _remove_versions(store: LocalStore, kept: set[str]) -> list[str]:
    """Remove versions by one rename each, so that a version is there as a whole or not at all, even after a kill."""
    removed = []
    with claim_staging(store.root) as area, root_lock(store.root):
        # Read again under the lock: until we are done, the current version cannot change, and nobody can pin another.
        pointed = read_pointer(store)
        kept = kept | pinned_versions(store)
        for version in sorted(store.folders(VERSIONS)):
            folder = store.root / version_folder(version)
            if version != pointed and version not in kept and is_version_folder(folder):
                with reporting("remove", folder):
                    folder.rename(area.files / version)
                removed.append(version)
    return removed


def _collect_remote(store: RemoteStore, kept: set[str]) -> Collected:
    require_remote(store)
    pointed = read_pointer(store)
    kept = kept | pinned_versions(store)
    removed = []
    for version in sorted(store.folders(VERSIONS)) if pointed is not None else []:
        if version == pointed or version in kept or not is_version(version):
            continue
        if all(map(is_version_file, store.files(version_folder(version)))):
            store.remove_version(version)
            removed.append(version)
    staging = sorted(filter(is_staging, store.folders(STAGING)))
    for name in staging:
        store.remove_folder(f"{STAGING}/{name}")
    return Collected(tuple(removed), tuple(staging))

"""Where a build by many tasks puts its unpublished work: parts of an artifact, each a version in a root of its own.

    root/staging/<build>/files/<part>/versions/<hash>/…

A part's name in the build is what it is; its version is the hash of its content, which a task reports. A task that is
run again, or twice at once, writes aside and finds the same version there, or publishes it. The folder of a build is in
the hands of the process that asked for it where that one sees it, by its lock; else it has a lease (see locks.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ruledex.artifact import (
    Artifact,
    ArtifactWriter,
    LocalStore,
    Part,
    RemoteStore,
    locate,
    open_version,
)
from ruledex.artifact.cache import COPIES, cache_folders
from ruledex.artifact.copies import discard_copy
from ruledex.artifact.layout import STAGING, STAGING_FILES, version_folder
from ruledex.artifact.locks import (
    StagingArea,
    claim_staging,
    is_leased,
    remove_dead_staging,
    renew_lease,
)
from ruledex.artifact.ownership import claim_remote, claim_root
from ruledex.errors import ArtifactError


def begin(root: str, build: str) -> None:
    """In a task: make the folder of a build, and remove those of builds that are dead."""
    store = locate(root)
    if isinstance(store, RemoteStore):
        claim_remote(store)
    else:
        claim_root(store.root)
        remove_dead_staging(store.root)
        claim_staging(store.root, build).lend()


def take_over(root: str, build: str) -> StagingArea | None:
    """In the process that asked for the build: hold its folder, if it is seen from here."""
    try:
        store = locate(root)
        if not isinstance(store, LocalStore) or not is_leased(store.root, build):
            return None
        area = claim_staging(store.root, build)
    except ArtifactError:  # of a file system that only the workers know, or a folder that is theirs alone
        return None
    area.end_lease()
    return area


def end(root: str, build: str) -> None:
    """In a task: remove the folder of a build."""
    store = locate(root)
    if isinstance(store, LocalStore):
        claim_staging(store.root, build).close()
    else:
        store.remove_folder(f"{STAGING}/{build}")


def part_of(build: str, name: str, version: str) -> Part:
    """A part of a build, as `assemble` takes it."""
    return Part(_folder(build, name), version)


@contextmanager
def write_part(root: str, build: str, name: str) -> Iterator[ArtifactWriter]:
    """In a task: a writer of a part."""
    _renew(root, build)
    with ArtifactWriter(locate(root).within(_folder(build, name))) as writer:
        yield writer


@contextmanager
def read_part(root: str, build: str, name: str, version: str) -> Iterator[Artifact]:
    """In a task: a part, verified. No copy of a remote one stays on this host, but its arrays live on."""
    _renew(root, build)
    place = locate(root).within(_folder(build, name))
    try:
        yield open_version(place, version, verify="always")
    finally:
        if not isinstance(place, LocalStore):
            for folder in cache_folders():
                if (folder / COPIES / version_folder(version)).is_dir():
                    discard_copy(LocalStore(folder / COPIES), version)


def _folder(build: str, name: str) -> str:
    return f"{STAGING}/{build}/{STAGING_FILES}/{name}"


def _renew(root: str, build: str) -> None:
    store = locate(root)
    if isinstance(store, LocalStore):
        renew_lease(store.root, build)

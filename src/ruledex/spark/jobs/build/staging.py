"""Keep the unpublished parts of a build. Each part of the artifact is a version in a root of its own.

    root/staging/<build>/files/<part>/versions/<hash>/…

A part's name says what it is, and its version is the hash of its content, which the task reports. A task that runs
again, or twice at once, writes to another folder and then finds the same version or publishes it. If the process that
started the build can see its folder, that process holds its lock; otherwise the folder has a lease (see locks.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ruledex.artifact import Artifact, ArtifactWriter, LocalStore, PartVersion, RemoteStore, locate, open_version
from ruledex.artifact.cache import COPIES, cache_folders
from ruledex.artifact.layout import STAGING, STAGING_FILES, version_folder
from ruledex.artifact.locks import StagingArea, claim_staging, is_leased, remove_dead_staging, renew_lease
from ruledex.artifact.ownership import claim_remote, claim_root
from ruledex.artifact.reader import discard_copy
from ruledex.errors import ArtifactError


def begin(root: str, build: str) -> None:
    """Create, inside a task, the folder of a build, and remove the folders of dead builds."""
    store = locate(root)
    if isinstance(store, RemoteStore):
        claim_remote(store)
    else:
        claim_root(store.root)
        remove_dead_staging(store.root)
        claim_staging(store.root, build).lend()


def take_over(root: str, build: str) -> StagingArea | None:
    """Lock the folder of a build in the process that started it. Returns None if this process cannot see the folder."""
    try:
        store = locate(root)
        if not isinstance(store, LocalStore) or not is_leased(store.root, build):
            return None
        area = claim_staging(store.root, build)
    except ArtifactError:  # only the workers can reach the file system, or own the folder
        return None
    area.end_lease()
    return area


def end(root: str, build: str) -> None:
    """Remove, inside a task, the folder of a build."""
    store = locate(root)
    if isinstance(store, LocalStore):
        claim_staging(store.root, build).close()
    else:
        store.remove_folder(f"{STAGING}/{build}")


def part_of(build: str, name: str, version: str) -> PartVersion:
    """Return a part of a build as `assemble` takes it."""
    return PartVersion(_folder(build, name), version)


@contextmanager
def write_part(root: str, build: str, name: str) -> Iterator[ArtifactWriter]:
    """Open, inside a task, a writer of a part for a `with`."""
    _renew(root, build)
    with ArtifactWriter(locate(root).within(_folder(build, name))) as writer:
        yield writer


@contextmanager
def read_part(root: str, build: str, name: str, version: str) -> Iterator[Artifact]:
    """Open, inside a task, a part for a `with`, and verify it. No copy of a remote part stays on this host afterwards,
    but its arrays remain usable."""
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

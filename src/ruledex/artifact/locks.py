"""Who is working in a root: locks that the operating system releases when their holder dies, however it dies.

There are two kinds of locks, both by flock, so that neither a clock nor a process id has to be trusted:

- The root's `LOCK` is held by a publisher while it installs a version and moves the pointer, and by the garbage
  collector. Under this lock, an unreferenced version is garbage, not a version about to be published.
- A staging folder's `lock` is held by its writer from beginning to end. A staging folder whose lock can be taken has no
  living writer. A child that a writer forked shares neither its lock nor its folder.

Writers on several hosts, none of which lives as long as their work, have a `lease` in the staging folder instead: a
file that each of them touches when it begins. Such a folder counts as alive until its lease is old.

Readers take no locks, and need no permission to write.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ruledex.artifact.files import remove_tree
from ruledex.artifact.layout import (
    LEASE_SECONDS,
    ROOT_LOCK,
    STAGING,
    STAGING_FILES,
    STAGING_LEASE,
    STAGING_LOCK,
    is_staging,
)
from ruledex.artifact.ownership import claim_root, is_staging_folder, require_root
from ruledex.artifact.store import reporting
from ruledex.errors import ArtifactError
from ruledex.forks import held, no_longer_held

try:
    import fcntl
except ImportError:  # not a Unix: locks of filelock's, which hold between the processes of one host
    fcntl = None  # type: ignore[assignment]

HAS_FILE_LOCKS = fcntl is not None
_other_locks: dict[int, Any] = {}  # without fcntl, by the descriptor that stands for the lock


def take_lock(path: Path, wait: bool = True) -> int:
    """Take a lock and return its descriptor. Without `wait`, BlockingIOError if another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        if fcntl is None:
            _other_locks[descriptor] = _take_other_lock(path, wait)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return held(descriptor)


def release_lock(descriptor: int) -> None:
    """Release a lock. In a child that was forked while the lock was held, this does nothing."""
    if not no_longer_held(descriptor):
        return
    # Explicitly, since a close alone would leave the lock to children that were forked meanwhile.
    if fcntl is None:
        _other_locks.pop(descriptor).release()
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _take_other_lock(path: Path, wait: bool) -> Any:
    """Take a lock in the temporary folder: in a root there may be nothing that readers do not know."""
    from filelock import FileLock, Timeout

    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    lock = FileLock(Path(tempfile.gettempdir()) / f"ruledex-{name}.lock")
    try:
        lock.acquire(-1 if wait else 0)
    except Timeout as error:
        raise BlockingIOError(str(error)) from None
    return lock


@contextmanager
def root_lock(root: Path) -> Iterator[None]:
    """Hold the lock that lets one process at a time publish to a root or remove versions from it."""
    require_root(root)
    with reporting("lock", root / ROOT_LOCK):
        descriptor = take_lock(root / ROOT_LOCK)
    try:
        yield
    finally:
        release_lock(descriptor)


class StagingArea:
    """A folder of unpublished work that lives as long as its writer. Its folder `files` becomes the version."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.files = path / STAGING_FILES
        self._descriptor = descriptor
        self._process = os.getpid()

    def __enter__(self) -> StagingArea:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def lend(self) -> None:
        """Release the lock and leave the folder to others, with a lease."""
        with reporting("write", self.path / STAGING_LEASE):
            (self.path / STAGING_LEASE).touch()
        descriptor, self._descriptor = self._descriptor, -1
        release_lock(descriptor)

    def end_lease(self) -> None:
        """End the lease: from now on only the lock says whether the folder is in use."""
        (self.path / STAGING_LEASE).unlink(missing_ok=True)

    def close(self) -> None:
        """Remove what is left of the folder and release the lock. A second call does nothing."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        if self._process != os.getpid():  # the parent goes on writing
            return
        try:
            with reporting("remove", self.path):
                _remove_staging(self.path)
        finally:
            release_lock(descriptor)


def claim_staging(root: Path, name: str | None = None) -> StagingArea:
    """Make a staging folder and take its lock. With a `name`, wait until the holder of that folder is done with it.

    A missing root is created; a folder that is neither empty nor a root raises an ArtifactError.
    """
    claim_root(root)
    if name is not None and not is_staging(name):
        raise ArtifactError(f"{name!r} is not the name of a staging folder")
    while True:
        path = root / STAGING / (name or f"{os.getpid()}-{secrets.token_hex(8)}")
        with reporting("prepare", path):
            path.parent.mkdir(exist_ok=True)
            # Not by exist_ok, which mistakes a folder that is removed at that moment for a file in the way.
            with suppress(FileExistsError):
                path.mkdir()
            try:
                if not is_staging_folder(path):
                    raise ArtifactError(f"{path} holds what was not written by ruledex: move it away")
                descriptor = take_lock(path / STAGING_LOCK)
            except FileNotFoundError:
                continue
            # The garbage collector or the last owner may have removed the folder while we waited; our lock is then on a
            # file that no longer has a name.
            if not _is_named(descriptor, path / STAGING_LOCK):
                release_lock(descriptor)
                continue
            area = StagingArea(path, descriptor)
            remove_tree(area.files)
            area.files.mkdir()
            return area


def is_leased(root: Path, name: str) -> bool:
    """Return whether a staging folder has a lease, even an old one."""
    return (root / STAGING / name / STAGING_LEASE).exists()


def renew_lease(root: Path, name: str) -> None:
    """Renew the lease of a staging folder, if it has one."""
    with suppress(FileNotFoundError):
        os.utime(root / STAGING / name / STAGING_LEASE)


def remove_dead_staging(root: Path, *, leased: bool = False) -> tuple[list[str], list[str]]:
    """Remove the staging folders without a living writer. Returns the names of the removed and of the living.

    Anything in `staging` that ruledex did not make is kept, and is in neither list. With `leased`, leases do not count:
    the caller states that nobody works on other hosts.
    """
    removed: list[str] = []
    living: list[str] = []
    require_root(root)
    folder = root / STAGING
    with reporting("clear", folder):
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            try:
                if not is_staging_folder(path):
                    continue
                # A missing lock file is created: a writer between its mkdir and its lock then meets ours, and starts
                # again.
                descriptor = take_lock(path / STAGING_LOCK, wait=False)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except BlockingIOError:
                living.append(path.name)
                continue
            try:
                # Another collector may be removing the same folder.
                with suppress(FileNotFoundError):
                    if not leased and _has_fresh_lease(path):
                        living.append(path.name)
                    elif _is_named(descriptor, path / STAGING_LOCK):
                        _remove_staging(path)
                        removed.append(path.name)
            finally:
                release_lock(descriptor)
    return removed, living


def _remove_staging(path: Path) -> None:
    """Remove a staging folder whose lock we hold."""
    # Renamed first: if the lock's file were removed before the rest, the next process to claim this name would lock a
    # new file, and we would remove its work.
    trash = path.with_name(f"removed-{secrets.token_hex(8)}")
    path.rename(trash)
    remove_tree(trash)


def _has_fresh_lease(path: Path) -> bool:
    try:
        return time.time() - (path / STAGING_LEASE).stat().st_mtime < LEASE_SECONDS
    except FileNotFoundError:
        return False


def _is_named(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False

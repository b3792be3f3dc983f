"""Local files: read without following links, and written so that they survive a crash.

**Reading.** Somebody else may have filled a root. A link may lead out of the folder, a FIFO makes a reader wait
forever, and a device has no end. So a path is opened step by step from the root's own folder, no step follows a link,
and a file is known to be regular before it is read.

**Writing.** A file is flushed, made read-only and renamed to its place, so that it appears whole or not at all.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ruledex import limits
from ruledex.errors import ArtifactError

WRITE_BITS = 0o222

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO waits for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PART = 1 << 20  # bytes per read


@contextmanager
def reporting(action: str, where: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system into ArtifactErrors that name the file and the action."""
    try:
        yield
    except OSError as error:
        raise ArtifactError(f"cannot {action} {os.fspath(where)}: {error.strerror or error}") from error


# Reading.


def open_regular(root: Path, path: str) -> int:
    """Open a file by its path from the root. Returns its descriptor; FileNotFoundError if it is missing."""
    *folders, name = path.split("/")
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # the root itself may be a link of the user's own
    try:
        for folder in folders:
            below = _open_at(at, folder, _FOLDER, root, path)
            os.close(at)
            at = below
        found = _open_at(at, name, _FILE, root, path)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise ArtifactError(f"{root / path} is not a regular file")
    return found


def _open_at(folder: int, name: str, flags: int, root: Path, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError:
        # Errors differ between systems and kinds of files, so look at what it is.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise ArtifactError(
                f"{root / path} is behind the symbolic link {name!r}; links within an index are not followed"
            ) from None
        if flags == _FILE and not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise ArtifactError(f"{root / path} is not a regular file") from None
        raise


def read_small(root: Path, path: str) -> bytes:
    """Read a file. FileNotFoundError if it is missing, ArtifactError if it exceeds the limit `manifest_bytes`."""
    with os.fdopen(open_regular(root, path), "rb", buffering=0) as file:
        check_limit(os.fstat(file.fileno()).st_size, "manifest_bytes", str(root / path))
        parts: list[bytes] = []
        n_read = 0
        while data := file.read(_PART):
            n_read += len(data)
            check_limit(n_read, "manifest_bytes", str(root / path))  # again, since a file may grow while it is read
            parts.append(data)
        return b"".join(parts)


def check_limit(n_bytes: int, limit: str, where: str) -> None:
    """Raise an ArtifactError if a file has more bytes than the limit of this name."""
    if n_bytes > (most := getattr(limits.current(), limit)):
        raise ArtifactError(f"{where} has {n_bytes:,} bytes or more, over the limit {limit} of {most:,}")


def check_size(n_bytes: int, most_bytes: int, where: str) -> None:
    """Raise an ArtifactError if a file has more bytes than its manifest lists."""
    if n_bytes > most_bytes:
        raise ArtifactError(f"{where} has {n_bytes:,} bytes or more, and its manifest lists {most_bytes:,}")


# Writing.


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def seal(folder: Path) -> None:
    """Make all files below a folder read-only, and flush them and their names to disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            path = Path(parent, name)
            path.chmod(path.stat().st_mode & ~WRITE_BITS)
            sync(path)
        sync(Path(parent))


def replace_file(path: Path, temporary: Path, data: bytes) -> None:
    """Write a small file in place of another in one atomic step, a rename within a folder."""
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise FileExistsError(errno.EEXIST, "it is not a plain file", str(path))
    with create_file(temporary) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync(path.parent)


def create_file(path: Path) -> IO[bytes]:
    """Open a new file for writing, in place of one that a dead writer left. A link or device there is an error."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise FileExistsError(errno.EEXIST, "it is not a plain file", str(path))
        path.unlink()
    except FileNotFoundError:
        pass
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    return os.fdopen(descriptor, "wb")


def remove_tree(path: Path) -> None:
    """Remove a folder that nobody uses any more, even while another process does the same."""
    while os.path.lexists(path):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise

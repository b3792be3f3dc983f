"""Open files of a root that somebody else may have filled: regular files alone, and never through a link.

A link may lead out of the folder, a FIFO makes a reader wait for ever, and a device has no end. So a path is opened
step by step from the root's own folder, no step follows a link, and a file is known to be regular before it is read.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ruledex.errors import ArtifactError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO waits for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PART = 1 << 20  # bytes that are read at once


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
        # The errors differ between systems and kinds of files, so we look what it is.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise ArtifactError(
                f"{root / path} lies behind the symbolic link {name!r}; links within an index are not followed"
            ) from None
        if flags == _FILE and not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise ArtifactError(f"{root / path} is not a regular file") from None
        raise


def read_whole(root: Path, path: str, most_bytes: int) -> bytes:
    """Read a file of at most so many bytes. FileNotFoundError if it is missing, ArtifactError if it is larger."""
    with os.fdopen(open_regular(root, path), "rb", buffering=0) as file:
        check_size(os.fstat(file.fileno()).st_size, most_bytes, str(root / path))
        parts: list[bytes] = []
        n_read = 0
        while data := file.read(_PART):
            n_read += len(data)
            check_size(n_read, most_bytes, str(root / path))  # again, since a file may grow while it is read
            parts.append(data)
        return b"".join(parts)


def check_size(n_bytes: int, most_bytes: int, where: str) -> None:
    """Refuse what is larger than it may be."""
    if n_bytes > most_bytes:
        raise ArtifactError(f"{where} has {n_bytes:,} bytes or more, and at most {most_bytes:,} are read")

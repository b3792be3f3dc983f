"""Write local files so that they survive a crash.

A file is flushed, made read-only and renamed to its place, so that it appears whole or not at all.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import IO

WRITE_BITS = 0o222


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

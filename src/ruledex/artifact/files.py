"""Local files that survive a crash: flush, make immutable, rename, and say what went wrong."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ruledex.errors import ArtifactError

WRITE_BITS = 0o222


@contextmanager
def reporting(action: str, where: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the operating system's errors into ours, which name the file and what was tried."""
    try:
        yield
    except OSError as error:
        raise ArtifactError(f"cannot {action} {os.fspath(where)}: {error.strerror or error}") from error


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def seal(folder: Path) -> None:
    """Make all files below a folder read-only, and have them and all names on the disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            path = Path(parent, name)
            path.chmod(path.stat().st_mode & ~WRITE_BITS)
            sync(path)
        sync(Path(parent))


def replace_file(path: Path, temporary: Path, data: bytes) -> None:
    """Put a small file in the place of another in one atomic step, that of a rename within a folder."""
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise FileExistsError(errno.EEXIST, "it is not a plain file", str(path))
    with open_anew(temporary) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync(path.parent)


def open_anew(path: Path) -> IO[bytes]:
    """Open a new file for writing, in place of one that a writer left who died. A link or device there is an error."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise FileExistsError(errno.EEXIST, "it is not a plain file", str(path))
        path.unlink()
    except FileNotFoundError:
        pass
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    return os.fdopen(descriptor, "wb")


def remove_tree(path: Path) -> None:
    """Remove a folder that nobody uses any more, also while another process does the same."""
    while os.path.lexists(path):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise

"""Write a user's file whole or not at all: to another name in the same folder, which is renamed when it is complete.

The old file stays until then, so that an interruption leaves it. A process that is killed outright leaves the old file
too, and one whose name ends in `.unfinished`.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

UNFINISHED: Final = ".unfinished"
_MOST_LINKS: Final = 40  # as many as Linux follows
_LONGEST_STEM: Final = 100  # bytes of the file's name that the unfinished one keeps; a name may have 255


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which replaces `path` if the `with` block succeeds. Errors are OSErrors.

    A link is followed, and the file that it leads to is replaced. A pipe, a device and `/dev/stdout` are written to
    directly, since they cannot be replaced.
    """
    target = _followed(Path(path))
    if target is None:
        with Path(path).open("wb") as file:
            yield file
        return
    before = target.stat() if target.exists() else None
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    stem = os.fsencode(target.name)[:_LONGEST_STEM].decode(errors="ignore")
    aside = target.with_name(f".{stem}.{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with aside.open("xb") as file:
            if before is not None:
                with suppress(OSError):
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(target)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def leads_to(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether what is written to `path` would take the place of the file `other`, also through links."""
    target = _followed(Path(path))
    return target is not None and target.exists() and target == Path(other).resolve()


def _followed(path: Path) -> Path | None:
    """Return the file that links lead to, which may be missing; None if it cannot be replaced by another file."""
    for _ in range(_MOST_LINKS):
        folder = path.parent.resolve()
        path = folder / path.name
        # If a shell has redirected it, /dev/stdout is a link to a file, but stands for what is open.
        if str(folder) in ("/dev", "/dev/fd") or folder.is_relative_to("/proc"):
            return None
        if not path.is_symlink():
            return None if path.exists() and not path.is_file() else path
        path = folder / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))

"""Files for a user that are there whole or not at all: written aside, in the same folder, and renamed when complete.

What was there before stays until then, so that an interruption leaves the old file. A process that is killed outright
leaves a file whose name ends in `.unfinished`, and the old one as it was.
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
_MOST_LINKS: Final = 40  # that Linux follows, too
_LONGEST_STEM: Final = 100  # bytes of the file's own name in that of the unfinished one, which may have 255


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give a file to write to, which takes the place of `path` when the `with` ends well. Errors are OSErrors.

    A link is followed, and the file that it leads to is replaced. A pipe, a device and what `/dev/stdout` stands for
    are written to as they are, since nothing can take their place.
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
    """The file that links lead to, be it missing; None where it is nothing that another file can take the place of."""
    for _ in range(_MOST_LINKS):
        folder = path.parent.resolve()
        path = folder / path.name
        # /dev/stdout is a link to a file where a shell has redirected it, and yet stands for what is open.
        if str(folder) in ("/dev", "/dev/fd") or folder.is_relative_to("/proc"):
            return None
        if not path.is_symlink():
            return None if path.exists() and not path.is_file() else path
        path = folder / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))

"""This user's cache on this host: its folders, and the receipts of what has been verified.

Everything in a cache can be made again: receipts, copies of remote versions, and versions that were rebuilt because
they are not trusted.

A receipt says that this host has hashed the files of a version in full and found them good, so that it does so once.
Its name is the hash of the version's name and of the identity of every file (path, device, inode, size, times of
change) on this host. A file that is replaced, restored or written to is another file, and has no receipt.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from ruledex.artifact.locks import release_lock, take_lock
from ruledex.artifact.manifest import encode_json
from ruledex.artifact.ownership import adopt_copies, is_folder
from ruledex.errors import ArtifactError

RECEIPTS = "receipts"
COPIES = "copies"
REBUILT = "rebuilt"
LOCK_SUFFIX = ".lock"  # of the lock that a rebuilding process holds

_VERIFIED = b"verified\n"  # the content of a receipt


def cache_folders() -> list[Path]:
    """Return where to look and to try to write, in order: RULEDEX_CACHE, else XDG's or HOME's; then a temporary folder.

    Clusters run processes without a HOME, with a HOME that is read-only or does not exist, and from read-only images
    that contain a filled cache. So none of the folders need exist or be writable.
    """
    folders = []
    chosen = os.environ.get("RULEDEX_CACHE")
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = Path(os.environ.get("HOME", ""))
    if chosen:
        folders.append(Path(chosen).absolute())
    elif xdg.is_absolute():  # the XDG specification says to ignore a relative one
        folders.append(xdg / "ruledex")
    elif home.is_absolute():
        folders.append(home / ".cache" / "ruledex")
    with suppress(OSError):
        temporary = Path(tempfile.gettempdir(), f"ruledex-{os.geteuid()}")
        # Anybody may create folders and links there; only our own folder is trusted.
        if not os.path.lexists(temporary) or (not temporary.is_symlink() and temporary.stat().st_uid == os.geteuid()):
            folders.append(temporary)
    return folders


def writable_folders(name: str) -> list[Path]:
    """Return the folders of this name in the writable caches. Missing ones are created."""
    found = []
    for folder in cache_folders():
        path = folder / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(exist_ok=True)
        except OSError:
            continue
        if not is_folder(path):  # a link may lead anywhere
            continue
        # Checked again, since somebody else may have made the temporary folder just before us.
        if folder in cache_folders() and os.access(
            path, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids
        ):
            found.append(path)
    return found


def copies_root() -> Path:
    """Return a root in a cache for copies of remote versions."""
    for path in writable_folders(COPIES):
        if adopt_copies(path):
            return path
    looked = ", ".join(map(str, cache_folders())) or "no folder at all"
    raise ArtifactError(f"no folder for local copies of remote versions (tried {looked}); set RULEDEX_CACHE to one")


# Receipts.


def verify_once(version: str, stats: Mapping[str, os.stat_result], check: Callable[[], None]) -> None:
    """Run `check`, which raises an error if a file is damaged, unless a receipt says that it passed for these files.

    Processes that verify at the same time wait for the first one's result. If no cache is writable, each of them runs
    the check itself.
    """
    name = receipt_name(version, stats)
    if any(_is_receipt(folder / RECEIPTS / name) for folder in cache_folders()):
        return
    for folder in writable_folders(RECEIPTS):
        try:
            descriptor = take_lock(folder / name)
        except OSError:
            continue
        try:
            if os.fstat(descriptor).st_size == len(_VERIFIED):
                return
            try:
                check()
            except BaseException:
                with suppress(OSError):
                    (folder / name).unlink()
                raise
            # The disk may be full: an empty or truncated receipt does not count.
            with suppress(OSError):
                os.write(descriptor, _VERIFIED)
            return
        finally:
            release_lock(descriptor)
    check()


def receipt_name(version: str, stats: Mapping[str, os.stat_result]) -> str:
    """Return one name for a version and the state of its files on this host."""
    state = [
        [path, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
        for path, stat in sorted(stats.items())
    ]
    # Hosts may share a home folder, and each has to verify for itself.
    key = encode_json([os.uname().nodename, version, state], "a receipt")
    return hashlib.sha256(key).hexdigest()


def _is_receipt(path: Path) -> bool:
    try:
        return path.stat().st_size == len(_VERIFIED)
    except OSError:
        return False

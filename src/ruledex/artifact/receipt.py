"""Receipts: which files this host has hashed in full and found good, so that it does so once.

A receipt's name is the hash of the version's name and of what every file is (path, device, inode, size, times of
change) on this host. A file that is replaced, restored or written to is another file, and has no receipt.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from ruledex.artifact import canonical
from ruledex.artifact.cache import RECEIPTS, cache_folders, writable_folders
from ruledex.artifact.layout import is_version
from ruledex.artifact.locks import release_lock, take_lock

CONTENT = b"verified\n"


def verify_once(version: str, stats: Mapping[str, os.stat_result], check: Callable[[], None]) -> None:
    """Run `check`, which raises what is wrong, unless a receipt says that it passed for these very files.

    Processes that come at the same time wait for the first one's result. Where no cache can be written, every one
    runs the check itself.
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
            if os.fstat(descriptor).st_size == len(CONTENT):
                return
            try:
                check()
            except BaseException:
                with suppress(OSError):
                    (folder / name).unlink()
                raise
            # The full disk's case: an empty or cut receipt is none.
            with suppress(OSError):
                os.write(descriptor, CONTENT)
            return
        finally:
            release_lock(descriptor)
    check()


def receipt_name(version: str, stats: Mapping[str, os.stat_result]) -> str:
    """One name for a version and the state of its files on this host."""
    state = [
        [path, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
        for path, stat in sorted(stats.items())
    ]
    # A home folder may be shared by hosts, each of which has to see for itself.
    key = canonical.encode([os.uname().nodename, version, state], "a receipt")
    return hashlib.sha256(key).hexdigest()


def is_receipt_name(name: str) -> bool:
    """Whether this is the form of a receipt's name, which is that of a version's: a sha256."""
    return is_version(name)


def _is_receipt(path: Path) -> bool:
    try:
        return path.stat().st_size == len(CONTENT)
    except OSError:
        return False

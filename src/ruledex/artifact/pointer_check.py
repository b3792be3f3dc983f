"""Checks again and again that the pointer of a root is what it was, without reading it each time."""

from __future__ import annotations

import os
import time
from typing import Final

from ruledex.artifact.layout import POINTER
from ruledex.artifact.store import LocalStore, open_regular, reporting

_SETTLED_NS: Final = 100_000_000  # a file system may count time in steps of ten milliseconds


class PointerCheck:
    """Says whether a root's pointer has certain bytes. It reads the file if it is another one, or was written to."""

    def __init__(self, store: LocalStore, data: bytes) -> None:
        self._store = store
        self._path = os.fspath(store.root / POINTER)
        self._data = data
        self._stamp: tuple[int, ...] | None = None  # of the file that was last found to have these bytes
        self._descriptor: int | None = None  # of that file: while it is open, no other file can have its number

    def __del__(self) -> None:
        self._forget()

    def holds(self) -> bool:
        """Return whether the pointer has these bytes."""
        if self._stamp is not None:
            try:
                if _stamp_of(os.lstat(self._path)) == self._stamp:
                    return True
            except OSError:  # reading it says what is wrong
                pass
            self._forget()
        return self._read()

    def _read(self) -> bool:
        with reporting("read", self._path):
            try:
                descriptor = open_regular(self._store.root, POINTER)
            except (FileNotFoundError, NotADirectoryError):
                return False
            found = os.fstat(descriptor)
            is_same = os.pread(descriptor, len(self._data) + 1, 0) == self._data
        # What was just written could be written again within the same instant of the file system's clock.
        is_old = max(found.st_mtime_ns, found.st_ctime_ns) < time.time_ns() - _SETTLED_NS
        if is_same and is_old:
            self._stamp, self._descriptor = _stamp_of(found), descriptor
        else:
            os.close(descriptor)
        return is_same

    def _forget(self) -> None:
        descriptor, self._stamp, self._descriptor = self._descriptor, None, None
        if descriptor is not None:
            os.close(descriptor)


def _stamp_of(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns

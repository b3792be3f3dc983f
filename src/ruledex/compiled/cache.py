"""Where compiled code is kept: the folder, its locks, and the list of what is ready.

The folder is the first writable one of: the one that the user named (`NUMBA_CACHE_DIR`), the package's own, the user's
cache, and a private temporary one. Where there is none, each process compiles its own kernels; `cache_report()` counts
them, and the log says so once.

Compiling a kernel takes the kernel's lock, a file of that folder, so that on a host with fifty workers one compiles it
and the others load what it wrote. Different kernels are compiled at the same time. Where files cannot be locked, or a
lock is held for longer than `LOCK_SECONDS`, a process goes on without it.

The file `ready.txt` has one line per kernel and shape of call whose code is kept. Without Numba nobody can look into
Numba's own files. A line more than is true costs a compilation, a line less costs some calls of a plain form.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ruledex.forks import ForkSafeLock

LOCK_SECONDS = 120.0
READY_FILE = "ready.txt"
LOG = logging.getLogger("ruledex")


@dataclass(frozen=True)
class CacheReport:
    """Where compiled kernels are kept, and how often keeping or locking failed."""

    folder: Path | None  # None if nothing is kept
    why: str
    n_uncached: int = 0  # kernels that each process compiles for itself
    n_unlocked: int = 0  # compilations that went on without the lock


_report: CacheReport | None = None
_report_lock = ForkSafeLock()


def cache_report() -> CacheReport:
    """Return where this process keeps compiled kernels, and how often that failed so far."""
    global _report
    with _report_lock:
        if _report is None:
            _report = _find_folder()
            if _report.folder is None:
                LOG.warning("compiled kernels cannot be kept, each process compiles its own: %s", _report.why)
        return _report


def count_failures(n_uncached: int = 0, n_unlocked: int = 0) -> None:
    """Count kernels that are not kept, or compilations that had no lock."""
    global _report
    before = cache_report()
    with _report_lock:
        _report = replace(before, n_uncached=before.n_uncached + n_uncached, n_unlocked=before.n_unlocked + n_unlocked)


def _find_folder() -> CacheReport:
    tried = []
    for why, candidate in _candidates():
        try:
            folder = candidate()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.parent == Path(tempfile.gettempdir()):
                _refuse_foreign(folder)
            tempfile.TemporaryFile(dir=folder).close()
        except (OSError, RuntimeError) as error:
            tried.append(f"{why}: {error}")
        else:
            return CacheReport(folder, why)
    return CacheReport(None, "; ".join(tried))


def _candidates() -> Iterator[tuple[str, Callable[[], Path]]]:
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield "NUMBA_CACHE_DIR", lambda: Path(named) / "ruledex"
    if Path(__file__).exists():  # it does not in a zip, and a folder must not be made beside the archive
        yield "the package's own folder", own_folder
    yield "the user's cache", _users_cache
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield "the temporary folder", lambda: Path(tempfile.gettempdir()) / f"ruledex-kernels-{user}"


def own_folder() -> Path:
    """Return the folder beside this file, where a package that may be written to keeps its compiled code."""
    return Path(__file__).parent / "__pycache__"


def _users_cache() -> Path:
    from platformdirs import user_cache_path

    folder = user_cache_path("ruledex", appauthor=False)
    if not folder.is_absolute():
        raise RuntimeError("the user has no home")
    return folder / "kernels"


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that another user made or may write to: the code in it would be run."""
    status = folder.lstat()
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        raise PermissionError(f"{folder} may be written by others")


@contextmanager
def locked(name: str, seconds: float | None = None) -> Iterator[bool]:
    """Hold a lock of the cache folder for at most the block. Yields False if it could not be had in that time."""
    folder = cache_report().folder
    lock = None if folder is None else _take(folder / "locks" / f"{name}.lock", seconds)
    if folder is not None and lock is None and seconds is None:
        count_failures(n_unlocked=1)
    with nullcontext() if lock is None else lock:
        yield lock is not None


def _take(path: Path, seconds: float | None) -> Any:
    """Take a lock. Returns what releases it at the end of a block; None if it cannot be had."""
    from filelock import FileLock, Timeout

    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return FileLock(path, mode=0o600).acquire(LOCK_SECONDS if seconds is None else seconds)
    except (Timeout, OSError, NotImplementedError):
        return None


@cache
def host_key() -> str:
    """Return a name for processors of this kind: code for one may not run on another that shares the folder."""
    parts = [platform.system(), platform.machine(), platform.processor()]
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        wanted = {"model name", "flags", "Features", "CPU part"}
        seen: set[str] = set()
        for line in lines:
            name = line.partition(":")[0].strip()
            if name in wanted - seen:
                seen.add(name)
                parts.append(line)
            elif not line.strip():
                break
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


class Job(NamedTuple):
    """A kernel to be compiled for a shape of call (digest.py)."""

    module: str
    kernel: str
    shape: str


def key_of(digest: str, shape: str) -> str:
    """Return the line of `ready.txt` for a kernel, by its digest, and a shape of call."""
    return hashlib.sha256(f"{digest} {host_key()} {shape}".encode()).hexdigest()[:32]


class ReadyList:
    """The lines of `ready.txt`, read again when the file has grown."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._size = -1

    def read(self) -> set[str]:
        """Return all lines that are there by now."""
        folder = cache_report().folder
        if folder is None:
            return self._keys
        path = folder / READY_FILE
        try:
            size = path.stat().st_size
            if size != self._size:
                self._keys = set(path.read_text(encoding="ascii", errors="replace").split())
                self._size = size
        except OSError:
            self._keys, self._size = set(), -1
        return self._keys

    def add(self, key: str) -> None:
        """Add a line. One write of one line is not torn by other processes that append."""
        folder = cache_report().folder
        if folder is None or key in self._keys or key in self.read():
            return
        with suppress(OSError):
            descriptor = os.open(folder / READY_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, f"{key}\n".encode())
            finally:
                os.close(descriptor)


ready_list = ReadyList()


def plan_path(name: str) -> Path | None:
    """Return the file that says what a use of ruledex compiles."""
    folder = cache_report().folder
    return None if folder is None else folder / f"plan-{name}.json"


def read_plan(name: str) -> list[Job] | None:
    """Return the jobs of a plan; None if no process of this host has made it, or it cannot be read."""
    path = plan_path(name)
    try:
        return None if path is None else [Job(*job) for job in json.loads(path.read_bytes())]
    except (OSError, ValueError, TypeError):
        return None


def write_plan(name: str, jobs: list[Job]) -> None:
    """Keep a plan for other processes, if there is a folder for it."""
    path = plan_path(name)
    if path is None:
        return
    with suppress(OSError):
        written = path.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps(jobs, indent=0), encoding="utf-8")
        written.replace(path)

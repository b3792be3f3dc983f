"""Compile kernels by one decorator, `jit`: Numba's, with a cache folder that is writable and one compiler per host.

Numba keeps compiled code beside the source or in the user's cache folder. Where it may write to neither, as on many
clusters, it fails while a module is imported (from a zip, when the first kernel has been compiled). `jit` takes the
first folder that is writable. Where there is none, each process compiles its own kernels; `cache_report()` counts them,
and the log says so once.

A kernel is compiled when it is first called. Processes that share a cache folder compile one after the other, under a
lock on a file of that folder, so that on a host with fifty workers the first one compiles and the others load what it
wrote. Where files cannot be locked, or a lock is held for longer than `LOCK_SECONDS`, a process goes on without it.

With `NUMBA_DISABLE_JIT=1` a kernel stays the plain Python function that it is.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from llvmlite.binding import ffi as llvm_ffi  # type: ignore[import-untyped]
from numba.core import caching
from numba.core import config as numba_config
from numba.core.compiler_lock import global_compiler_lock

from ruledex.compiled.digest import digest_of
from ruledex.forks import ForkSafeLock, held, no_longer_held

try:
    import fcntl
except ImportError:  # Windows: every process compiles for itself, and the cache still serves the next start.
    fcntl = None  # type: ignore[assignment]

config: Any = numba_config  # Numba sets its fields at import, where a type checker does not see them

P = ParamSpec("P")
R = TypeVar("R")

LOCK_SECONDS = 120.0
LOCK_FILE = "compiling.lock"
FORK_SECONDS = 60.0  # the longest that a fork waits for a compilation to end
LOG = logging.getLogger("ruledex")


@dataclass(frozen=True)
class CacheReport:
    """Where compiled kernels are kept, and how often keeping or locking failed."""

    folder: Path | None  # None if nothing is kept
    why: str
    n_kernels: int = 0
    n_uncached: int = 0  # kernels that each process compiles for itself
    n_unlocked: int = 0  # compilations that went on without the lock


_report: CacheReport | None = None
_report_lock = ForkSafeLock()
_compile_lock = ForkSafeLock(reentrant=True)


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on its first call, without the GIL, and keep the code for later processes."""
    if config.DISABLE_JIT:
        return function
    report = cache_report()
    _count(n_kernels=1, n_uncached=0 if report.folder else 1)
    dispatcher: Any = _compiled(function, nogil=True)
    if report.folder is None:
        return dispatcher  # type: ignore[no-any-return]
    compile_signature = dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        with _one_process_per_host(report.folder):
            if not dispatcher.overloads:
                _keep(dispatcher)  # not earlier: what the kernel calls may stand below it in its module
            try:
                return compile_signature(signature)
            except OSError as error:
                # The kernel is compiled, but the disk is full or has become read-only.
                LOG.warning("the kernel %s cannot be kept: %s", function.__qualname__, error)
                _count(n_uncached=1)
                dispatcher._cache.disable()
                return compile_signature(signature)

    dispatcher.compile = compile_alone
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` into each kernel that calls it, as often as it is called.

    Use it for what is called once per node or more often: an array is seven arguments of a machine's call, and a kernel
    that passes on ten of them spends more time on that than on its work.
    """
    return function if config.DISABLE_JIT else _compiled(function, nogil=True, forceinline=True)


def _compiled(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    njit: Any = numba.njit
    dispatcher: Callable[P, R] = njit(**options)(function)
    return dispatcher


def cache_report() -> CacheReport:
    """Return where this process keeps compiled kernels, and how often that failed so far."""
    global _report
    with _report_lock:
        if _report is None:
            _report = _find_folder()
            if _report.folder is None:
                LOG.warning("compiled kernels cannot be kept, each process compiles its own: %s", _report.why)
        return _report


def _count(n_kernels: int = 0, n_uncached: int = 0, n_unlocked: int = 0) -> None:
    global _report
    before = cache_report()
    with _report_lock:
        _report = replace(
            before,
            n_kernels=before.n_kernels + n_kernels,
            n_uncached=before.n_uncached + n_uncached,
            n_unlocked=before.n_unlocked + n_unlocked,
        )


def _find_folder() -> CacheReport:
    """Try the folder that the user named, the package's own, the user's cache, and a private temporary one."""
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
    if config.CACHE_DIR:
        yield "NUMBA_CACHE_DIR", lambda: Path(config.CACHE_DIR) / "ruledex"
    if Path(__file__).exists():  # it does not in a zip, and a folder must not be made beside the archive
        yield "the package's own folder", lambda: Path(__file__).parent / "__pycache__"
    if os.environ.get("XDG_CACHE_HOME"):
        yield "XDG_CACHE_HOME", lambda: Path(os.environ["XDG_CACHE_HOME"]) / "ruledex" / "kernels"
    yield "the user's cache", lambda: Path.home() / ".cache" / "ruledex" / "kernels"
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield "the temporary folder", lambda: Path(tempfile.gettempdir()) / f"ruledex-kernels-{user}"


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that another user made or may write to: the code in it would be run."""
    status = folder.lstat()
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        raise PermissionError(f"{folder} may be written by others")


class _Locator(caching._CacheLocator):
    """Tells Numba where a function's code lies and whether it is fresh, by the function's digest.

    Numba itself looks only at the file of the function, and would go on using code into which an older version of
    another file's kernel was inlined.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self.function = function
        self.folder = folder
        self.digest = digest_of(function)

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return self.digest

    def get_disambiguator(self) -> str:
        # The name of the file is part of an entry's name. Its folder is not, and may differ from process to process:
        # a cluster unpacks the same archive to a new place for each job. Several versions of ruledex may share a
        # user's folder; there the digest keeps them apart.
        is_own = self.folder == Path(__file__).parent / "__pycache__"
        return self.function.__module__ + ("" if is_own else f"-{self.digest[:16]}")

    @classmethod
    def from_function(cls, function: Callable[..., Any], _file: str) -> _Locator | None:
        folder = cache_report().folder
        return cls(function, folder) if folder else None


def _keep(dispatcher: Any) -> None:
    """Let Numba load and save the kernel's code, if this version of Numba lets the folder be chosen."""
    numbas_own = caching.CacheImpl._locator_classes
    caching.CacheImpl._locator_classes = [_Locator]
    try:
        dispatcher.enable_caching()
    except (RuntimeError, OSError, AttributeError) as error:
        LOG.warning("the kernel %s cannot be kept: %s", dispatcher.__qualname__, error)
        _count(n_uncached=1)
    finally:
        caching.CacheImpl._locator_classes = numbas_own


@contextmanager
def _one_process_per_host(folder: Path | None) -> Iterator[None]:
    """Hold the folder's lock file; kernels that call kernels enter again while they hold it."""
    with _compile_lock:
        handle = None
        if _compile_lock.depth == 1 and folder is not None and fcntl is not None:
            handle = _locked(folder / LOCK_FILE)
        try:
            yield
        finally:
            # Unlock before closing: a close alone would leave the lock to children that were forked meanwhile.
            if handle is not None and no_longer_held(handle):
                fcntl.flock(handle, fcntl.LOCK_UN)
                os.close(handle)


def _locked(path: Path) -> int | None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        _count(n_unlocked=1)
        return None
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(0.05)
                continue
        except OSError:
            pass  # a file system without locks
        else:
            return held(handle)
        os.close(handle)
        _count(n_unlocked=1)
        return None


# A fork waits for a running compilation, since the locks of LLVM cannot be made anew in the child.


def _before_fork() -> None:
    _held_for_fork.extend(lock for lock in _compilers_locks() if lock.acquire(timeout=FORK_SECONDS))


def _after_fork() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release()


def _compilers_locks() -> list[Any]:
    """Return the locks of Numba's compiler and of LLVM, in the order in which a compilation takes them."""
    holders = (global_compiler_lock, getattr(llvm_ffi.lib, "_lock", None))
    locks = [getattr(holder, "_lock", None) for holder in holders]
    return [lock for lock in locks if hasattr(lock, "acquire")]


_held_for_fork: list[Any] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)

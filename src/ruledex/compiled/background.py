"""Have another process compile: at low priority while this one goes on, or before this one goes on.

What is wanted lies in the cache folder, one file per job in `requests/`. One process per folder works through it, under
a lock that the operating system releases however that process ends. It is no child that anybody waits for: it goes on
when the process that started it has ended, and what it has compiled by then stays, if it is killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ruledex.compiled.cache import LOG, Job, cache_report, locked

MODULE = "ruledex.warming"  # what the other process runs
LOCK = "background"
FIRST_LOCK = "first"
FIRST_SECONDS = 600.0  # the longest that a process waits for another that compiles the same first
MOST_STARTS = 3  # by one process

_started: list[subprocess.Popen[bytes]] = []
_requested: set[Job] = set()


def can_start() -> bool:
    """Return whether another process can compile for this one: an interpreter is known, and code can be kept."""
    name = Path(sys.executable or "").name.lower()
    return name.startswith(("python", "pypy")) and cache_report().folder is not None


def request(jobs: list[Job]) -> bool:
    """Ask for jobs, the most urgent first, and start the process that does them, unless it runs.

    Returns False if no process can be started.
    """
    folder = cache_report().folder
    if folder is None or not can_start():
        return False
    for rank, job in enumerate(jobs):
        if job not in _requested and job.shape:
            _requested.add(job)
            with suppress(OSError):
                _write_request(folder / "requests", job, rank)
    if _started and _started[-1].poll() is None:
        return True
    if len(_started) >= MOST_STARTS:
        return False
    try:
        _started.append(_start("background", is_detached=True))
    except OSError as error:
        LOG.info("no process can be started to compile kernels: %s", error)
        return False
    return True


def compile_first(plan: str) -> None:
    """Wait until the kernels of a plan are compiled, by one process per core. One process per host does it."""
    from ruledex.compiled.scheduler import is_plan_ready

    if not can_start():
        return
    with locked(FIRST_LOCK, FIRST_SECONDS):
        if is_plan_ready(plan):  # another process has done it meanwhile
            return
        n_cores = os.cpu_count() or 1
        told = f"compiling on {n_cores} core{'s' * (n_cores > 1)}, once per machine (RULEDEX_COMPILE, docs/starting.md)"
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"ruledex: {told} …", file=sys.stderr, flush=True)
        else:
            LOG.info("%s", told)
        with suppress(OSError):
            _start(plan, is_detached=False).wait()


def background_process() -> subprocess.Popen[bytes] | None:
    """Return the last process that this one started, if it still runs."""
    return _started[-1] if _started and _started[-1].poll() is None else None


def is_background_busy() -> bool:
    """Return whether a process of this host compiles in the background."""
    with locked(LOCK, 0.0) as had:
        return not had and cache_report().folder is not None


def _start(what: str, *, is_detached: bool) -> subprocess.Popen[bytes]:
    paths = [path for path in sys.path if path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "RULEDEX_COMPILE": "never"}
    settings: dict[str, Any] = {"start_new_session": True} if is_detached and os.name == "posix" else {}
    if os.name == "nt" and is_detached:
        settings["creationflags"] = 0x00000008 | 0x00004000  # detached, below normal priority
    # Not with -P or -I: the other process must find ruledex where this one did.
    return subprocess.Popen(
        [sys.executable, "-m", MODULE, what],
        env=environment,
        cwd=os.sep,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        **settings,
    )


def _write_request(folder: Path, job: Job, rank: int) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    text = json.dumps(job)
    path = folder / f"{rank:04}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
    if not path.exists():
        written = path.with_suffix(f".{os.getpid()}-{time.monotonic_ns()}")
        written.write_text(text, encoding="utf-8")
        written.replace(path)


def requests() -> Iterator[Job]:
    """Yield what was asked for. A request is removed when its job is done, so that none is lost with the process."""
    folder = cache_report().folder
    for path in [] if folder is None else sorted((folder / "requests").glob("*.json")):
        with suppress(OSError, ValueError, TypeError):
            yield Job(*json.loads(path.read_bytes()))
        with suppress(OSError):
            path.unlink()


def _after_fork() -> None:
    _started.clear()  # the parent's children are not the child's


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

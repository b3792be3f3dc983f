"""Compile kernels before somebody needs them: `ruledex warm`, and the process that compiles in the background.

What there is to compile is found by use: a small index of each kind is built, asked, changed, saved and opened in plain
forms, and each kernel that is called is noted with the shape of the call. That takes seconds and cannot go out of date.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ruledex.compiled.background import LOCK, requests
from ruledex.compiled.cache import Job, key_of, locked, ready_list, write_plan
from ruledex.compiled.decorator import IS_DISABLED, Kernel
from ruledex.compiled.scheduler import BUILD, MATCH, STANDARD, find_kernel, job_of, missing_in_plan, scheduler

ENTIRE = "all"  # the plan of every engine
_ENGINES = {STANDARD: ("auto", "batch"), ENTIRE: ("auto", "batch", "scan", "dnf", "cnf", "dewey", "interval", "atree")}

_RULES = [
    (1, "age >= 18 AND country IN ('DE', 'FR') AND NOT (tier = 'gold')", 0.5),
    (2, "age > 65 OR name LIKE 'A%' OR name RLIKE 'b+c'", 1.0),
    (3, "(a = 1 AND b = 2) OR (a = 3 AND (b = 4 OR c IS NULL) AND price < 1.5)", 2.0),
    (4, "country = 'DE' AND age BETWEEN 20 AND 40 AND a != 7", 3.0),
    (5, "NOT (country IN ('US', 'GB') OR premium) AND upper(name) = 'BOB'", 4.0),
    (6, "age >= 18 AND country IN ('DE', 'FR') AND b = 2", 5.0),
    (7, "TRUE", 0.0),
]
_EVENTS: list[dict[str, Any]] = [
    {"age": 30, "country": "DE", "name": "Abel", "a": 1, "b": 2, "price": 1.25, "premium": False},
    {"age": 70, "country": ["FR", "US"], "tier": "gold", "a": 3, "b": 4},
    {},
]

Progress = Callable[[int, int], None]  # called with how many jobs are done, and how many there are


def make_plan(name: str) -> list[Job]:
    """Use ruledex in plain forms as a plan says, and return each kernel that is called, with the shape of the call."""
    if name == BUILD:
        with _recording() as found:
            _build("auto")
    elif name == MATCH:
        with scheduler.plainly():
            index = _build("auto")
        with _recording() as found:
            index.match_batch(_EVENTS)
            index.match_batch(_table())
    else:
        with _recording() as found:
            for engine in _ENGINES[name]:
                _use(engine)
    jobs = sorted(found)
    write_plan(name, jobs)
    return jobs


def missing_of(name: str) -> list[Job]:
    """Return what a plan has that is not compiled yet."""
    missing = missing_in_plan(name)
    if missing is None:
        make_plan(name)
        missing = missing_in_plan(name) or []
    return missing


def compile_jobs(jobs: list[Job], n_processes: int | None = None, progress: Progress | None = None) -> list[str]:
    """Compile all jobs, in one process per core unless their number is given. Returns what failed, and why."""
    if not jobs:
        return []
    n_processes = max(1, min(n_processes or os.cpu_count() or 1, len(jobs)))
    failed = []
    with ProcessPoolExecutor(n_processes, get_context("spawn")) as pool:
        running = {pool.submit(compile_job, job): job for job in jobs}
        for n_done, future in enumerate(as_completed(running), 1):
            if error := future.exception():
                failed.append(f"{running[future].module}.{running[future].kernel}: {error}")
            if progress is not None:
                progress(n_done, len(jobs))
    return failed


def compile_job(job: Job) -> None:
    """Compile a kernel for a shape of call in this process, unless it is ready."""
    from ruledex.compiled.compiler import compile_call
    from ruledex.compiled.digest import digest_of, example_of

    kernel = find_kernel(job)
    if kernel is not None and key_of(digest_of(kernel), job.shape) not in ready_list.read():
        compile_call(kernel, example_of(job.shape))


@contextmanager
def _recording() -> Iterator[set[Job]]:
    """Run kernels in plain forms, and note their calls."""
    found: set[Job] = set()

    def note(kernel: Kernel, shape: str) -> None:
        found.add(job_of(kernel, shape))

    with scheduler.plainly():
        scheduler.recorder = note
        try:
            yield found
        finally:
            scheduler.recorder = None


def _build(engine: str) -> Any:
    from ruledex.index import Index

    return Index.build(_RULES, engine, stats=_EVENTS)


def _table() -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist([{"age": 30, "country": "DE", "a": 1}, {"age": 3, "country": None}])


def _use(engine: str) -> None:
    from ruledex.index import Index

    with tempfile.TemporaryDirectory(prefix="ruledex-warm-") as folder:
        index = _build(engine)
        _ask(index)
        index.match_batch(_table())
        index.save(Path(folder) / "index")
        opened = Index.open(Path(folder) / "index")
        _ask(opened)
        opened.add([(8, "age > 3 AND country = 'DE'"), (9, "name = 'x' OR a > 2")])
        opened.remove([2, 8])
        opened.update([(3, "a = 4")])
        opened.set_score(4, 9.0)
        _ask(opened)
        opened.compact()
        _ask(opened)


def _ask(index: Any) -> None:
    for event in _EVENTS:
        index.match(event)
        index.top(event, 2, weights={"age": 2.0})
    index.match_batch(_EVENTS)
    index.count(_EVENTS)
    index.top_batch(_EVENTS, 2)
    index.top_batch(_EVENTS, 2, rank="static")


def work_in_background() -> None:
    """Compile what others ask for, then all that an index calls. Ends at once if another process does it."""
    with suppress(OSError, AttributeError):
        os.nice(10)
    n_done = 1
    while n_done:  # what was asked for after the last look, and before the lock was free, is seen by the next
        with locked(LOCK, 0.0) as had:
            if not had:
                return
            n_done = _compile_here(requests())
            for job in missing_of(STANDARD):
                _compile_here([job])
                n_done += _compile_here(requests())  # what somebody waits for comes first


def _compile_here(jobs: Iterable[Job]) -> int:
    """Compile jobs in this process. Returns how many there were."""
    n_jobs = 0
    for job in jobs:
        n_jobs += 1
        with suppress(Exception):  # what cannot be compiled runs in its plain form
            compile_job(job)
    return n_jobs


def run_compiler(what: str) -> None:
    """Run as `python -m ruledex.warming background`, or with the name of a plan to compile it with all cores."""
    if IS_DISABLED:
        return
    if what == "background":
        work_in_background()
    else:
        compile_jobs(missing_of(what))


if __name__ == "__main__":
    run_compiler(sys.argv[1])

"""How spark.py measures: jobs whose results go nowhere, rounds in turn, processor time, and Spark's counters."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from core_timing import WALL, in_turn, spread
from ruledex.cli.spark.session import session

CORES = 2
LOOK_SECONDS = 0.05  # between two looks at the processes
IDLE_SECONDS = 40  # Spark ends a Python worker that had nothing to do for a minute
DRIVER_MEMORY = "4g"  # JVM and Spark's own; the Python workers are beside it


@contextmanager
def local_session() -> Iterator[SparkSession]:
    """A session on this machine, with a worker a core."""
    settings = [
        f"spark.driver.memory={DRIVER_MEMORY}",
        f"spark.sql.shuffle.partitions={2 * CORES}",
        "spark.sql.session.timeZone=UTC",
        "spark.ui.retainedStages=100000",
        "spark.ui.retainedJobs=100000",
    ]
    with session(f"local[{CORES}]", "ruledex benchmark", settings) as started:
        yield started


def run(frame: DataFrame) -> None:
    """Compute all rows, and write them nowhere."""
    frame.write.format("noop").mode("overwrite").save()


def wall_rounds(functions: dict[str, Callable[[], object]], n_rounds: int) -> dict[str, Any]:
    """Each function's wall times; all take turns, after one turn that is not timed."""
    return in_turn(functions, n_rounds, WALL)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Wall seconds, and the result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


class CoreTime(NamedTuple):
    """Processor seconds of the processes that this one has started: of the JVM, and of all others, which are Python."""

    jvm: float
    python: float

    def since(self, before: CoreTime) -> CoreTime:
        """Return what was added."""
        return CoreTime(self.jvm - before.jvm, self.python - before.python)


class CoreClock:
    """Reads the processor time of all processes below this one.

    Spark's workers end when they please, and take their time with them. So processes are looked at again and again
    while a function runs, and each counts with what it had when it was seen last.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, str], tuple[bool, float]] = {}  # by process and when it began: is it Java, seconds
        self._ticks = os.sysconf("SC_CLK_TCK")

    def read(self) -> CoreTime:
        """Return the time of all processes that were ever seen."""
        parents: dict[int, int] = {}
        found: dict[int, tuple[str, bool, float]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has ended meanwhile
                name, _, rest = path.read_text().partition("(")[2].rpartition(")")
                fields = rest.split()  # the state, the parent, and so on: man 5 proc
                process = int(path.parent.name)
                parents[process] = int(fields[1])
                found[process] = fields[19], name == "java", (int(fields[11]) + int(fields[12])) / self._ticks
        for process, (begin, is_java, seconds) in found.items():
            if process != os.getpid() and _is_below(process, parents):
                self._seen[process, begin] = is_java, seconds
        seen = self._seen.values()
        return CoreTime(sum(s for is_java, s in seen if is_java), sum(s for is_java, s in seen if not is_java))

    def taken(self, function: Callable[[], object]) -> CoreTime:
        """Return what a function's processes take."""
        is_done = threading.Event()

        def watch() -> None:
            while not is_done.wait(LOOK_SECONDS):
                self.read()

        before = self.read()
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            function()
        finally:
            is_done.set()
            watcher.join()
        return self.read().since(before)


def _is_below(process: int, parents: Mapping[int, int]) -> bool:
    while process in parents:
        if process == os.getpid():
            return True
        process = parents[process]
    return False


def core_rounds(functions: dict[str, Callable[[], object]], n_rounds: int) -> dict[str, dict[str, Any]]:
    """Each function's seconds of the JVM's, of Python's and of all processor time; all take turns, after one untimed.

    What other work takes of the machine hardly counts. A function whose last turn was so long ago that its workers may
    have ended has an untimed turn first: to start one takes up to two seconds, whatever they are asked.
    """
    taken: dict[str, list[CoreTime]] = {name: [] for name in functions}
    ended: dict[str, float] = {}
    clock = CoreClock()
    for name, function in functions.items():
        function()
        ended[name] = time.monotonic()
    for _ in range(n_rounds):
        for name, function in functions.items():
            if time.monotonic() - ended[name] > IDLE_SECONDS:
                function()
            taken[name].append(clock.taken(function))
            ended[name] = time.monotonic()
    return {
        name: {
            "jvm": spread([each.jvm for each in times]),
            "python": spread([each.python for each in times]),
            "core": spread([sum(each) for each in times]),
        }
        for name, times in taken.items()
    }


@contextmanager
def shuffled_bytes(started: SparkSession, found: dict[str, int]) -> Iterator[None]:
    """Put what all stages of a `with` write for other stages into `found`, in bytes and in rows."""
    context = started.sparkContext
    group = f"measured-{time.monotonic_ns()}"
    context.setJobGroup(group, "measured")
    try:
        yield
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = {stage for job in jobs if job is not None for stage in job.stageIds}
        known = [stage for stage in stages if tracker.getStageInfo(stage) is not None]  # others were skipped
        data = [store.lastStageAttempt(stage) for stage in known]
        found["bytes"] = sum(stage.shuffleWriteBytes() for stage in data)
        found["rows"] = sum(stage.shuffleWriteRecords() for stage in data)

"""How spark.py measures: jobs whose results go nowhere, rounds in turn by the wall clock, and Spark's counters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from core_timing import WALL, in_turn
from ruledex.cli.spark.session import session

CORES = 2
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

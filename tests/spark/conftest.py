"""Processes of their own for tests that cannot share the session of the others, or that kill what they start."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

WAIT_S = 600.0  # for what takes seconds on a machine that is idle


def wait_for(holds: Callable[[], Any], what: str) -> Any:
    """What a function gives, as soon as it gives something."""
    until = time.monotonic() + WAIT_S
    while not (found := holds()):
        if time.monotonic() > until:
            pytest.fail(f"{what} did not come within {WAIT_S:.0f} s")
        time.sleep(0.05)
    return found


def kill_group(pid: int) -> None:
    """Kill -9 a process that leads a group, and all of the group."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _begin() -> None:
    # A group of its own, so that what it starts can be ended with it.
    os.setsid()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def _run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    _begin()
    function(*arguments)


def own_process() -> ProcessPoolExecutor:
    """A fresh interpreter, to which functions of modules can be submitted."""
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin)


@contextmanager
def started(function: Callable[..., Any], *arguments: Any) -> Iterator[BaseProcess]:
    """Call a function in a fresh interpreter that is killed, with all that it started, at the end of the `with`."""
    process = get_context("spawn").Process(target=_run, args=(function, arguments))
    process.start()
    assert process.pid is not None
    try:
        yield process
    finally:
        kill_group(process.pid)
        process.join()


# Streams.


def write_minutes(folder: Path, n_minutes: int) -> None:
    """Write one file per minute, with one event each, in the order in which a stream is to read them."""
    folder.mkdir()
    for minute in range(n_minutes):
        path = folder / f"{minute}.json"
        path.write_text(json.dumps({"seen": f"2024-01-01T00:{minute:02}:00Z", "n": minute}))
        os.utime(path, (minute, minute))


def watermarked_counts(session: Any, events: Path, index: Path, **options: Any) -> list[int]:
    """Count the matched events per minute, in a stream that forgets what is older than ten seconds."""
    from pyspark.sql import functions

    from ruledex.spark import match

    stream = session.readStream.schema("seen timestamp, n long").option("maxFilesPerTrigger", 1).json(str(events))
    found = match(stream.withWatermark("seen", "10 seconds"), index, **options)
    name = f"counts_{time.monotonic_ns()}"
    counts = found.groupBy(functions.window("seen", "1 minute")).count()
    query = counts.writeStream.outputMode("append").format("memory").queryName(name).start()
    try:
        query.processAllAvailable()
        return [row["count"] for row in session.table(name).orderBy("window").collect()]
    finally:
        query.stop()

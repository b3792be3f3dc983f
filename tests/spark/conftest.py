"""Processes of their own for tests that cannot share the session of the others, or that kill what they start."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
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

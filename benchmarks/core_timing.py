"""How core.py measures: rounds in turn, medians with their spread, and single calls one by one."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

START = time.perf_counter()

Clock = Callable[[], float]
CPU: Clock = time.thread_time  # of this thread alone: what other processes take of the machine does not count
WALL: Clock = time.perf_counter  # where several threads or processes work


def start_compiled() -> None:
    """Start this script anew unless each kernel is compiled before it runs: plain Python is not what is measured."""
    if os.environ.get("RULEDEX_COMPILE") != "now":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"RULEDEX_COMPILE": "now"})


def say(step: str) -> None:
    """A line of progress."""
    sys.stderr.write(f"[{time.perf_counter() - START:6.1f} s] {step}\n")
    sys.stderr.flush()


def seconds(function: Callable[[], object], clock: Clock = CPU) -> float:
    """The time of one call; its result is gone before the next."""
    start = clock()
    function()
    return clock() - start


def spread(values: Sequence[float]) -> dict[str, float]:
    """The median of all rounds, the fastest and the slowest."""
    return {"median": median(values), "low": min(values), "high": max(values), "rounds": len(values)}


def in_turn(functions: Mapping[str, Callable[[], object]], n_rounds: int, clock: Clock = CPU) -> dict[str, Any]:
    """Each function's times; in each round all of them run, so that a busy moment meets all alike."""
    for function in functions.values():
        function()
    gc.collect()
    rounds = [{name: seconds(function, clock) for name, function in functions.items()} for _ in range(n_rounds)]
    return {name: spread([times[name] for times in rounds]) for name in functions}


def scaled(times: Mapping[str, float], factor: float) -> dict[str, float]:
    """A spread in another unit."""
    return {name: value if name == "rounds" else value * factor for name, value in times.items()}


def calls(function: Callable[[Any], object], rounds: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Microseconds of single calls, each on an argument of its own: p50 of all, of the best and the worst round, p99.

    The p99 of fewer than a hundred calls is none.
    """
    times = [[seconds(lambda argument=argument: function(argument)) * 1e6 for argument in part] for part in rounds]
    together = np.concatenate(times)
    middles = [median(part) for part in times]
    return {
        "p50": float(np.median(together)),
        "p50_low": min(middles),
        "p50_high": max(middles),
        "p99": float(np.quantile(together, 0.99)) if len(together) >= 100 else None,
        "calls": len(together),
    }


def affordable(second_a_call: float, budget: float, least: int, most: int) -> int:
    """How many calls fit a budget of seconds."""
    return int(np.clip(budget / max(second_a_call, 1e-9), least, most))

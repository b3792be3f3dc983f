"""How ranked2008.py measures: its parameters, a bar with the step that is being measured, calls within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from core_timing import affordable, calls, seconds

SEED = 0
K = 20
N_ROUNDS = 5


class Steps:
    """A bar with the step that is being measured."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def next(self, step: str) -> None:
        self._progress.update(self._task, advance=1, description=step)


@contextmanager
def steps(n_steps: int) -> Iterator[Steps]:
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}")
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        yield Steps(progress, progress.add_task("warming up", total=n_steps))


def points(generator: Any, n: int) -> np.ndarray:
    """Events as rows, those to warm up before the others."""
    return np.array([list(event.values()) for event in generator.events(n)])


def timed(ask: Callable[[Any], object], events: np.ndarray, budget: float) -> dict[str, Any]:
    """Microseconds of single calls, as many as the budget allows, in three rounds."""
    ask(events[0])
    n_calls = affordable(seconds(lambda: ask(events[1])), budget, 3, len(events) - 2)
    return calls(ask, np.array_split(events[2 : 2 + n_calls], 3))

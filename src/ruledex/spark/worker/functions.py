"""Functions of users in Spark: the driver tells its tasks which modules to import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ruledex.language.functions.custom import function_modules, import_functions

Task = Callable[[Iterator[Any]], Iterator[Any]]


def with_functions(task: Task) -> Task:
    """Return a task that has the functions that this process has; the task itself if there are none."""
    modules = function_modules()
    return partial(_run, modules, task) if modules else task


def _run(modules: list[str], task: Task, batches: Iterator[Any]) -> Iterator[Any]:
    import_functions(modules)
    yield from task(batches)

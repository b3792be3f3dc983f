"""What the driver's process has and its tasks need: functions of users, and options of file systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ruledex.artifact import all_storage_options, set_storage_options
from ruledex.language.functions.custom import function_modules, import_functions

Task = Callable[[Iterator[Any]], Iterator[Any]]
StorageOptions = dict[str, dict[str, Any]]


def with_functions(task: Task) -> Task:
    """Return a task that has the functions and options that this process has; the task itself if there are none."""
    modules, options = function_modules(), all_storage_options()
    return partial(_run, modules, options, task) if modules or options else task


def _run(modules: list[str], options: StorageOptions, task: Task, batches: Iterator[Any]) -> Iterator[Any]:
    for url, given in options.items():
        set_storage_options(url, given)
    import_functions(modules)
    yield from task(batches)

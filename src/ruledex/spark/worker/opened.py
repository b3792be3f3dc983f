"""Open an index once per Python worker of Spark, and keep it for the tasks that follow.

If a limit on the memory of workers is too low, the error says what to do.
"""

from __future__ import annotations

import errno
import gc
import os
import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ruledex.compiled.scheduler import prepare_large
from ruledex.errors import ArtifactError, RuledexError
from ruledex.forks import ForkSafeLock
from ruledex.index import Index
from ruledex.spark.worker.distribution import is_trusted, local_root

if TYPE_CHECKING:
    from pyspark import TaskContext
    from pyspark.sql import SparkSession

# A stream changes versions, and a micro-batch that runs again may need an older one.
_MOST_OPEN: Final = 4

LEAST_BYTES: Final = 512 << 20  # mapped before a worker opens an index; with less, libraries crash when they load
_SETTING: Final = "spark.executor.pyspark.memory"
_SIZE: Final = re.compile(r"([0-9]+)([kmgtp]?)b?")

_indexes: OrderedDict[tuple[str, str, bool | None, int], Index] = OrderedDict()
_opening = ForkSafeLock()
_is_frozen = False  # whether collections of garbage leave out the open indexes


def open_index(root: str, version: str, trust: bool | None = None) -> Index:
    """Return a version of the index at `root`, which may be a shipped one. `trust` is as in `match`."""
    threads = task_threads()
    key = (root, version, trust, threads)
    with _opening:
        if key in _indexes:
            _freeze()
        else:
            _unfreeze()
            with explain_memory_errors(root):
                prepare_large()
                opened = Index.open(local_root(root), version, trust=is_trusted(root, trust), threads=threads)
            _indexes[key] = opened
            while len(_indexes) > _MOST_OPEN:
                _indexes.popitem(last=False)
        _indexes.move_to_end(key)
        return _indexes[key]


def task_threads() -> int:
    """Return how many CPUs Spark gives the task that runs here; 1 outside of a task."""
    task = _task()
    return 1 if task is None else max(1, task.cpus())


def _task() -> TaskContext | None:
    from pyspark import TaskContext

    return TaskContext.get()


def _is_worker() -> bool:
    """Return whether Spark has started this process, for tasks or to plan what a data source reads."""
    return _task() is not None or "SPARK_REUSE_WORKER" in os.environ


def _freeze() -> None:
    """Let collections of garbage leave out what is there, once an index answers again.

    Spark collects garbage after each task, and after each query that a data source has planned. To look at all modules,
    indexes and compiled code takes a tenth of a second. By its second answer a worker has most of what it will ever
    have.
    """
    global _is_frozen
    if not _is_frozen and _is_worker():
        gc.freeze()
        _is_frozen = True


def _unfreeze() -> None:
    """Let collections look at everything again, since an index that is left may be garbage."""
    global _is_frozen
    if _is_frozen:
        gc.unfreeze()
        _is_frozen = False


# Memory.


def require_room(session: SparkSession, root: str) -> None:
    """Raise an error if workers may not map enough memory to start: they could not report it themselves."""
    size = _SIZE.fullmatch((session.conf.get(_SETTING, None) or "").strip().lower())
    if size is None:
        return
    limit = int(size[1]) << 10 * " kmgtp".index(size[2] or "m")
    if 0 < limit < LEAST_BYTES:
        raise _too_little(root, limit)


@contextmanager
def explain_memory_errors(root: str) -> Iterator[None]:
    """Replace errors of exhausted memory, inside a `with`, by one that says what to do."""
    try:
        yield
    except (ArtifactError, MemoryError, OSError) as error:
        if not _is_out_of_memory(error):
            raise
        raise _too_little(root, _limit()) from error


def _too_little(root: str, limit: int | None) -> RuledexError:
    told = "" if limit is None else f", which is limited to {limit >> 20:,} MiB"
    return RuledexError(
        f"the index at {root} does not fit into a worker's memory{told}. Its files are mapped, and shared between "
        f"workers, but {_SETTING} limits what each may map: set it to twice the size of the index "
        "plus one gigabyte, or do not set it"
    )


def _limit() -> int | None:
    """Return how many bytes the operating system lets this process map; None if there is no limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _is_out_of_memory(error: BaseException | None) -> bool:
    while error is not None:
        # Arrow's own error of this kind is a MemoryError too.
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        error = error.__cause__
    return False

"""In a Python worker of Spark: an index is opened once a process, and kept for the tasks that follow."""

from __future__ import annotations

import errno
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from ruledex.engines.auto import AutoEngine
from ruledex.engines.batch import BatchEngine
from ruledex.errors import ArtifactError, RuledexError
from ruledex.index import Index
from ruledex.index.storage import open_state
from ruledex.spark.distribution import local_root

# In a stream versions come and go; an older one may still be asked for by a micro-batch that is run again.
_MOST_OPEN: Final = 4


_indexes: OrderedDict[tuple[str, str, int], Index] = OrderedDict()
_opening = Lock()


def opened(root: str, version: str) -> Index:
    """A version of the index at `root`, which may be one that was shipped with the session."""
    key = (root, version, task_threads())
    with _opening:
        if key not in _indexes:
            _indexes[key] = _open(*key)
            while len(_indexes) > _MOST_OPEN:
                _indexes.popitem(last=False)
        _indexes.move_to_end(key)
        return _indexes[key]


def task_threads() -> int:
    """How many cpus Spark gives the task that runs here; one where none does."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return 1 if task is None else max(1, task.cpus())


def _open(root: str, version: str, threads: int) -> Index:
    root = local_root(root)
    with explaining_memory(root):
        state = open_state(root, version, None)
    for shard in state.shards:
        if isinstance(shard.engine, AutoEngine | BatchEngine):
            shard.engine.threads = threads
    return Index(state, [], root, None)


@contextmanager
def explaining_memory(root: str) -> Iterator[None]:
    """Say what to do where memory runs out, which in a worker is a limit that somebody has set."""
    try:
        yield
    except (ArtifactError, MemoryError, OSError) as error:
        if not _is_out_of_memory(error):
            raise
        raise RuledexError(
            f"the index at {root} does not fit into this worker's memory{_limit()}. Its files are mapped, and shared "
            "between workers, but spark.executor.pyspark.memory limits what each may map: give it the size of the "
            "index, as much again, and a gigabyte, or do not set it"
        ) from error


def _limit() -> str:
    """What the operating system lets this process have, where that is limited."""
    try:
        import resource
    except ImportError:  # not on Windows
        return ""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return "" if limit == resource.RLIM_INFINITY else f", which is limited to {limit >> 20:,} MiB"


def _is_out_of_memory(error: BaseException | None) -> bool:
    while error is not None:
        # Arrow's own error of this kind is a MemoryError too.
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        error = error.__cause__
    return False

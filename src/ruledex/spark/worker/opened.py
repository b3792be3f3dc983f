"""Open an index once per Python worker of Spark, and keep it for the tasks that follow."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from ruledex.engines.auto import AutoEngine
from ruledex.engines.batch.engine import BatchEngine
from ruledex.forks import ForkSafeLock
from ruledex.index import Index
from ruledex.index.opening import open_state
from ruledex.spark.worker.distribution import is_trusted, local_root
from ruledex.spark.worker.memory import explain_memory_errors

# A stream changes versions, and a micro-batch that runs again may need an older one.
_MOST_OPEN: Final = 4

_indexes: OrderedDict[tuple[str, str, bool | None, int], Index] = OrderedDict()
_opening = ForkSafeLock()


def open_index(root: str, version: str, trust: bool | None = None) -> Index:
    """Return a version of the index at `root`, which may be a shipped one. `trust` is as in `match`."""
    key = (root, version, trust, task_threads())
    with _opening:
        if key not in _indexes:
            _indexes[key] = _open(*key)
            while len(_indexes) > _MOST_OPEN:
                _indexes.popitem(last=False)
        _indexes.move_to_end(key)
        return _indexes[key]


def task_threads() -> int:
    """Return how many CPUs Spark gives the task that runs here; 1 outside of a task."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return 1 if task is None else max(1, task.cpus())


def _open(root: str, version: str, trust: bool | None, threads: int) -> Index:
    trust, root = is_trusted(root, trust), local_root(root)
    with explain_memory_errors(root):
        state = open_state(root, version, None, trust)
    for shard in state.shards:
        if isinstance(shard.engine, AutoEngine | BatchEngine):
            shard.engine.threads = threads
    return Index(state, [], root, None)

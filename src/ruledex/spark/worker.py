"""In a Python worker of Spark: an index is opened once a process, and kept for the tasks that follow."""

from __future__ import annotations

import errno
from collections import OrderedDict
from threading import Lock
from typing import Final

from ruledex.errors import ArtifactError, RuledexError
from ruledex.index import Index

# In a stream versions come and go; an older one may still be asked for by a micro-batch that is run again.
_MOST_OPEN: Final = 4

_indexes: OrderedDict[tuple[str, str | None], Index] = OrderedDict()
_opening = Lock()


def opened(root: str, version: str | None) -> Index:
    """The index at `root`; with None for the version, what is current when it is first asked for."""
    with _opening:
        index = _indexes.get((root, version))
        if index is None:
            index = _indexes[root, version] = _open(root, version)
            while len(_indexes) > _MOST_OPEN:
                _indexes.popitem(last=False)
        _indexes.move_to_end((root, version))
        return index


def _open(root: str, version: str | None) -> Index:
    try:
        return Index.open(root, version)
    except (ArtifactError, MemoryError, OSError) as error:
        if _is_out_of_memory(error):
            raise RuledexError(
                f"the index at {root} does not fit into this worker's memory. Its files are mapped, and shared between "
                "workers, but spark.executor.pyspark.memory limits what each may map: give it the size of the index "
                "and as much again, or do not set it"
            ) from error
        raise


def _is_out_of_memory(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        error = error.__cause__
    return False

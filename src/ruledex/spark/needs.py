"""What a plan must know of an index before it runs: read by a task, since only the workers may see the path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ruledex.errors import ArtifactError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from ruledex.index import Index

Path = tuple[str, ...]


class Needs(NamedTuple):
    """The version that was current, the kind of its ids, and the paths into an event that its rules look at."""

    version: str
    ids: str  # "integer" or "string"
    paths: tuple[Path, ...]


def needs_of(index: Index) -> Needs:
    """What an open index needs."""
    assert index.version is not None
    return Needs(index.version, index.id_kind, tuple(index.paths))


def read_needs(session: SparkSession, root: str, version: str | None = None) -> Needs:
    """What the index at `root` needs, by a job of one task."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield _read(root, version)

    (row,) = session.range(1, numPartitions=1).mapInArrow(read, "needs string, error string").collect()
    if row.error is not None:
        raise ArtifactError(row.error)
    found = json.loads(row.needs)
    return Needs(found["version"], found["ids"], tuple(map(tuple, found["paths"])))


def _read(root: str, version: str | None) -> pa.RecordBatch:
    import pyarrow as pa

    from ruledex.errors import RuledexError
    from ruledex.spark.worker import opened

    try:
        # What is current may have changed since this worker last looked.
        from ruledex.artifact import current

        index = opened(root, current(root) if version is None else version)
        found, error = json.dumps(needs_of(index)._asdict()), None
    except RuledexError as refusal:
        found, error = None, str(refusal)
    return pa.RecordBatch.from_pydict(
        {"needs": pa.array([found], pa.string()), "error": pa.array([error], pa.string())}
    )

"""List the versions that streams use, and those that they refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS = "stream string, time timestamp, version string, refused string, reason string, n_refused bigint"


def pins(session: SparkSession, index: str | os.PathLike[str]) -> DataFrame:
    """Return one row per recent micro-batch of each stream that matches with an index.

    `stream` is the id of the query, `time` the time of the micro-batch, and `version` the version that it used. If it
    refused a newer version, `refused` names that version and `reason` says why. `n_refused` counts the versions that
    the stream had refused by then.
    """
    root = os.fspath(index)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield _read(root)

    return session.range(1, numPartitions=1).mapInArrow(read, _COLUMNS)


def _read(root: str) -> pa.RecordBatch:
    import pyarrow as pa

    from ruledex.artifact.pins import list_pins

    found = list_pins(root)
    return pa.RecordBatch.from_pydict(
        {
            "stream": pa.array([each.stream for each in found], pa.string()),
            "time": pa.array([each.time for each in found], pa.timestamp("us", "UTC")),
            "version": pa.array([each.pin.version for each in found], pa.string()),
            "refused": pa.array([each.pin.refused for each in found], pa.string()),
            "reason": pa.array([each.pin.reason for each in found], pa.string()),
            "n_refused": pa.array([each.pin.n_refused for each in found], pa.int64()),
        }
    )

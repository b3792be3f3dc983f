"""Read what a plan must know of an index. A task reads it, because only the workers may see the path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ruledex.artifact import current_version
from ruledex.artifact.pins import list_pins
from ruledex.errors import ArtifactError, RuledexError
from ruledex.language.clock import Now, read_now
from ruledex.language.plain import plain
from ruledex.spark.worker.distribution import local_root, with_functions
from ruledex.spark.worker.job_names import job_step
from ruledex.spark.worker.opened import open_index, require_room

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

    from ruledex.index import Index

Path = tuple[str, ...]


class Needs(NamedTuple):
    """A version of an index: the kind of its ids, its number of rules, what they look at, and if they ask for now.

    `uses_zone` says whether they depend on the time zone, which is that of the index.
    """

    version: str
    ids: str  # "integer" or "string"
    n_rules: int
    paths: tuple[Path, ...]
    uses_now: bool = False
    time_zone: str = "UTC"
    uses_zone: bool = False
    faults: tuple[dict[str, Any], ...] = ()  # of its attributes beside the columns of events, if they were compared


def needs_of(index: Index) -> Needs:
    """Return the needs of an open index."""
    assert index.version is not None
    return Needs(index.version, index.id_kind, len(index), tuple(index.paths), index.uses_now, *_zone_of(index))


def _zone_of(index: Index) -> tuple[str, bool]:
    return index.schema.time_zone, index.uses_zone


def time_of_job(now: Now, uses_now: bool) -> Now:
    """Return what now() means in all tasks of a job: the given time, or the driver's if rules ask for one."""
    if now is None:
        return datetime.now(UTC) if uses_now else None
    read_now(now, UTC)
    return plain(now)


def id_type(kind: str) -> DataType:
    """Return the Spark type of rule ids: of "integer" ids or of "string" ids."""
    from pyspark.sql.types import LongType, StringType

    return StringType() if kind == "string" else LongType()


def read_needs(
    session: SparkSession,
    root: str,
    version: str | None = None,
    with_pinned: bool = False,
    trust: bool | None = None,
    columns: StructType | None = None,
) -> Needs:
    """Return the needs of the index at `root`. Runs a job of one task, which also compares its rules with `columns`.

    If `with_pinned`, the paths include those of the versions that streams have pinned, since a stream may run a
    micro-batch again; and if the current version cannot be used, the last pinned one is used in its place.
    """

    events = None if columns is None else columns.json()

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield _read(root, version, with_pinned, trust, events)

    require_room(session, root)
    answer = session.range(1, numPartitions=1).mapInArrow(with_functions(read), "needs string, error string")
    with job_step(session, "read the index"):
        (row,) = answer.collect()
    if row.error is not None:
        raise ArtifactError(row.error)
    found = json.loads(row.needs)
    return Needs(**found)._replace(paths=tuple(map(tuple, found["paths"])), faults=tuple(found["faults"]))


def _read(root: str, version: str | None, with_pinned: bool, trust: bool | None, events: str | None) -> pa.RecordBatch:
    import pyarrow as pa

    try:
        if with_pinned:
            needs = _with_pinned(root, trust)
        else:
            needs = _of_version(root, version, trust)
        if events is not None:
            needs = needs._replace(faults=faults_of(root, needs.version, trust, events))
        found, error = json.dumps(needs._asdict()), None
    except RuledexError as refusal:
        found, error = None, str(refusal)
    return pa.RecordBatch.from_pydict(
        {"needs": pa.array([found], pa.string()), "error": pa.array([error], pa.string())}
    )


@lru_cache(maxsize=16)
def faults_of(root: str, version: str, trust: bool | None, events: str) -> tuple[dict[str, Any], ...]:
    """Return, inside a task, the faults of an index beside the columns of events, whose schema is given as JSON."""
    from pyspark.sql.types import StructType

    columns = StructType.fromJson(json.loads(events))
    return tuple(open_index(root, version, trust).check_columns(columns).to_pylist())


def _of_version(root: str, version: str | None, trust: bool | None) -> Needs:
    return needs_of(open_index(root, current_version(local_root(root)) if version is None else version, trust))


def _with_pinned(root: str, trust: bool | None) -> Needs:
    # A stream can run again only its latest micro-batch.
    latest = {pinned.stream: pinned for pinned in list_pins(root)}
    pinned = [each.pin.version for each in sorted(latest.values(), key=lambda each: -each.time)]
    found: list[Needs] = []
    refusals: list[RuledexError] = []
    for version in (None, *pinned):
        try:
            found.append(_of_version(root, version, trust))
        except RuledexError as error:
            refusals.append(error)
    if not found:
        raise refusals[0]
    return found[0]._replace(paths=tuple(sorted({path for needs in found for path in needs.paths})))

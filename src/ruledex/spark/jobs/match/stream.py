"""Decide, inside a task of a stream, which version of the index its micro-batch uses, and list those decisions.

The first task decides and pins the version. All other tasks of the micro-batch, and those that run it again after a
failure, read the pin, so they use the same version whatever is published meanwhile. If a new version cannot be used,
the pin records the refusal and the stream keeps the version before.
"""

from __future__ import annotations

import json
import logging
import os
import time as clock
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from ruledex.artifact import current_version, root_path
from ruledex.artifact.layout import POINTER
from ruledex.artifact.pins import Pin, last_pin, list_pins, put_pin, read_pin
from ruledex.errors import ArtifactError, RuledexError
from ruledex.index import Index, rules_by_missing, without_rules
from ruledex.language.column_types import spark_columns
from ruledex.language.text import path_text
from ruledex.spark.worker.columns import paths_outside, pruned_type
from ruledex.spark.worker.distribution import with_functions
from ruledex.spark.worker.needs import Needs, needs_of
from ruledex.spark.worker.opened import open_index

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from ruledex.spark.jobs.match.plan import MatchRequest, StreamPlan
    from ruledex.spark.worker.needs import Path

_log = logging.getLogger("ruledex.spark")

_PIN_COLUMNS: Final = "stream string, time timestamp, version string, refused string, reason string, n_refused bigint"
_AGAIN_AFTER_S: Final = 60.0
_MOST_SHOWN: Final = 5  # ids of rules in a message
_broken: dict[tuple[str, str], tuple[float, str]] = {}  # when and why a version could not be opened


def pin_version(request: MatchRequest, time: int) -> Pin:
    """Return the pin of the micro-batch with this time in microseconds. Pins its version if no task has."""
    assert request.stream is not None
    stream = _stream()
    pin, decided = read_pin(request.root, stream, time), None
    while pin is None:
        before, decided = decided, _decide(request, stream, time)
        if decided == before:
            raise ArtifactError(f"version {decided.version} has been removed from {request.root}")
        pin = put_pin(request.root, stream, time, decided)
        if pin is decided and pin.refused is not None:
            _log.warning("stream %s refuses version %s and keeps %s: %s", stream, pin.refused, pin.version, pin.reason)
        elif pin is decided and pin.reason is not None:
            _log.warning("stream %s uses version %s in part: %s", stream, pin.version, pin.reason)
    try:
        # An earlier run of the query may have pinned it, and the query may have changed since.
        fit_version(request, pin.version)
    except RuledexError as error:
        raise RuledexError(f"this micro-batch has to use version {pin.version} but cannot: {error}") from error
    return pin


def _stream() -> str:
    """Return the id of the query that runs this task. The query's checkpoint keeps it over restarts."""
    from pyspark import TaskContext

    task = TaskContext.get()
    stream = None if task is None else task.getLocalProperty("sql.streaming.queryId")
    if stream is None:
        raise RuledexError(
            "this task does not know its streaming query, so no version can be pinned to its micro-batch; in "
            "`foreachBatch` through Spark Connect, call `match` within the function"
        )
    return stream


def _decide(request: MatchRequest, stream: str, time: int) -> Pin:
    assert request.stream is not None
    before = last_pin(request.root, stream, time)
    old = request.version if before is None else before.version
    n_refused = 0 if before is None else before.n_refused
    newest = POINTER  # what is refused if the pointer itself cannot be read
    try:
        newest = current_version(request.root)
        _needs(request.root, newest, request.trust)
        return Pin(newest, None, fit_version(request, newest).reason, n_refused)
    except RuledexError as error:
        if newest == old:
            raise
        # The stream can only keep the old version if that one still fits.
        fit_version(request, old)
        is_first = before is None or before.refused != newest
        return Pin(old, newest, str(error), n_refused + is_first)


def _needs(root: str, version: str, trust: bool | None) -> Needs:
    """Return what a version needs. Remembers a broken version, so as not to read it again at every micro-batch."""
    failed_at, reason = _broken.get((root, version), (0.0, ""))
    if reason and clock.monotonic() - failed_at < _AGAIN_AFTER_S:
        raise RuledexError(reason)
    try:
        return needs_of(open_index(root, version, trust))
    except RuledexError as error:
        _broken[root, version] = clock.monotonic(), str(error)
        raise


class FittingVersion(NamedTuple):
    """A version as a running query can use it: without the rules that it has to set aside, and why it has to."""

    opened: Index[Any]
    n_set_aside: int = 0
    reason: str | None = None


def fit_version(request: MatchRequest, version: str) -> FittingVersion:
    """Return a version as a running query can use it. Raises an error if it cannot."""
    assert request.stream is not None
    return _fit(request.stream, request.root, version, request.trust)


@lru_cache(maxsize=4)
def _fit(plan: StreamPlan, root: str, version: str, trust: bool | None) -> FittingVersion:
    from pyspark.sql.types import StructType

    index = open_index(root, version, trust)
    needs = needs_of(index)
    if needs.ids != plan.ids:
        raise RuledexError(f"its rules have {needs.ids} ids, and the running query has {plan.ids} ids")
    kind = StructType.fromJson(json.loads(plan.schema))
    left_out = paths_outside(kind, plan.paths, needs.paths)
    if not left_out:
        return FittingVersion(index)
    told = f"its rules look at {', '.join(map(path_text, left_out))}, which the running query does not read"
    rules = _rules_outside(index, kind, plan.paths, left_out) if plan.sets_aside else None
    if rules is None:
        raise RuledexError(f"{told}: restart the query, or name the column in `columns`")
    some = index.ids.take(rules[:_MOST_SHOWN]).to_pylist()
    shown = ", ".join(map(str, some)) + (", …" if len(rules) > len(some) else "")
    n_rules = "1 rule is" if len(rules) == 1 else f"{len(rules):,} rules are"
    reason = f"{told}: {n_rules} set aside until a restart ({shown})"
    return FittingVersion(without_rules(index, rules), len(rules), reason)


def _rules_outside(
    index: Index[Any], kind: StructType, planned: Iterable[Path], left_out: Iterable[Path]
) -> list[int] | None:
    """Return the positions of rules that look at what a query does not read; None if some cannot be told."""
    never = rules_by_missing(index, spark_columns(kind))
    unread = rules_by_missing(index, spark_columns(pruned_type(kind, planned)))
    found = {attribute: rules for attribute, rules in unread.items() if attribute not in never}
    for path in left_out:
        # A rule on elements of an array counts for the array.
        if not any(path_text(path[:end]) in found for end in range(1, len(path) + 1)):
            return None
    return sorted(set().union(*found.values()))


# The list of pins.


def pins(session: SparkSession, index: str | os.PathLike[str]) -> DataFrame:
    """Return one row per recent micro-batch of each stream that matches with an index.

    `stream` is the id of the query, `time` the time of the micro-batch, and `version` the version that it used. If it
    refused a newer version, `refused` names that version and `reason` says why. `n_refused` counts the versions that
    the stream had refused by then.
    """
    root = root_path(index)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield _read_pins(root)

    return session.range(1, numPartitions=1).mapInArrow(with_functions(read), _PIN_COLUMNS)


def _read_pins(root: str) -> pa.RecordBatch:
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

"""Decide, inside a task of a stream, which version of the index its micro-batch uses.

The first task decides and pins the version. All other tasks of the micro-batch, and those that run it again after a
failure, read the pin, so they use the same version whatever is published meanwhile. If a new version cannot be used,
the pin records the refusal and the stream keeps the version before.
"""

from __future__ import annotations

import json
import logging
import time as clock
from typing import TYPE_CHECKING, Final

from ruledex.artifact import current
from ruledex.artifact.layout import POINTER
from ruledex.artifact.pins import Pin, last_pin, put_pin, read_pin
from ruledex.errors import ArtifactError, RuledexError
from ruledex.language.text import path_text
from ruledex.spark.worker.columns import paths_outside
from ruledex.spark.worker.needs import Needs, needs_of
from ruledex.spark.worker.opened import open_index

if TYPE_CHECKING:
    from ruledex.spark.jobs.match.plan import MatchRequest, StreamPlan

_log = logging.getLogger("ruledex.spark")

_AGAIN_AFTER_S: Final = 60.0
_broken: dict[tuple[str, str], tuple[float, str]] = {}  # when and why a version could not be opened


def pinned_version(request: MatchRequest, time: int) -> str:
    """Return the version of the micro-batch with this time in microseconds. Pins it if no task has."""
    assert request.stream is not None
    stream = _stream()
    pin, decided = read_pin(request.root, stream, time), None
    while pin is None:
        before, decided = decided, _decide(request, stream, time)
        if decided == before:
            raise ArtifactError(f"version {decided.version} has been removed from {request.root}")
        pin = put_pin(request.root, stream, time, decided)
        if pin is decided and pin.reason is not None:
            _log.warning("stream %s refuses version %s and keeps %s: %s", stream, pin.refused, pin.version, pin.reason)
    try:
        # An earlier run of the query may have pinned it, and the query may have changed since.
        _require_fit(request.stream, needs_of(open_index(request.root, pin.version, request.trust)))
    except RuledexError as error:
        raise RuledexError(f"this micro-batch has to use version {pin.version} but cannot: {error}") from error
    return pin.version


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
        newest = current(request.root)
        _require_fit(request.stream, _needs(request.root, newest, request.trust))
        return Pin(newest, n_refused=n_refused)
    except RuledexError as error:
        if newest == old:
            raise
        # The stream can only keep the old version if that one still fits.
        _require_fit(request.stream, needs_of(open_index(request.root, old, request.trust)))
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


def _require_fit(plan: StreamPlan, needs: Needs) -> None:
    """Raise an error if a version does not fit a running query."""
    from pyspark.sql.types import StructType

    if needs.ids != plan.ids:
        raise RuledexError(f"its rules have {needs.ids} ids, and the running query has {plan.ids} ids")
    left_out = paths_outside(StructType.fromJson(json.loads(plan.schema)), plan.paths, needs.paths)
    if left_out:
        raise RuledexError(
            f"its rules look at {', '.join(map(path_text, left_out))}, which the running query does not read: restart "
            "the query, or name the column in `columns`"
        )

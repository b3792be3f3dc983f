"""In a task of a stream: the version of its micro-batch, decided by whichever task comes first, and pinned.

All tasks of a micro-batch, and those that run it again after a failure, read the pin: they use one version whatever is
published meanwhile. A new version that cannot be used is refused in the pin, and the one before goes on.
"""

from __future__ import annotations

import json
import logging
import time as clock
from typing import TYPE_CHECKING, Final

from ruledex.artifact import current
from ruledex.artifact.layout import POINTER
from ruledex.artifact.pins import (
    Pin,
    last_pin,
    put_pin,
    read_pin,
)
from ruledex.errors import ArtifactError, RuledexError
from ruledex.language.text import path_text
from ruledex.spark.worker.columns import outside
from ruledex.spark.worker.needs import Needs, needs_of
from ruledex.spark.worker.opened import opened

if TYPE_CHECKING:
    from ruledex.spark.jobs.match.plan import Question, StreamPlan

_log = logging.getLogger("ruledex.spark")

_AGAIN_AFTER_S: Final = 60.0
_broken: dict[tuple[str, str], tuple[float, str]] = {}  # versions that could not be opened: when, and why


def pinned_version(question: Question, time: int) -> str:
    """The version that the micro-batch of this time, in microseconds, uses."""
    assert question.stream is not None
    stream = _stream()
    pin, decided = read_pin(question.root, stream, time), None
    while pin is None:
        before, decided = decided, _decided(question, stream, time)
        if decided == before:
            raise ArtifactError(f"version {decided.version} has been removed from {question.root}")
        pin = put_pin(question.root, stream, time, decided)
        if pin is decided and pin.reason is not None:
            _log.warning("stream %s refuses version %s, %s goes on: %s", stream, pin.refused, pin.version, pin.reason)
    try:
        # What was pinned by an earlier run of the query may not fit what has been made of it since.
        _require_fit(question.stream, needs_of(opened(question.root, pin.version, question.trust)))
    except RuledexError as error:
        raise RuledexError(f"this micro-batch has to use version {pin.version}, and cannot: {error}") from error
    return pin.version


def _stream() -> str:
    """The id of the query that runs this task, which its checkpoint keeps over restarts."""
    from pyspark import TaskContext

    task = TaskContext.get()
    stream = None if task is None else task.getLocalProperty("sql.streaming.queryId")
    if stream is None:
        raise RuledexError(
            "this task belongs to no streaming query that it knows, so nothing can be pinned to its micro-batch; in "
            "`foreachBatch` through Spark Connect, call `match` within the function"
        )
    return stream


def _decided(question: Question, stream: str, time: int) -> Pin:
    assert question.stream is not None
    before = last_pin(question.root, stream, time)
    old = question.version if before is None else before.version
    n_refused = 0 if before is None else before.n_refused
    newest = POINTER  # which is what is refused where it cannot be read
    try:
        newest = current(question.root)
        _require_fit(question.stream, _needs(question.root, newest, question.trust))
        return Pin(newest, n_refused=n_refused)
    except RuledexError as error:
        if newest == old:
            raise
        _require_fit(
            question.stream, needs_of(opened(question.root, old, question.trust))
        )  # else it cannot go on either
        is_first = before is None or before.refused != newest
        return Pin(old, newest, str(error), n_refused + is_first)


def _needs(root: str, version: str, trust: bool | None) -> Needs:
    """What a version needs. One that is broken is not read in full at every micro-batch."""
    failed_at, reason = _broken.get((root, version), (0.0, ""))
    if reason and clock.monotonic() - failed_at < _AGAIN_AFTER_S:
        raise RuledexError(reason)
    try:
        return needs_of(opened(root, version, trust))
    except RuledexError as error:
        _broken[root, version] = clock.monotonic(), str(error)
        raise


def _require_fit(plan: StreamPlan, needs: Needs) -> None:
    """An error where a version does not fit a query that already runs."""
    from pyspark.sql.types import StructType

    if needs.ids != plan.ids:
        raise RuledexError(f"its rules have {needs.ids} ids, those of the running query {plan.ids} ones")
    left_out = outside(StructType.fromJson(json.loads(plan.schema)), plan.paths, needs.paths)
    if left_out:
        raise RuledexError(
            f"its rules look at {', '.join(map(path_text, left_out))}, which the running query does not read: restart "
            "it, or name the column in `columns`"
        )

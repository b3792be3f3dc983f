"""The Spark session of a command: start it or use the active one, show what it runs, and report its errors in one line.

A classic session sends no progress, so it is asked twice a second. A Connect session sends tasks and bytes, not rows.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ruledex.cli.terminal import Bar, bar
from ruledex.errors import RuledexError, quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
_ON_THIS_MACHINE: Final = {
    # The name of a machine may not resolve, and nobody else has to reach a local session.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # The command reports an error in one line; a log would add the stack traces of all threads that saw it.
    "spark.log.level": "FATAL",
}
_EVERY_SECONDS: Final = 0.5
_OURS: Final = re.compile(r"^ruledex\.errors\.\w+: (.+)$", re.MULTILINE)
_PYTHON: Final = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception)(?:: .+)?)$", re.MULTILINE)
_BEFORE_JAVA: Final = re.compile(
    r"^(?:An error occurred while calling \S+\s+: )?(?:[\w.$]+(?:Exception|Error): )?"
    r"(?:Job aborted due to stage failure: .*?Lost task .*?\): )?"
)


@contextmanager
def session(master: str | None, name: str, settings: Sequence[str] | None = None) -> Iterator[SparkSession]:
    """Yield the active session of this process, or start one for a `with` and stop it afterwards.

    Without a master, it is what spark-submit or SPARK_REMOTE gives, or else a session on this machine; `sc://…` is
    Spark Connect. Workers run this interpreter unless PYSPARK_PYTHON names another, as it must if an environment is
    packed and shipped. `settings` have the form KEY=VALUE. Errors of Spark become a `RuledexError` of one line.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise RuledexError("this command needs PySpark: pip install 'ruledex[spark]'") from error
    given = _settings(settings or ())
    active = SparkSession.getActiveSession()
    if active is not None:
        with _convert_failures():
            yield active
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is None and not is_submitted and "SPARK_REMOTE" not in os.environ:
        master = LOCAL
    if master is not None:
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    defaults = _ON_THIS_MACHINE if master is not None and master.startswith("local") else {}
    for key, value in {"spark.ui.showConsoleProgress": "false", **defaults, **given}.items():
        builder = builder.config(key, value)
    try:
        with _convert_failures():
            started = builder.getOrCreate()
    except RuledexError as error:
        raise RuledexError(f"Spark does not start; it needs Java 17 or later: {error}") from error
    try:
        with _convert_failures():
            yield started
    finally:
        started.stop()


def _settings(given: Sequence[str]) -> dict[str, str]:
    settings = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not (key and equals):
            raise RuledexError(f"write a setting of Spark as KEY=VALUE, not {quoted(setting)}")
        settings[key] = value
    return settings


@contextmanager
def _convert_failures() -> Iterator[None]:
    """Replace errors of Spark, inside a `with`, by a `RuledexError`."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise RuledexError(describe_failure(error)) from error


def describe_failure(error: Exception) -> str:
    """Return the message of an error of Spark: our own message if a worker raised one, or else its first line."""
    text = str(error)
    if ours := _OURS.findall(text):
        return str(ours[-1])  # a stack trace ends with its error
    raised = _PYTHON.findall(text) if "Traceback (most recent call last)" in text else []
    line = raised[-1] if raised else next(iter(_BEFORE_JAVA.sub("", text).strip().splitlines()), type(error).__name__)
    # A message that begins with an error class in brackets is complete.
    return line if line.startswith("[") else f"{line} (--conf spark.log.level=ERROR shows more)"


class StageProgress(NamedTuple):
    """The running stages, their tasks, and how much they have read, in rows or in bytes."""

    stages: tuple[int, ...]
    n_tasks: int
    n_done: int
    n_read: int
    unit: str  # "rows" or "bytes"


@contextmanager
def show_stages(session: SparkSession, description: str, wanted: bool = True) -> Iterator[None]:
    """Show the stages that a session runs during a `with`, if that is wanted and standard error is a terminal."""
    with bar(description, wanted=wanted) as shown:
        if not shown.is_shown:
            yield
            return
        is_connect = type(session).__module__.startswith("pyspark.sql.connect")
        with _follow_connect(session, shown) if is_connect else _follow_classic(session, shown):
            yield


@contextmanager
def _follow_connect(session: SparkSession, shown: Bar) -> Iterator[None]:
    def handle(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # noqa: ARG001
        running = [stage for stage in stages or () if not stage.done]
        if running:
            _show(
                shown,
                StageProgress(
                    tuple(stage.stage_id for stage in running),
                    sum(stage.num_tasks for stage in running),
                    sum(stage.num_completed_tasks for stage in running),
                    sum(stage.num_bytes_read for stage in running),
                    "bytes",
                ),
            )

    handler: Any = handle  # any callable works, whatever the declared type says
    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)


@contextmanager
def _follow_classic(session: SparkSession, shown: Bar) -> Iterator[None]:
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(_EVERY_SECONDS):
            seen = running_stages(session)
            if seen.stages:
                _show(shown, seen)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        yield
    finally:
        ended.set()
        asking.join()


def _show(shown: Bar, seen: StageProgress) -> None:
    shown.show(seen.n_read, seen.n_done, seen.n_tasks, f"stage {', '.join(map(str, seen.stages))}", seen.unit)


def running_stages(session: SparkSession) -> StageProgress:
    """Return what a classic session runs now. Rows are those read from a source or a shuffle so far."""
    from py4j.protocol import Py4JError

    context = session.sparkContext
    tracker = context.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    store = context._jsc.sc().statusStore()  # the tracker knows only tasks
    n_rows = 0
    for stage in stages:
        with suppress(Py4JError):  # Spark may have dropped the stage meanwhile
            data = store.lastStageAttempt(stage.stageId)
            n_rows += data.inputRecords() + data.shuffleReadRecords()
    return StageProgress(
        tuple(stage.stageId for stage in stages),
        sum(stage.numTasks for stage in stages),
        sum(stage.numCompletedTasks for stage in stages),
        n_rows,
        "rows",
    )

"""Show on the terminal what Spark does while a command waits: stages, tasks, rows and their rate.

A classic session sends no progress, so it is asked twice a second. A Connect session sends tasks and bytes, not rows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_SECONDS: Final = 0.5


class StageProgress(NamedTuple):
    """The running stages, their tasks, and how much they have read, in rows or in bytes."""

    stages: tuple[int, ...]
    n_tasks: int
    n_done: int
    n_read: int
    unit: str  # "rows" or "bytes"


class Display:
    """A line on a terminal that shows the running stages. The rate is measured since these stages began."""

    def __init__(self, progress: Progress, description: str) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=None, stage="", amount="", rate="")
        self._stages: tuple[int, ...] = ()
        self._began = 0.0

    def show(self, seen: StageProgress) -> None:
        """Show the progress of the running stages."""
        now = self._progress.get_time()
        if seen.stages != self._stages:
            self._stages, self._began = seen.stages, now
        seconds = now - self._began
        self._progress.update(
            self._task,
            total=seen.n_tasks or None,
            completed=seen.n_done,
            stage=f"stage {', '.join(map(str, seen.stages))}: {seen.n_done:,} of {seen.n_tasks:,} tasks",
            amount=f"{seen.n_read:,} {seen.unit}" if seen.n_read else "",
            rate=f"{seen.n_read / seconds:,.0f}/s" if seen.n_read and seconds > 0 else "",
        )


@contextmanager
def progress(session: SparkSession, description: str, wanted: bool = True) -> Iterator[None]:
    """Show what the session runs during a `with`, if it is wanted and standard error is a terminal."""
    screen = Console(stderr=True)
    if not (wanted and screen.is_terminal):
        yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[stage]}"),
        TextColumn("{task.fields[amount]}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as shown:
        display = Display(shown, description)
        with _follow_connect(session, display) if _is_connect(session) else _follow_classic(session, display):
            yield


@contextmanager
def _follow_connect(session: SparkSession, display: Display) -> Iterator[None]:
    def handle(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # noqa: ARG001
        running = [stage for stage in stages or () if not stage.done]
        if running:
            display.show(
                StageProgress(
                    tuple(stage.stage_id for stage in running),
                    sum(stage.num_tasks for stage in running),
                    sum(stage.num_completed_tasks for stage in running),
                    sum(stage.num_bytes_read for stage in running),
                    "bytes",
                )
            )

    handler: Any = handle  # any callable works, whatever the declared type says
    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)


@contextmanager
def _follow_classic(session: SparkSession, display: Display) -> Iterator[None]:
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(_EVERY_SECONDS):
            seen = running_stages(session)
            if seen.stages:
                display.show(seen)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        yield
    finally:
        ended.set()
        asking.join()


def running_stages(session: SparkSession) -> StageProgress:
    """Return what a classic session runs now. Rows are those read from a source or a shuffle so far."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

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


def _is_connect(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")

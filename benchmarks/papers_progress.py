"""Progress of a long run on the terminal, and how long each part of it took."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Steps:
    """One bar over all parts of a run; what is done at the moment stands beside it."""

    def __init__(self, title: str, n_parts: int) -> None:
        self._console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, TextColumn("{task.fields[step]}"), console=self._console)
        self._task = self._progress.add_task(title, total=n_parts, step="")
        self._part = ""
        self._start = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def part(self, name: str) -> None:
        """The next part begins."""
        self._part, self._start = name, time.perf_counter()
        self.step("drawing rules and events")

    def step(self, what: str) -> None:
        """What the part at hand does now."""
        self._progress.update(self._task, step=f"{self._part}: {what}")

    def done(self) -> None:
        """The part at hand is done; say how long it took."""
        took = time.perf_counter() - self._start
        self.seconds[self._part] = took
        self._progress.advance(self._task)
        self._console.print(f"{self._part}: {took:.1f} s")

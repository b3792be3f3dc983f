"""Show a progress bar on standard error: how much is done, the rate, and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ruledex.sources import BadRow, RuleFile, RuleRow

_EVERY: Final = 256  # rows between two looks at how far a file is read


class Bar:
    """A progress bar on a terminal. Elsewhere it shows nothing."""

    def __init__(self, progress: Progress | None, unit: str) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task("", total=None, unit=unit, n=0, rate=0.0)

    def show(self, n: int, done: float, total: float | None) -> None:
        """Show that `n` units are done, which are `done` of `total` in any measure; `total` is None if not known."""
        if self._progress is None or self._task is None:
            return
        elapsed = self._progress.tasks[self._task].elapsed or 0.0
        rate = n / elapsed if elapsed else 0.0
        self._progress.update(self._task, completed=done, total=total, n=n, rate=rate)

    def callback(self) -> Callable[[int, int], None]:
        """Return a function that shows how many units are done, of how many."""
        return lambda done, total: self.show(done, done, total)


@contextmanager
def bar(description: str, unit: str, wanted: bool = True) -> Iterator[Bar]:
    """Show a bar during a `with`, if it is wanted and standard error is a terminal."""
    screen = Console(stderr=True)
    if not (wanted and screen.is_terminal):
        yield Bar(None, unit)
        return
    columns = (
        TextColumn(description),
        BarColumn(),
        TextColumn("{task.fields[n]:,} {task.fields[unit]}"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as progress:
        yield Bar(progress, unit)


def rows_with_progress(source: RuleFile, wanted: bool) -> Iterator[RuleRow | BadRow]:
    """Yield the rows of a file of rules while a bar shows their number and rate, and the time left if it is known."""
    with bar(source.name, "rules", wanted) as shown, closing(source.rows()) as rows:
        for n_rules, row in enumerate(rows, 1):
            if n_rules % _EVERY == 0:
                shown.show(n_rules, source.n_read, source.size)
            yield row

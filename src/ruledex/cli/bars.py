"""A bar on standard error for long work whose end is known: how much is done, the rate, and the time left.

The rows of a file of rules, with a bar that follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ruledex.sources import BadRow, RuleFile, RuleRow


class Bar:
    """Shows progress on a terminal, and nothing elsewhere."""

    def __init__(self, progress: Progress | None, unit: str) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task("", total=None, unit=unit, n=0, rate=0.0)

    def show(self, n: int, done: float, total: float | None) -> None:
        """So many units, and so much of the whole in whatever measure the whole has."""
        if self._progress is None or self._task is None:
            return
        elapsed = self._progress.tasks[self._task].elapsed or 0.0
        rate = n / elapsed if elapsed else 0.0
        self._progress.update(self._task, completed=done, total=total, n=n, rate=rate)

    def callback(self) -> Callable[[int, int], None]:
        """A function of how many are done and how many there are."""
        return lambda done, total: self.show(done, done, total)


@contextmanager
def bar(description: str, unit: str, wanted: bool = True) -> Iterator[Bar]:
    """A bar that goes away when its work is done."""
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


_EVERY: Final = 256  # rows between two looks at the file's position


def rows_with_progress(source: RuleFile, wanted: bool) -> Iterator[RuleRow | BadRow]:
    """The rows of a file, and a bar: rules, their rate, and the time left where the file's size is known."""
    with bar(source.name, "rules", wanted) as shown:
        for n_rules, row in enumerate(source.rows(), 1):
            if n_rules % _EVERY == 0:
                shown.show(n_rules, source.n_read, source.size)
            yield row

"""What commands show on a terminal: a console for tables, and progress bars."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ruledex.sources import BadRow, DefinitionRow, RuleFile, RuleRow

_PLAIN_WIDTH: Final = 140  # of a table that goes to a file or a pipe
_EVERY: Final = 256  # rows between two looks at how far a file is read


def console() -> Console:
    """Return a console for standard output: with colours on a terminal, plain and wide elsewhere."""
    out = Console(highlight=False, markup=False, soft_wrap=False)
    return out if out.is_terminal else Console(highlight=False, markup=False, width=max(out.width, _PLAIN_WIDTH))


class Bar:
    """A progress bar on a terminal: how much is done, the rate, and the time left. Elsewhere it shows nothing."""

    def __init__(self, progress: Progress | None, description: str, unit: str) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task(description, total=None, told="")
        self._unit = unit
        self._stage = ""
        self._began = 0.0 if progress is None else progress.get_time()

    @property
    def is_shown(self) -> bool:
        """Whether there is a terminal that shows it."""
        return self._progress is not None

    def show(self, n: int, done: float, total: float | None, stage: str = "", unit: str = "") -> None:
        """Show that `n` units are done, which are `done` of `total` in any measure; `total` is None if not known.

        If a stage of the work is named, `done` and `total` count its tasks, and the rate is measured since it began.
        """
        if self._progress is None or self._task is None:
            return
        now = self._progress.get_time()
        if stage != self._stage:
            self._stage, self._began = stage, now
        told = [f"{stage}: {done:,} of {total or 0:,} tasks"] if stage else []
        if n or not stage:
            told += [f"{n:,} {unit or self._unit}", f"{n / max(now - self._began, 1e-3):,.0f}/s"]
        self._progress.update(self._task, completed=done, total=total or None, told="  ".join(told))

    def callback(self) -> Callable[[int, int], None]:
        """Return a function that shows how many units are done, of how many."""
        return lambda done, total: self.show(done, done, total)


@contextmanager
def bar(description: str, unit: str = "", wanted: bool = True) -> Iterator[Bar]:
    """Show a bar during a `with`, if it is wanted and standard error is a terminal."""
    screen = Console(stderr=True)
    if not (wanted and screen.is_terminal):
        yield Bar(None, description, unit)
        return
    texts = TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[told]}", markup=False)
    with Progress(*texts, TimeElapsedColumn(), TimeRemainingColumn(), console=screen, transient=True) as progress:
        yield Bar(progress, description, unit)


def rows_with_progress(source: RuleFile, wanted: bool) -> Generator[RuleRow | BadRow | DefinitionRow]:
    """Yield the rows of a file of rules while a bar shows their number and rate, and the time left if it is known."""
    with bar(source.name, "rules", wanted) as shown, closing(source.rows()) as rows:
        for n_rules, row in enumerate(rows, 1):
            if n_rules % _EVERY == 0:
                shown.show(n_rules, source.n_read, source.size)
            yield row

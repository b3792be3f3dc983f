"""A bar on standard error while a file is read, on a terminal only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ruledex.sources import BadRow, RuleFile, RuleRow

_EVERY: Final = 256  # rows between two looks at the file's position


def rows_with_progress(source: RuleFile, wanted: bool) -> Iterator[RuleRow | BadRow]:
    """The rows of a file, and a bar that follows them: rules, their rate, and the time left where it is known."""
    screen = Console(stderr=True)
    if not (wanted and screen.is_terminal):
        yield from source.rows()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rules]:,} rules"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task(source.name, total=None, rules=0, rate=0.0)
        for n_rules, row in enumerate(source.rows(), 1):
            if n_rules % _EVERY == 0:
                elapsed = progress.tasks[0].elapsed or 0.0
                rate = n_rules / elapsed if elapsed else 0.0
                progress.update(task, total=source.size, completed=source.n_read, rules=n_rules, rate=rate)
            yield row

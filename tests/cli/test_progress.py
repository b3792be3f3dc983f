"""The bar: on a terminal, and nowhere else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from ruledex.cli import bars
from ruledex.cli import bars as progress
from ruledex.sources import RuleFile


@pytest.mark.parametrize(
    ("is_terminal", "wanted", "shown"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_the_bar_is_shown_on_a_terminal_that_wants_it_and_loses_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool, wanted: bool, shown: bool
) -> None:
    path = tmp_path / "rules.txt"
    path.write_text("a = 1\n" * 1000)
    screen = io.StringIO()
    monkeypatch.setattr(bars, "Console", lambda stderr: Console(file=screen, force_terminal=is_terminal, width=120))
    rows = list(progress.rows_with_progress(RuleFile(str(path)), wanted))
    assert [row.line for row in rows] == list(range(1, 1001))
    assert ("rules.txt" in screen.getvalue()) is shown

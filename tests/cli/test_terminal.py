"""A progress bar is shown on a terminal, and nowhere else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from ruledex.cli import bars
from ruledex.cli.bars import bar
from ruledex.sources import RuleFile


def test_a_terminal_sees_how_much_is_done(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with bar("building", "rules") as shown:
        shown.callback()(500, 1000)
        shown.show(1234, 10, None)
    told = capsys.readouterr().err
    assert "building" in told
    assert "1,234 rules" in told


def test_a_file_sees_nothing(monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with bar("building", "rules") as shown:
        shown.callback()(500, 1000)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with bar("building", "rules", wanted=False) as shown:
        shown.callback()(500, 1000)
    assert capsys.readouterr().err == ""


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
    rows = list(bars.rows_with_progress(RuleFile(str(path)), wanted))
    assert [row.line for row in rows] == list(range(1, 1001))
    assert ("rules.txt" in screen.getvalue()) is shown

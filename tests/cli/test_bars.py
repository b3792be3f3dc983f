"""Bars for long work."""

from __future__ import annotations

from ruledex.cli.bars import bar


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

"""What a user is told while kernels are compiled."""

from __future__ import annotations

import pytest

from ruledex.cli import warm_up as module
from ruledex.cli.warm_up import warm_up


@pytest.mark.parametrize("k", [None, 2])
def test_a_terminal_is_told_when_it_takes_long(monkeypatch, capsys, k):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)
    warm_up("scan", k)
    assert "compiling for the first use" in capsys.readouterr().err


def test_a_file_is_told_nothing(monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)
    warm_up("scan")
    assert capsys.readouterr().err == ""

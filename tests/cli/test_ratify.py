"""`ruledex ratify`."""

from __future__ import annotations

import json

import pytest

from ruledex.index import Index
from ruledex.index.state import BuiltState
from tests.cli.samples import run


@pytest.fixture
def root(tmp_path):
    Index.build([(1, "a = 1"), (2, "b > 3 AND c LIKE 'x%'")], "scan").save(tmp_path / "index")
    return tmp_path / "index"


def test_a_sound_index_agrees(root, tmp_path):
    result = run("ratify", root, "--events", 60, "-o", tmp_path / "report.json")
    assert (result.exit_code, "agrees with the reference: 120 pairs" in result.stdout) == (0, True)
    assert json.loads((tmp_path / "report.json").read_text())["passed"]
    assert json.loads(run("ratify", root, "--json", "--all", "--events", 10).stdout)["pairs"] == 20
    assert run("ratify", root, "--quiet", "--events", 5).stdout == ""


def test_a_difference_is_shown_and_the_status_is_1(root, monkeypatch):
    monkeypatch.setattr(BuiltState, "match", lambda *_: [])
    result = run("ratify", root, "--events", 60, "--rules", 2, "--seed", 5)
    assert result.exit_code == 1
    assert "match says not true, and the reference says true" in result.stdout

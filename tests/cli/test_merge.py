"""`ruledex merge`."""

from __future__ import annotations

import pytest

from ruledex.index import Index
from tests.cli.samples import run


@pytest.fixture
def folder(tmp_path):
    Index.build([(1, "a = 1", 0.5), (2, "a > 3")], "scan").save(tmp_path / "first")
    Index.build([(2, "a = 1"), (3, "@x")], "scan", definitions={"x": "b = 1"}).save(tmp_path / "second")
    return tmp_path


def test_indexes_are_merged(folder):
    result = run("merge", folder / "first", folder / "second", "-o", folder / "all", "--prefix", "a", "--prefix", "b")
    assert (result.exit_code, "4 rules" in result.stdout) == (0, True)
    assert Index.open(folder / "all").match({"a": 1, "b": 1}) == ["a1", "b2", "b3"]
    assert (
        run("merge", folder / "first", folder / "second", "-o", folder / "all", "--on-conflict", "last", "-q").stdout
        == ""
    )
    assert Index.open(folder / "all").match({"a": 1, "b": 1}) == [1, 2, 3]


def test_nothing_is_written_if_ids_collide(folder):
    result = run("merge", folder / "first", folder / "second", "-o", folder / "all")
    assert (result.exit_code, "same ids: 2 in" in result.stderr) == (2, True)
    assert "or --on-conflict first or last" in result.stderr
    assert not (folder / "all").exists()

"""`ruledex compact`."""

from __future__ import annotations

import pytest

from ruledex.index import Index
from tests.cli.samples import run
from tests.index.samples import EVENTS, PLAIN, expected


@pytest.fixture
def folder(tmp_path):
    Index.build(PLAIN, "scan").save(tmp_path)
    return tmp_path


def test_changes_become_a_version(folder):
    first = Index.open(folder).version
    run("add", folder, "-", text='{"id": 20, "expr": "age > 60"}\n')
    run("remove", folder, "7")
    result = run("compact", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    index = Index.open(folder)
    assert result.stdout.startswith("6 rules in ")
    assert f"engine scan, version {index.version[:12]} in {folder}" in result.stdout
    assert index.version != first
    rules = [*PLAIN[1:], (20, "age > 60")]
    assert [index.match(event) for event in EVENTS] == [expected(rules, event) for event in EVENTS]
    assert index.describe()["changes"]["journal_records"] == 0


def test_without_changes_there_is_nothing_to_do(folder):
    version = Index.open(folder).version
    result = run("compact", folder)
    assert result.stdout == f"nothing to compact: 6 rules, version {version[:12]} in {folder}\n"
    assert run("compact", folder, "-q").stdout == ""


def test_options_of_the_engine_are_handed_on(tmp_path):
    Index.build([(1, "a = 1")], "dnf").save(tmp_path)
    Index.open(tmp_path).add([(2, "(a = 1 OR b = 2) AND (c = 3 OR d = 4)")])
    refused = run("compact", tmp_path, "--engine-option", "budget=3", "--engine-option", "overflow=error")
    assert refused.exit_code == 2
    assert "rule 2 has at least 8 literals" in refused.stderr
    done = run("compact", tmp_path, "--engine-option", "budget=3", "-q")
    assert done.exit_code == 0
    assert Index.open(tmp_path).match({"a": 1, "d": 4}) == [1, 2]

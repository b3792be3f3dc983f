"""`ruledex remove`."""

from __future__ import annotations

import pytest

from ruledex.index import Index
from tests.cli.samples import run
from tests.index.samples import PLAIN


@pytest.fixture
def folder(tmp_path):
    Index.build([*PLAIN, (-5, "a = 1")], "scan").save(tmp_path)
    return tmp_path


def test_rules_are_removed(folder):
    result = run("remove", folder, 7, 3)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"2 rules removed, 5 in {folder}\n"
    assert [rule_id for rule_id, _ in Index.open(folder)] == [-5, 1, 2, 5, 9]
    assert run("remove", folder, "-q", "--", "-5").stdout == ""
    assert -5 not in Index.open(folder)


def test_ids_come_from_standard_input(folder):
    assert run("remove", folder, "-", text="7\n\n 3 \n").exit_code == 0
    assert len(Index.open(folder)) == 5


def test_ids_that_are_not_there_are_all_told_and_nothing_is_removed(folder):
    result = run("remove", folder, 7, 8, "x")
    assert result.exit_code == 1
    assert "2 of 3 rules cannot be used" in result.stderr
    assert "rule 8: there is no rule of this id" in result.stderr
    assert len(Index.open(folder)) == 7


def test_ids_may_be_strings(tmp_path):
    Index.build([("7", "a = 1"), ("x", "a = 2")], "scan").save(tmp_path)
    assert run("remove", tmp_path, "7").exit_code == 0
    assert [rule_id for rule_id, _ in Index.open(tmp_path)] == ["x"]

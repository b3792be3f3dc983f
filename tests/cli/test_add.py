"""`ruledex add`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex.index import Index
from tests.cli.samples import run
from tests.index.samples import EVENTS, PLAIN, expected

NEW = '{"id": 20, "expr": "country = \'FR\'", "score": 2.5}\n{"id": 21, "expr": "age > 60"}\n'


@pytest.fixture
def folder(indexed, tmp_path):
    """An index of its own for each test."""
    Index.open(indexed / "index").save(tmp_path / "index")
    return tmp_path / "index"


def test_rules_of_a_file_are_added_to_an_index(folder, tmp_path):
    (tmp_path / "new.jsonl").write_text(NEW)
    result = run("add", folder, tmp_path / "new.jsonl")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"2 rules added, 8 in {folder}\n"
    index = Index.open(folder)
    rules = [*PLAIN, (20, "country = 'FR'"), (21, "age > 60")]
    assert [index.match(event) for event in EVENTS] == [expected(rules, event) for event in EVENTS]
    assert (index.engine, index.rule(20).static_score) == ("sparse", 2.5)


def test_rules_come_from_standard_input_or_a_table(folder, tmp_path):
    assert run("add", folder, "-", "-q", text=NEW).stdout == ""
    pq.write_table(pa.table({"rule": [30], "cond": ["age = 1"]}), tmp_path / "rules.parquet")
    assert run("add", folder, tmp_path / "rules.parquet", "--id", "rule", "--expr", "cond").exit_code == 0
    assert [rule_id for rule_id, _ in Index.open(folder)][-3:] == [20, 21, 30]


def test_rules_are_replaced(folder):
    result = run("add", folder, "-", "--update", text='{"id": 7, "expr": "age = 25"}\n')
    assert result.stdout == f"1 rules replaced, 6 in {folder}\n"
    assert Index.open(folder).rule(7) == (7, "age = 25", 0.0)


def test_rules_that_cannot_be_used_are_all_told_and_none_is_added(folder):
    text = '{"id": 20, "expr": "a = 1"}\n{"id": 7, "expr": "a = 1"}\n{"id": 21, "expr": "a ="}\n'
    result = run("add", folder, "-", text=text)
    assert result.exit_code == 1
    assert "2 of 3 rules cannot be used" in result.stderr
    assert "line 2, rule 7: a rule of this id is in the index already" in result.stderr
    missing = run("add", folder, "-", "--update", text='{"id": 20, "expr": "a = 1"}\n')
    assert (missing.exit_code, "there is no rule of this id" in missing.stderr) == (1, True)
    assert len(Index.open(folder)) == len(PLAIN)


def test_what_is_no_index_is_one_line(tmp_path):
    result = run("add", tmp_path / "nothing", "-", text=NEW)
    assert result.exit_code == 2
    assert "no index is published" in result.stderr
    assert not (tmp_path / "nothing").exists()

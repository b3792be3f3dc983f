"""`ruledex build` and `ruledex merge`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex.index import Index
from tests.cli.samples import run
from tests.index.samples import EVENTS, PLAIN, expected


def test_a_file_of_rules_becomes_an_index(indexed, tmp_path):
    result = run("build", indexed / "rules.jsonl", "-o", tmp_path / "index", "--engine", "scan")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "6 rules" in result.stdout
    index = Index.open(tmp_path / "index")
    assert index.version[:12] in result.stdout
    assert [index.match(event) for event in EVENTS] == [expected(PLAIN, event) for event in EVENTS]


def test_a_table_keeps_its_integers(tmp_path):
    pq.write_table(pa.table({"rule": [3, 1], "cond": ["a = 1", "a > 0"]}), tmp_path / "rules.parquet")
    arguments = ("--id", "rule", "--expr", "cond", "--engine", "scan", "-q")
    result = run("build", tmp_path / "rules.parquet", "-o", tmp_path / "index", *arguments)
    assert (result.exit_code, result.stdout) == (0, "")
    assert Index.open(tmp_path / "index").match({"a": 1}) == [1, 3]


def test_rules_come_from_standard_input(tmp_path):
    result = run("build", "-", "-o", tmp_path / "index", "--engine", "scan", text='{"id": 1, "expr": "a = 1"}\n')
    assert result.exit_code == 0
    assert len(Index.open(tmp_path / "index")) == 1


def test_bad_rules_stop_a_build_and_are_all_told(tmp_path):
    (tmp_path / "rules.txt").write_text("a =\nb = 1\nc LIKE\n")
    result = run("build", tmp_path / "rules.txt", "-o", tmp_path / "index", "--engine", "scan")
    assert result.exit_code == 1
    assert "2 of 3 rules cannot be used" in result.stderr
    assert "line 1" in result.stderr
    assert "line 3" in result.stderr
    assert not (tmp_path / "index").exists()


def test_bad_rules_can_be_left_out(tmp_path):
    (tmp_path / "rules.txt").write_text("a =\nb = 1\n")
    arguments = ("-o", tmp_path / "index", "--engine", "scan", "--on-error", "skip")
    result = run("build", tmp_path / "rules.txt", *arguments)
    assert result.exit_code == 0
    assert "1 of 2 rules cannot be used" in result.stderr
    assert len(Index.open(tmp_path / "index")) == 1


def test_the_schema_is_held_to(tmp_path):
    (tmp_path / "schema.toml").write_text('[attributes]\na = "integer"\n')
    (tmp_path / "rules.txt").write_text("a = 'x'\n")
    arguments = ("-o", tmp_path / "index", "--engine", "scan", "--schema", tmp_path / "schema.toml")
    result = run("build", tmp_path / "rules.txt", *arguments)
    assert result.exit_code == 1
    assert "the schema declares a" in result.stderr


def test_what_cannot_be_read_is_one_line(tmp_path):
    for name in ("nothing.jsonl", "nothing.parquet", "rules.doc"):
        result = run("build", tmp_path / name, "-o", tmp_path / "index", "--engine", "scan")
        assert result.exit_code == 2
        assert name in result.stderr
        assert "Traceback" not in result.stderr
    (tmp_path / "rules.txt").write_text("a = 1\n")
    result = run("build", tmp_path / "rules.txt", "-o", tmp_path / "index", "--engine", "steam")
    assert (result.exit_code, "no engine 'steam'" in result.stderr) == (2, True)


def test_options_of_the_engine_are_handed_on(tmp_path):
    text = '{"id": 1, "expr": "(a = 1 OR b = 2) AND (c = 3 OR d = 4)"}\n'
    build = ("build", "-", "-o", tmp_path / "index", "--engine", "dnf", "-q")
    refused = run(*build, "--engine-option", "budget=3", "--engine-option", "overflow=error", text=text)
    assert refused.exit_code != 0
    assert "rule 1 has at least 8 literals" in refused.stderr
    assert "NAME=VALUE" in run(*build, "--engine-option", "budget", text=text).stderr
    done = run(*build[:-1], "--engine-option", "budget=3", text=text)
    assert done.exit_code == 0
    assert done.stdout.endswith("rules over the budget of dnf, which sparse answers: 1\n")
    assert Index.open(tmp_path / "index").match({"a": 1, "d": 4}) == [1]


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

"""`ruledex spark build`, on the session of the tests."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from ruledex import Index
from ruledex.artifact import list_versions
from ruledex.cli.main import app

RULES = [
    {"id": 1, "expr": "a = 1", "bid": 2.5},
    {"id": 2, "expr": "a = 1 AND b = 2", "bid": 1.0},
    {"id": 3, "expr": "a =", "bid": 1.0},
]


@pytest.fixture
def run(spark, tmp_path):
    rules = tmp_path / "rules.jsonl"
    rules.write_text("".join(json.dumps(rule) + "\n" for rule in RULES))

    def run(*arguments):
        return CliRunner().invoke(app, ["spark", "build", str(rules), "-o", str(tmp_path / "index"), *arguments])

    return run


def test_an_index_is_built_and_rules_that_cannot_be_used_are_written_aside(spark, run, tmp_path):
    result = run("--score", "bid", "--shards", "2", "--quarantine", str(tmp_path / "bad.json"))
    assert result.exit_code == 0, result.output
    index = Index.open(tmp_path / "index")
    assert f"version {index.version[:12]} in {tmp_path / 'index'}: 2 shards" in result.stdout
    assert "2 rules in" in result.stdout
    assert "1 cannot be used: syntax" in result.stderr
    assert index.top({"a": 1, "b": 2}, 1, "static") == [(1, 2.5)]
    (row,) = spark.read.json(str(tmp_path / "bad.json")).collect()
    assert (row.id, row.text, row.position) == (3, "a =", 3)


def test_nothing_is_built_if_no_rule_may_be_broken(run, tmp_path):
    result = run("--on-error", "raise")
    assert result.exit_code == 1
    assert "rules.jsonl: 1 of 3 rules cannot be used" in result.stderr
    assert list_versions(tmp_path / "index") == []


def test_a_column_that_is_not_there_is_one_line(run):
    result = run("--expr", "text")
    assert result.exit_code == 2
    assert result.stderr == "error: the rules have no column 'text'; they have bid, expr, id\n"

"""`ruledex generate` through the real command line."""

from __future__ import annotations

import orjson
import pytest
from typer.testing import CliRunner

from ruledex import parse
from ruledex.cli.main import app


def run(*arguments):
    return CliRunner().invoke(app, ["generate", *arguments])


def test_rules_come_as_lines_that_a_build_reads(tmp_path):
    path = tmp_path / "made" / "rules.jsonl"
    assert run("demo", "--rules", "50", "-o", str(path)).exit_code == 0
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert len({row["id"] for row in rows}) == 50
    for row in rows:
        parse(row["expr"])


def test_the_same_seed_gives_the_same_events(tmp_path):
    first, second, other = (run("abe", "--events", "20", "--seed", seed).stdout for seed in ("1", "1", "2"))
    assert first == second != other
    assert len(first.splitlines()) == 20


@pytest.mark.parametrize("arguments", [("demo",), ("demo", "--rules", "1", "--events", "1")])
def test_it_asks_for_either_rules_or_events(arguments):
    assert run(*arguments).exit_code == 2


def test_an_unknown_workload_is_named():
    result = run("nonsense", "--rules", "1")
    assert result.exit_code == 2
    assert "there is no workload 'nonsense'" in result.output

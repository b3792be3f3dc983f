"""The commands that look at events and indexes: what they print, what they write, and how they end."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from ruledex import Index
from ruledex.events.statistics import EventStatistics
from ruledex.index.state import TextsInMemory
from tests.cli.samples import run

RULES = [(1, "a > 2"), (2, "b = 'x'"), (3, "a < 0")]


@pytest.fixture(scope="module")
def folder(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    Index.build(RULES).save(folder / "index")
    Index.build([(1, "a > 3"), (2, "b = 'x'"), (3, "a < 0")]).save(folder / "newer")
    rows = [(a, "x" if a % 2 else "y") for a in range(6)]
    spark.createDataFrame(rows, "a bigint, b string").write.parquet(str(folder / "events.parquet"))
    return folder


def test_profile_shows_attributes_and_saves_them(folder):
    result = run("spark", "profile", folder / "events.parquet", "-o", folder / "statistics.json")
    assert result.exit_code == 0
    assert "x (3), y (3)" in result.stdout
    assert "6 events, 2 attributes" in result.stdout
    assert EventStatistics.open(folder / "statistics.json").n_events == 6


def test_ratify_ends_well_where_all_agree(folder):
    result = run("spark", "ratify", folder / "index", folder / "events.parquet", "-o", folder / "report.json")
    assert result.exit_code == 0
    assert "3 rules on 6 events" in result.stdout
    assert json.loads((folder / "report.json").read_text())["passed"] is True


def test_ratify_shows_what_is_wrong_and_ends_with_1(folder):
    import pyarrow as pa

    index = Index.build(RULES)
    index._state = cast(Any, index._state)._replace(texts=TextsInMemory(pa.array(["a > 4", "b = 'x'", "a < 0"])))
    index.save(folder / "wrong")
    result = run("spark", "ratify", folder / "wrong", folder / "events.parquet")
    assert result.exit_code == 1
    assert "the index says true, and the reference says not true" in result.stdout


def test_backtest_shows_rules_that_change_and_writes_all(folder):
    arguments = (folder / "index", folder / "newer", folder / "events.parquet", "--key", "a", "--examples", "1")
    result = run("spark", "backtest", *arguments, "-o", folder / "changes.json")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()][1:] == [["1", "changed", "0", "1", "2", "3"]]
    lines = [line for path in (folder / "changes.json").glob("*.json") for line in path.read_text().splitlines()]
    assert sorted(json.loads(line)["rule"] for line in lines) == [1, 2, 3]


def test_coverage_counts_rules_and_events(folder):
    arguments = (folder / "index", folder / "events.parquet", "--pairs", "3")
    result = run("spark", "coverage", *arguments, "-o", folder / "matches.csv")
    assert result.exit_code == 0
    assert "6 events, 6 matches, 2 events without a rule, 1 rules never true" in result.stdout
    assert ["1", "2", "2"] in [line.split() for line in result.stdout.splitlines()]
    assert (folder / "matches.csv" / "_SUCCESS").exists()


def test_a_table_that_is_not_there_is_an_error_in_a_line(folder):
    result = run("spark", "coverage", folder / "index", folder / "nowhere.parquet")
    assert result.exit_code == 2
    assert "nowhere.parquet" in result.stderr
    assert "Traceback" not in result.stderr

"""`ruledex spark match`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from ruledex import Index
from ruledex.cli.spark import app


@pytest.fixture
def folder(spark, tmp_path):
    Index.build([(1, "a = 1"), (2, "a >= 1", 5.0)]).save(tmp_path / "index")
    (tmp_path / "events.jsonl").write_text("".join(json.dumps({"n": n, "a": n % 3}) + "\n" for n in range(6)))
    return tmp_path


def run(folder, output, *options):
    return CliRunner().invoke(
        app,
        ["match", str(folder / "index"), str(folder / "events.jsonl"), str(folder / output), *options],
    )


def test_matches_are_written_as_a_table(spark, folder):
    done = run(folder, "out.parquet", "--keep", "n", "--top", "1")
    assert done.exit_code == 0, done.output
    assert "6 rows, 4 matches" in done.output
    rows = spark.read.parquet(str(folder / "out.parquet")).orderBy("n").collect()
    assert [(row.n, row.rules, row.scores) for row in rows if row.rules] == [(n, [2], [6.0]) for n in (1, 2, 4, 5)]
    assert "already exists" in str(run(folder, "out.parquet").exception)


def test_counts_and_rows_fit_into_csv_and_arrays_do_not(spark, folder):
    assert run(folder, "counts.csv", "--count", "--keep", "n", "--quiet").output == ""
    counts = spark.read.csv(str(folder / "counts.csv"), header=True, schema="n int, n_rules int")
    assert sorted(map(tuple, counts.collect())) == [(0, 0), (1, 2), (2, 1), (3, 0), (4, 2), (5, 1)]
    assert "6 matches" in run(folder, "rows.csv", "--explode").output
    assert "CSV has no arrays" in str(run(folder, "arrays.csv").exception)

"""`ruledex spark match` and `ruledex spark stream`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from ruledex import Index
from ruledex.cli.main import app
from ruledex.cli.spark import app as spark_app


@pytest.fixture
def folder(spark, tmp_path):
    Index.build([(1, "a = 1"), (2, "a >= 1", 5.0)]).save(tmp_path / "index")
    (tmp_path / "events.jsonl").write_text("".join(json.dumps({"n": n, "a": n % 3}) + "\n" for n in range(6)))
    return tmp_path


def run(folder, output, *options):
    return CliRunner().invoke(
        spark_app,
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


def add_events(folder, name, *numbers):
    (folder / "events").mkdir(exist_ok=True)
    lines = [json.dumps({"n": n, "a": 1}) + "\n" for n in numbers]
    (folder / "events" / f"{name}.json").write_text("".join(lines))


def run_stream(folder, *options):
    paths = [str(folder / name) for name in ("index", "events", "out.parquet")]
    return CliRunner().invoke(app, ["spark", "stream", *paths, "--checkpoint", str(folder / "state"), *options])


def test_a_stream_goes_on_where_it_ended_and_says_what_it_did(spark, tmp_path):
    first = Index.build([(1, "a = 1")]).save(tmp_path / "index")
    add_events(tmp_path, "1", 1, 2)
    done = run_stream(tmp_path, "--once", "--keep", "n")
    assert done.exit_code == 0, done.output
    assert "micro-batch 0: 2 events" in done.output
    assert f"2 matches, version {first[:12]}" in done.output
    second = Index.build([(2, "a = 1")]).save(tmp_path / "index")
    add_events(tmp_path, "2", 3)
    done = run_stream(tmp_path, "--seconds", "8", "--keep", "n")
    assert done.exit_code == 0, done.output
    rows = spark.read.parquet(str(tmp_path / "out.parquet")).orderBy("n").collect()
    assert [(row.n, row.rules, row.version) for row in rows] == [(1, [1], first), (2, [1], first), (3, [2], second)]


def test_arrays_do_not_fit_into_csv(tmp_path):
    paths = [str(tmp_path / name) for name in ("index", "events", "out.csv")]
    refused = CliRunner().invoke(app, ["spark", "stream", *paths, "--checkpoint", str(tmp_path / "state")])
    assert refused.exit_code == 2
    assert "CSV has no arrays" in refused.output

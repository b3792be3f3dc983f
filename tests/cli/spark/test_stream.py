"""`ruledex spark stream`."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from ruledex import Index
from ruledex.cli.main import app


def add_events(folder, name, *numbers):
    (folder / "events").mkdir(exist_ok=True)
    lines = [json.dumps({"n": n, "a": 1}) + "\n" for n in numbers]
    (folder / "events" / f"{name}.json").write_text("".join(lines))


def run(folder, *options):
    paths = [str(folder / name) for name in ("index", "events", "out.parquet")]
    return CliRunner().invoke(app, ["spark", "stream", *paths, "--checkpoint", str(folder / "state"), *options])


def test_a_stream_goes_on_where_it_ended_and_says_what_it_did(spark, tmp_path):
    first = Index.build([(1, "a = 1")]).save(tmp_path / "index")
    add_events(tmp_path, "1", 1, 2)
    done = run(tmp_path, "--once", "--keep", "n")
    assert done.exit_code == 0, done.output
    assert "micro-batch 0: 2 events" in done.output
    assert f"2 matches, version {first[:12]}" in done.output
    second = Index.build([(2, "a = 1")]).save(tmp_path / "index")
    add_events(tmp_path, "2", 3)
    done = run(tmp_path, "--seconds", "8", "--keep", "n")
    assert done.exit_code == 0, done.output
    rows = spark.read.parquet(str(tmp_path / "out.parquet")).orderBy("n").collect()
    assert [(row.n, row.rules, row.version) for row in rows] == [(1, [1], first), (2, [1], first), (3, [2], second)]


def test_arrays_do_not_fit_into_csv(tmp_path):
    paths = [str(tmp_path / name) for name in ("index", "events", "out.csv")]
    refused = CliRunner().invoke(app, ["spark", "stream", *paths, "--checkpoint", str(tmp_path / "state")])
    assert refused.exit_code == 2
    assert "CSV has no arrays" in refused.output

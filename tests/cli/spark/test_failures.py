"""Errors of Spark in a line: those of workers in our own words, others without their stacks."""

from __future__ import annotations

import re

import pytest

from ruledex import Index
from ruledex.cli.spark.session import describe_failure
from tests.cli.samples import run

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "matching.py", line 36, in answers
    raise EventError("x")
{error}
 SQLSTATE: 38000
"""
MORE = " (--conf spark.log.level=ERROR shows more)"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (WORKER.format(error="ruledex.errors.EventError: the weight of a is -1"), "the weight of a is -1"),
        (WORKER.format(error="ZeroDivisionError: division by zero"), f"ZeroDivisionError: division by zero{MORE}"),
        ("[PATH_NOT_FOUND] Path does not exist: x\n\tat scala.X", "[PATH_NOT_FOUND] Path does not exist: x"),
        (
            "An error occurred while calling o1.load.\n: org.apache.spark.SparkException: [FAILED_READ] No.\n\tat X",
            "[FAILED_READ] No.",
        ),
        (
            "An error occurred while calling o1.collect.\n: org.apache.spark.SparkException: Job aborted due to stage "
            "failure: Task 1 in stage 1.0 failed 1 times, most recent failure: Lost task 1.0 in stage 1.0 (TID 2) "
            "(localhost executor driver): java.lang.OutOfMemoryError: Java heap space\n\tat X",
            f"java.lang.OutOfMemoryError: Java heap space{MORE}",
        ),
        ("", f"Exception{MORE}"),
    ],
)
def test_what_is_told_of_an_error(text, line):
    assert describe_failure(Exception(text)) == line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failures")
    Index.build([(1, "a = 1")]).save(folder / "index")
    (folder / "rules.jsonl").write_text('{"id": 1, "expr": "a = 1"}\n')
    (folder / "events.jsonl").write_text('{"a": 1, "w": {"a": -1}}\n')
    (folder / "half.jsonl").write_text('{"a": 1}\nno JSON\n')
    (folder / "broken.parquet").write_text("no Parquet")
    (folder / "events.txt").write_text("a\n")
    (folder / "there.parquet").mkdir()
    return folder


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("build @rules.jsonl -o @events.txt", "events.txt is a file; an index is a folder"),
        ("build @rules.jsonl -o @new --quarantine @there.parquet", "there.parquet: it already exists; --overwrite"),
        ("match @nowhere @events.jsonl @out.parquet", "no index is published at .*nowhere"),
        ("match @events.jsonl @events.jsonl @out.parquet", "no index is published at .*events.jsonl"),
        ("match @index @broken.parquet @out.parquet", "error while reading file .*broken.parquet"),
        ("match @index @events.txt @out.parquet", "events.txt: the name of a file must end in .parquet"),
        ("match @index @half.jsonl @out.parquet", "half.jsonl: it has lines that are not JSON"),
        ("match @index @events.jsonl @out.parquet --top 1 --weights w", "the weight of a is -1"),
        ("match @index @events.jsonl @there.parquet", "there.parquet: it already exists; --overwrite"),
        ("match @index @events.jsonl @events.txt/out.parquet", "not a directory"),
        ("coverage @index @events.jsonl -o @there.parquet", "there.parquet: it already exists"),
        ("backtest @index @index @events.jsonl -o @there.parquet", "there.parquet: it already exists"),
        ("profile @events.jsonl -o @events.txt/out.json", "events.txt/out.json: "),
        ("ratify @index @events.jsonl -o @nowhere/out.json", "nowhere/out.json: No such file or directory"),
        ("stream @index no_table @out.parquet --checkpoint @state", "TABLE_OR_VIEW_NOT_FOUND"),
        (
            "stream @index @events.jsonl @out.parquet --checkpoint @state",
            "events.jsonl: this is a file; a stream",
        ),
        ("stream @index @there.parquet @out.parquet --checkpoint @state", "Unable to infer schema"),
    ],
)
@pytest.mark.usefixtures("spark")
def test_what_cannot_be_done_is_one_line_and_a_status(folder, command, message):
    result = run("spark", *command.replace("@", f"{folder}/").split())
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert re.search(message, line), line
    assert not (folder / "new").exists()

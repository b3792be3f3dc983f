"""`ruledex match`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex.cli.match import write_results
from ruledex.errors import InputError
from ruledex.index import Index
from tests.cli.samples import json_lines, run
from tests.index.samples import EVENTS, PLAIN, expected

WANTED = [{"event": i, "rules": expected(PLAIN, event)} for i, event in enumerate(EVENTS, 1)]


def test_each_event_is_a_line_with_its_rules(indexed):
    result = run("match", indexed / "index", indexed / "events.jsonl")
    assert (result.exit_code, json_lines(result.stdout)) == (0, WANTED)
    assert "5 events" in result.stderr


def test_events_come_from_standard_input(indexed):
    result = run("match", indexed / "index", "-", "--quiet", text=(indexed / "events.jsonl").read_text())
    assert (json_lines(result.stdout), result.stderr) == (WANTED, "")


def test_counts_alone(indexed):
    result = run("match", indexed / "index", indexed / "events.jsonl", "--count")
    counts = [{"event": row["event"], "count": len(row["rules"])} for row in WANTED]
    assert json_lines(result.stdout) == counts


@pytest.mark.parametrize("engine", ["scan", "sparse"])
def test_the_best_k(indexed, engine):
    arguments = ("--top", 2, "--rank", "sum", "--engine", engine)
    result = run("match", indexed / "index", indexed / "events.jsonl", *arguments)
    index = Index.open(indexed / "index")
    for row, event in zip(json_lines(result.stdout), EVENTS, strict=True):
        assert list(zip(row["rules"], row["scores"], strict=True)) == index.top(event, 2)


def test_the_best_k_of_rules_that_need_not_be_true(indexed):
    result = run("match", indexed / "index", indexed / "events.jsonl", "--top", 3, "--mode", "relaxed")
    index = Index.open(indexed / "index")
    answers = json_lines(result.stdout)
    for row, event in zip(answers, EVENTS, strict=True):
        assert list(zip(row["rules"], row["scores"], strict=True)) == index.top(event, 3, mode="relaxed")
    assert [row["rules"] for row in answers] != [[rule for rule, _ in index.top(event, 3)] for event in EVENTS]


def test_relaxed_matching_needs_a_number_of_rules(indexed):
    result = run("match", indexed / "index", indexed / "events.jsonl", "--mode", "relaxed")
    assert result.exit_code == 2
    assert "--mode relaxed needs --top" in result.stderr


def test_results_go_to_files(indexed, tmp_path):
    for name in ("out.jsonl", "out.parquet"):
        result = run("match", indexed / "index", indexed / "events.jsonl", "-o", tmp_path / name)
        assert (result.exit_code, result.stdout) == (0, "")
    assert json_lines((tmp_path / "out.jsonl").read_text()) == WANTED
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == WANTED


def test_a_file_without_events_gives_a_table_without_rows(indexed, tmp_path):
    (tmp_path / "none.jsonl").write_text("")
    run("match", indexed / "index", tmp_path / "none.jsonl", "--top", 3, "-o", tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert (table.num_rows, table.column_names) == (0, ["event", "rules", "scores"])


def test_parquet_and_csv_answer_as_json_does(indexed, tmp_path):
    rows = [{"country": "IN", "age": 20, "device": {"os": "ios"}, "app": "4.9"}, {"country": "FR", "age": 70}]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "e.parquet")
    (tmp_path / "e.csv").write_text("country,age,device.os,app,unused\nIN,20,ios,4.9,7\nFR,70\n")
    wanted = [row["rules"] for row in json_lines(run("match", indexed / "index", tmp_path / "e.jsonl").stdout)]
    for name in ("e.parquet", "e.csv"):
        result = run("match", indexed / "index", tmp_path / name)
        assert [row["rules"] for row in json_lines(result.stdout)] == wanted


def test_many_events_in_growing_batches_keep_their_order(indexed, tmp_path):
    lines = (indexed / "events.jsonl").read_text()
    (tmp_path / "many.jsonl").write_text(lines * 300)
    rows = json_lines(run("match", indexed / "index", tmp_path / "many.jsonl").stdout)
    assert [row["event"] for row in rows] == list(range(1, 1501))
    assert [row["rules"] for row in rows] == [row["rules"] for row in WANTED] * 300


def test_lines_that_are_no_events_are_told_and_the_others_answered(indexed):
    result = run("match", indexed / "index", "-", text='{"age": 70}\nnope\n[1]\n\n{"age": 71}\n')
    assert result.exit_code == 1
    assert [row["event"] for row in json_lines(result.stdout)] == [1, 5]
    assert "line 2 is not JSON" in result.stderr
    assert "line 3 is not a JSON object" in result.stderr


def test_an_answer_does_not_wait_for_the_next_event(indexed):
    command = [sys.executable, "-c", "from ruledex.cli.main import main; main()", "match", str(indexed / "index"), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in (1, 2, 3):
            process.stdin.write(b'{"country": "IN", "age": 20}\n')
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["event"] == number
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_what_cannot_be_used_is_one_line(indexed, tmp_path):
    for arguments in (
        (tmp_path / "nothing", indexed / "events.jsonl"),
        (indexed / "index", tmp_path / "nothing.jsonl"),
        (indexed / "index", tmp_path / "nothing.parquet"),
        (indexed / "index", indexed / "events.doc"),
        (indexed / "index", indexed / "events.jsonl", "-o", tmp_path / "out.doc"),
        (indexed / "index", indexed / "events.jsonl", "-o", tmp_path / "no" / "out.jsonl"),
        (indexed / "index", indexed / "events.jsonl", "--engine", "steam"),
        (indexed / "index", indexed / "events.jsonl", "--top", 1, "--count"),
    ):
        result = run("match", *arguments)
        assert result.exit_code == 2
        assert "Traceback" not in result.stderr
        assert result.stderr.strip()


@pytest.mark.parametrize("options", [(), ("--count",), ("--top", 2)], ids=["rules", "count", "top"])
def test_an_event_that_nests_too_deep_is_told_and_the_others_are_answered(tmp_path, options):
    Index.build([(1, "x.y = 1"), (2, "x = 2")]).save(tmp_path / "index")
    deep = "[" * 500 + "]" * 500
    lines = ['{"x": {"y": 1}}', f'{{"x": {deep}}}', '{"x": 2}', "nothing", f'{{"x": {deep}, "y": 1}}', '{"x": 2}']
    (tmp_path / "events.jsonl").write_text("\n".join(lines))
    result = run("match", tmp_path / "index", tmp_path / "events.jsonl", *options)
    assert result.exit_code == 1
    assert [row["event"] for row in json_lines(result.stdout)] == [1, 3, 6]
    assert "line 2: lists nest deeper than the limit event_depth of 100" in result.stderr
    assert "line 5: lists nest deeper" in result.stderr
    assert "3 lines that are not events" in result.stderr


def columns(rules, kind):
    return pa.RecordBatch.from_pydict({"rules": pa.array(rules, pa.large_list(kind))})


@pytest.mark.parametrize(
    ("kind", "ids"), [(pa.int64(), [[1, 2], [], [3]]), (pa.large_string(), [["é"], [], ["b", "c"]])]
)
@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_batches_are_written_one_after_the_other(tmp_path, name, kind, ids):
    with write_results(str(tmp_path / name), columns([], kind)) as write:
        write([1, 2], columns(ids[:2], kind))
        write([5], columns(ids[2:], kind))
    if name.endswith("parquet"):
        found = pq.read_table(tmp_path / name).to_pylist()
    else:
        found = [json.loads(line) for line in (tmp_path / name).read_text("utf-8").splitlines()]
    assert found == [{"event": event, "rules": rules} for event, rules in zip([1, 2, 5], ids, strict=True)]


def test_lines_are_in_a_pipe_while_work_goes_on(tmp_path):
    os.mkfifo(tmp_path / "out.jsonl")
    reader = os.open(tmp_path / "out.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    with write_results(str(tmp_path / "out.jsonl"), columns([], pa.int64())) as write:
        write([1], columns([[7]], pa.int64()))
        assert os.read(reader, 1000) == b'{"event":1,"rules":[7]}\n'
    os.close(reader)


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_file_appears_when_all_is_written(tmp_path, name):
    with write_results(str(tmp_path / name), columns([], pa.int64())) as write:
        write([1], columns([[7]], pa.int64()))
        assert not (tmp_path / name).exists()
    assert (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["out.doc", "out", "missing/out.jsonl", "missing/out.parquet"])
def test_a_place_that_cannot_be_written_is_one_error(tmp_path, name):
    with pytest.raises(InputError, match=name), write_results(str(tmp_path / name), columns([], pa.int64())):
        pass


def test_a_filter_over_tags(tmp_path):
    (tmp_path / "rules.jsonl").write_text(
        '{"id": 1, "expr": "a = 1", "score": 2, "tags": {"tenant": "x"}}\n{"id": 2, "expr": "a = 1", "score": 3}\n'
    )
    (tmp_path / "events.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    assert run("build", tmp_path / "rules.jsonl", "-o", tmp_path / "index").exit_code == 0

    def asked(*arguments):
        result = run("match", tmp_path / "index", tmp_path / "events.jsonl", "--where", "tenant = 'x'", *arguments)
        return [{name: row[name] for name in row if name != "event"} for row in json_lines(result.stdout)]

    assert asked() == [{"rules": [1]}, {"rules": []}]
    assert asked("--top", 1)[0] == {"rules": [1], "scores": [3.0]}
    assert asked("--count") == [{"count": 1}, {"count": 0}]
    refused = run("match", tmp_path / "index", tmp_path / "events.jsonl", "--where", "tenant =")
    assert refused.exit_code == 2
    assert "the rule ends here" in refused.stderr


def test_the_time_of_the_call(tmp_path):
    (tmp_path / "rules.jsonl").write_text('{"id": 1, "expr": "at > now() - INTERVAL 1 DAY"}\n')
    (tmp_path / "events.jsonl").write_text('{"at": "2024-01-01"}\n{"at": "2024-01-05"}\n')
    assert run("build", tmp_path / "rules.jsonl", "-o", tmp_path / "index").exit_code == 0
    given = ("--now", "2024-01-03T00:00:00Z")
    found = run("match", tmp_path / "index", tmp_path / "events.jsonl", *given)
    assert [row["rules"] for row in json_lines(found.stdout)] == [[], [1]]
    assert run("explain", tmp_path / "index", 1, '{"at": "2024-01-05"}', *given).exit_code == 0
    assert run("explain", tmp_path / "index", 1, '{"at": "2024-01-05"}').exit_code == 1
    evaluated = run("evaluate", tmp_path / "rules.jsonl", tmp_path / "events.jsonl", "--json", *given)
    assert [row["true"] for row in json_lines(evaluated.stdout)] == [[], ["1"]]
    refused = run("match", tmp_path / "index", tmp_path / "events.jsonl", "--now", "soon")
    assert refused.exit_code == 2
    assert "now is a time such as" in refused.stderr

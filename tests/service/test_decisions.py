"""The decision log: what is logged of which event, files that rotate, and what happens if they cannot be written."""

from __future__ import annotations

import io
import json
import os
import signal
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.service.decision_files import SCHEMA, DecisionFiles
from ruledex.service.decisions import DecisionLog, RequestDecisions, id_text, value_at
from ruledex.service.settings import Settings
from tests.service.counting import CountedMetrics
from tests.service.serving import ARROW, NDJSON, Service


def settings(folder, **given):
    return Settings(root="", decisions=str(folder), **{f"decisions_{name}": value for name, value in given.items()})


def rows_in(folder):
    """Return all rows of complete files."""
    found = []
    for path in sorted(Path(folder).glob("*/[!.]*")):
        if path.suffix == ".parquet":
            found += pq.read_table(path).to_pylist()
        else:
            found += [json.loads(line) for line in path.read_bytes().splitlines()]
    return found


# Files.


def test_files_rotate_by_size_and_age_and_show_when_they_are_complete(tmp_path):
    now = [1_000_000.0]
    files = DecisionFiles(settings(tmp_path, file_bytes=20, file_seconds=60), 3, lambda: now[0])
    files.write("ads", [b'{"a": 1}\n'])
    assert list(tmp_path.glob("ads/[!.]*")) == []
    files.write("ads", [b'{"a": 2}\n', b'{"a": 3}\n'])
    (complete,) = tmp_path.glob("ads/[!.]*")
    assert complete.name == f"19700112T134640-w3-{os.getpid()}-0001.jsonl"
    files.write("ads", [b'{"a": 4}\n'])
    now[0] += 59
    files.finish_old()
    assert len(list(tmp_path.glob("ads/[!.]*"))) == 1
    now[0] += 1
    files.finish_old()
    assert len(list(tmp_path.glob("ads/[!.]*"))) == 2
    files.write("words", [b'{"a": 5}\n'])
    files.close()
    assert [row["a"] for row in rows_in(tmp_path)] == [1, 2, 3, 4, 5]
    assert list(tmp_path.glob("*/.*")) == []


def test_the_oldest_complete_files_are_removed_if_asked(tmp_path):
    files = DecisionFiles(settings(tmp_path, file_bytes=1, keep=2), 0)
    for number in range(5):
        files.write("ads", [b'{"a": %d}\n' % number])
    assert [row["a"] for row in rows_in(tmp_path)] == [3, 4]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_files_of_a_killed_worker_are_finished_up_to_the_last_whole_line(tmp_path, form):
    given = settings(tmp_path, format=form)
    living = DecisionFiles(given, 0)
    living.write("ads", [b'{"event_id": "1"}\n'])
    (spool,) = tmp_path.glob("ads/.*")
    (tmp_path / "ads" / f".20200101T000000-w1-1-0001.{form}.spool").write_bytes(b'{"event_id": "2"}\n{"event_')
    (tmp_path / "ads" / f".20200101T000000-w1-1-0002.{form}.spool").write_bytes(b'{"event_')
    assert DecisionFiles(given, 1).recover() == 2
    assert [row["event_id"] for row in rows_in(tmp_path)] == ["2"]
    assert list(tmp_path.glob("ads/.*")) == [spool]
    living.close()
    assert [row["event_id"] for row in rows_in(tmp_path)] == ["2", "1"]


def test_a_file_that_cannot_become_parquet_stays_as_lines(tmp_path, capfd):
    files = DecisionFiles(settings(tmp_path, format="parquet"), 0)
    files.write("ads", [b'{"event_id": {"not": "a text"}}\n'])
    files.close()
    assert [path.suffix for path in tmp_path.glob("ads/[!.]*")] == [".jsonl"]
    assert "decisions not converted" in capfd.readouterr().err


# Decisions.


def test_ids_are_found_by_a_path():
    event = {"a.b": 1, "c": {"d": {"e": "x"}}, "f": [1]}
    assert [value_at(event, path) for path in ("a.b", "c.d.e", "c.x", "f.g", "none")] == [1, "x", None, None, None]
    assert [id_text(value) for value in (7, "x", "", None, True, 1.5, [1])] == [
        "7",
        "x",
        None,
        None,
        "true",
        "1.5",
        "[1]",
    ]


def logged(tmp_path, act, **given):
    """Return the rows that `act` logs, and the numbers of those written and dropped."""
    metrics = CountedMetrics()
    log = DecisionLog(settings(tmp_path, **given), 0, metrics)
    act(log)
    log.close()
    return rows_in(tmp_path), metrics.decisions.n, metrics.dropped_decisions.n


@pytest.fixture(scope="module")
def index():
    return Index.build([(1, "a = 1"), (2, "a > 0"), (3, "a > 5")])


def test_what_is_logged_is_bounded(tmp_path, index):
    def act(log):
        asked = RequestDecisions(log, "r1", "ads", "match")
        asked.add_one(index, {"a": 9}, b'{"a": 9}', 3, [1, 2, 3])
        asked.add_one(index, {"a": 9, "x": "y"}, b'{"a": 9, "x": "' + b"y" * 50 + b'"}', 3, [1, 2, 3])

    rows, n_written, n_dropped = logged(tmp_path, act, rules=2, events=True, event_bytes=20)
    assert (n_written, n_dropped) == (2, 0)
    assert [(row["rules"], row["matched"], row.get("event")) for row in rows] == [
        (["1", "2"], 3, {"a": 9}),
        (["1", "2"], 3, None),
    ]
    assert datetime.fromisoformat(rows[0]["time"]).tzinfo is not None


def test_a_full_queue_drops_and_counts(tmp_path, index):
    def act(log):
        with log._lock:  # the thread writes nothing meanwhile
            taken = [log._add(decision) for decision in [decision_of(log, index, number) for number in range(10)]]
        assert taken == [True] * 4 + [False] * 6
        log.put([decision_of(log, index, number) for number in range(1_000)])

    rows, n_written, n_dropped = logged(tmp_path, act, queue=4)
    assert n_written == len(rows)
    assert n_written + n_dropped == 1_004
    assert n_dropped > 0


def decision_of(log, index, number):
    return RequestDecisions(log, f"r{number}", "ads", "match")._decision(index, str(number), 1, [1], b"{}")


def test_ids_decide_which_events_are_logged(tmp_path, index):
    kept = []
    for folder, rate in (("a", 0.1), ("b", 0.1), ("c", 0.3), ("d", 0.0)):

        def act(log):
            events = [{"id": number} for number in range(2_000)]
            lines = [json.dumps(event).encode() for event in events]
            asked = RequestDecisions(log, "r1", "ads", "count")
            asked.add_lines(index, events, lines, [0] * 2_000, lambda _number, _most: None)

        rows, _, _ = logged(tmp_path / folder, act, sample=rate, event_id="id")
        kept.append({row["event_id"] for row in rows})
    assert kept[0] == kept[1]
    assert kept[0] < kept[2]
    assert kept[3] == set()
    assert 140 < len(kept[0]) < 260


def test_a_folder_that_cannot_be_written_is_counted_and_told_once(tmp_path, index, capfd):
    (tmp_path / "ads").write_text("a file where a folder should be")
    metrics = CountedMetrics()
    log = DecisionLog(settings(tmp_path), 0, metrics)
    for number in range(3):
        log.put([decision_of(log, index, number)])
    log.close()
    assert (metrics.decisions.n, metrics.dropped_decisions.n) == (0, 3)
    assert capfd.readouterr().err.count("decisions not written") == 1


def test_settings_that_contradict_each_other_are_refused():
    with pytest.raises(RuledexError, match="from 0 to 1"):
        Settings(root="", decisions_sample=2.0).check()
    with pytest.raises(RuledexError, match="masked"):
        Settings(root="", mask=("User",), decisions_event_id="user.id").check()
    with pytest.raises(RuledexError, match="masked"):
        Settings(root="", mask=("user.card",), decisions_event_id="User").check()


# The service.


@pytest.fixture(scope="module", params=["jsonl", "parquet"])
def logged_service(request, tmp_path_factory):
    """Return the rows that a service has logged, by index, after all kinds of questions and the death of a worker."""
    folder = tmp_path_factory.mktemp("service")
    Index.build([(1, "a = 1"), (2, "a > 0"), (3, "a > 5")]).save(folder / "root" / "ads")
    Index.build([("x", "lang = 'de'")]).save(folder / "root" / "words")
    options = ["--decisions", "log", "--decisions-format", request.param, "--decisions-event-id", "id"]
    before = Path.cwd()
    os.chdir(folder)  # a relative folder is that of the command
    try:
        service = Service(folder / "root", "--workers", "2", *options, "--decisions-events", "--mask", "who")
    finally:
        os.chdir(before)
    client = service.client()
    asked = []

    def ask(path, body, **headers):
        answer = client.ask("POST", f"/v1/indexes/{path}", body, **headers)
        assert answer.status == 200, answer.data
        asked.append(answer)

    ask("ads/match", {"id": "e1", "a": 1, "who": "me"})
    ask("ads/match", {"a": 9, "price": 1.5}, x_request_id="mine-1")
    assert client.put("ads", 4, "a = 9").status == 201
    ask("ads/match?limit=1", {"id": 3, "a": 9})
    ask("ads/top?k=1", {"id": "e4", "a": 9})
    ask("ads/count", {"id": "e5", "a": 9})
    ask("ads/explain?rule=1", {"id": "e6", "a": 9})
    ask("words/match", {"id": "w1", "lang": "de"})
    lines = b'{"id": "l1", "a": 1}\nnot JSON\n{"a": 7}\n'
    ask("ads/match", lines, content_type=NDJSON, x_request_id="lines-1")
    table, sink = pa.record_batch({"id": ["b1", "b2"], "a": [1, 0], "who": ["x", "y"]}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_batch(table)
    for kind in ("match", "count"):
        ask(f"ads/{kind}", sink.getvalue(), content_type=ARROW)
    page = client.ask("GET", "/metrics").data.decode()
    client.close()
    service.wait_for(lambda: sum(path.read_bytes().count(b"\n") for path in (folder / "log").glob("*/.*")) == 12)
    killed = service.pids("worker 0")[0]
    os.kill(killed, signal.SIGKILL)
    service.wait_for(lambda: killed not in service.pids("worker"))
    service.wait_for(lambda: len(service.pids("worker")) == 2)
    assert service.stop() == 0
    assert "ruledex_decisions_dropped" in page
    names = [path.suffix for path in (folder / "log").glob("*/*")]
    assert set(names) == {f".{request.param}"}
    return folder / "log", request.param, asked


@pytest.mark.slow
def test_every_decision_of_a_service_is_logged(logged_service):
    folder, form, asked = logged_service
    rows = {(row["event_id"], row["operation"]): row for row in rows_in(folder)}
    assert len(rows) == len(rows_in(folder)) == 12

    def said(event_id, operation="match"):
        row = rows[event_id, operation]
        event = json.loads(row["event"]) if form == "parquet" else row["event"]
        return row["rules"], row["matched"], event

    assert said("e1") == (["1", "2"], 2, {"id": "e1", "a": 1, "who": None})
    assert said("mine-1") == (["2", "3"], 2, {"a": 9, "price": 1.5})
    assert said("3") == (["2", "3", "4"], 3, {"id": 3, "a": 9})
    assert said("e4", "top") == (["2"], None, {"id": "e4", "a": 9})
    assert said("e5", "count") == (None, 3, {"id": "e5", "a": 9})
    assert said("w1") == (["x"], 1, {"id": "w1", "lang": "de"})
    assert said("l1") == (["1", "2"], 2, {"id": "l1", "a": 1})
    assert said("lines-1-2") == (["2", "3"], 2, {"a": 7})
    assert said("b1") == (["1", "2"], 2, {"id": "b1", "a": 1, "who": None})
    assert said("b2", "count") == (None, 0, {"id": "b2", "a": 0, "who": None})
    assert {row["request"] for key, row in rows.items() if key[0] in ("l1", "lines-1-2")} == {"lines-1"}
    assert rows["e1", "match"]["request"] == asked[0].headers["x-request-id"]
    assert rows["e1", "match"]["version"] == asked[0].value["version"]
    assert (rows["e1", "match"]["changes"], rows["3", "match"]["changes"]) == (0, 1)
    assert {row["index"] for row in rows.values()} == {"ads", "words"}
    assert json.loads(rows["e4", "top"]["parameters"])["k"] == "1"
    assert rows["e1", "match"]["parameters"] == "{}"


@pytest.mark.slow
def test_parquet_has_the_same_types_in_all_files(logged_service):
    folder, form, _ = logged_service
    if form == "parquet":
        for path in folder.glob("*/*.parquet"):
            assert pq.read_schema(path).equals(SCHEMA)

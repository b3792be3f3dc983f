"""Recent events: those that were asked about, those of a file, and what is hidden in them."""

from __future__ import annotations

import io
import json
import time
from decimal import Decimal

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.service.masking import event_text, mask_event, row_texts
from ruledex.service.recent import EventSample, RecentEvent, RecentEvents
from ruledex.service.settings import Settings
from tests.service.serving import ARROW, NDJSON, Service


def test_masked_fields_are_null_and_all_else_is_as_written():
    event = b'{"User": {"e.mail": "x", "age": 1.500}, "tags": [{"k": 1, "v": 2}, {"k": 3}, 7], '
    event += b'"big": 12345678901234567890123}'
    masked = mask_event(event, ["user.e.mail", "tags.k", "absent.field", "big.below"])
    assert b'"age":1.500' in masked
    assert b"12345678901234567890123" in masked
    assert json.loads(masked) | {"big": 0} == {
        "User": {"e.mail": None, "age": 1.5},
        "tags": [{"k": None, "v": 2}, {"k": None}, 7],
        "big": 0,
    }
    assert json.loads(mask_event(event, ["user", "TAGS", "big"])) == {"User": None, "tags": None, "big": None}
    assert mask_event(event, []) is event
    assert json.loads(mask_event(b'{"a.b": 1, "a": {"b": 2, "c": 3}}', ["a.b"])) == {
        "a.b": None,
        "a": {"b": None, "c": 3},
    }


def test_events_of_other_formats_become_json():
    event = {"at": pa.scalar(0, pa.timestamp("us", "UTC")).as_py(), "price": Decimal("1.10"), "raw": b"\xff", "n": None}
    assert event_text(event) == b'{"at":"1970-01-01T00:00:00+00:00","price":1.10,"raw":"\xef\xbf\xbd","n":null}'


def settings(**given):
    return Settings(root="", **given)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2**40], pa.int64()).cast(pa.timestamp("s")),
        pa.array([1, 10**7], pa.int32()).cast(pa.date32()),
        pa.array([1, 2**62], pa.int64()).cast(pa.duration("s")),
    ],
    ids=["timestamp", "date", "duration"],
)
def test_rows_that_python_cannot_hold_are_left_out(column):
    batch = pa.record_batch({"age": pa.array([30, 31]), "t": column})
    first, second = row_texts(batch)
    assert first is not None
    assert json.loads(first)["age"] == 30
    assert second is None
    assert row_texts(pa.record_batch({"t": pa.array([1], pa.timestamp("us", "Foo/Bar"))})) == [None]


def test_a_worker_keeps_few_and_short_events():
    sample = EventSample(settings(recent_event_bytes=20, mask=("b",)))
    sample.add("ads", b'{"a": 1, "b": 2}', 3)
    sample.add("ads", b'{"a": "' + b"x" * 30 + b'"}', 3)
    for number in range(1_000):
        sample.add("words", b'{"n": %d}' % number, None)
    assert sample.room("words") == 0
    taken = sample.take()
    assert [(event.text, event.matched) for event in taken["ads"]] == [('{"a":1,"b":null}', 3)]
    assert len(taken["words"]) == 100
    assert sample.take() == {}


def test_nothing_is_kept_if_recent_events_are_off():
    sample = EventSample(settings(recent_events=0))
    sample.add("ads", b"{}", 3)
    sample.add_rows("ads", pa.record_batch({"a": [1, 2]}), [1, 1])
    assert sample.room("ads") == 0
    assert sample.take() == {}


def test_the_oldest_events_go_first_and_bytes_are_bounded(tmp_path):
    kept = RecentEvents(settings(recent_events=3))
    kept.add("ads", [RecentEvent(f'{{"a": {number}}}', float(number), number) for number in range(5)])
    newest, n_kept = kept.newest("ads", 2)
    assert ([event.event for event in newest], n_kept) == ([{"a": 4}, {"a": 3}], 3)
    assert kept.newest("words", 2) == ([], 0)
    bounded = RecentEvents(settings(recent_events=1_000, recent_bytes=5_000))
    for index in ("ads", "words"):
        for number in range(100):
            bounded.add(index, [RecentEvent(json.dumps({"a": "x" * 90}), float(number))])
    texts = [event.text for index in ("ads", "words") for event in bounded.newest(index, 1_000)[0]]
    assert 3_000 < sum(map(len, texts)) <= 5_000


def test_files_give_the_first_events(tmp_path):
    (tmp_path / "all.jsonl").write_text('{"a": 1.10, "b": 2}\nnot JSON\n{"a": 2}\n')
    (tmp_path / "words.csv").write_text("lang,n\nde,4\n")
    given = settings(events=(str(tmp_path / "all.jsonl"), f"words={tmp_path / 'words.csv'}"), mask=("b",)).check()
    kept = RecentEvents(given)
    assert [event.text for event in kept.newest("ads", 9)[0]] == ['{"a":1.10,"b":null}', '{"a":2}']
    assert [event.text for event in kept.newest("words", 9)[0]] == ['{"lang":"de","n":4}']
    with pytest.raises(RuledexError, match="no file of events"):
        settings(events=("ads=nowhere.jsonl",)).check()


def events_of(client, index, n_events):
    """Ask until as many events are there: workers send them after a while."""
    until = time.monotonic() + 30
    while True:
        page = client.ask("GET", f"/v1/indexes/{index}/events?limit=100").value
        if page["kept"] >= n_events or time.monotonic() > until:
            return page
        time.sleep(0.05)


@pytest.mark.slow
def test_all_workers_show_what_any_of_them_was_asked(client, service, own):
    for number in range(4):
        asked = service.client()  # connections of their own, so that both workers are asked
        asked.match(own, {"a": 1, "b": number})
        asked.close()
    lines = b'{"a": 1, "n": 1.10}\nno event\n{"a": 2}\n'
    client.ask("POST", f"/v1/indexes/{own}/count", lines, content_type=NDJSON)
    table, sink = pa.record_batch({"a": [1, 3]}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_batch(table)
    client.ask("POST", f"/v1/indexes/{own}/match", sink.getvalue(), content_type=ARROW)
    client.ask("POST", f"/v1/indexes/{own}/top", {"a": 1, "best": True})
    client.ask("POST", f"/v1/indexes/{own}/explain?rule=1", {"a": 1, "why": True})
    page = events_of(client, own, 9)
    found = [(json.dumps(row["event"]), row["matched"]) for row in page["events"]]
    expected = [(json.dumps({"a": 1, "b": number}), 2 if number == 2 else 1) for number in range(4)]
    expected += [('{"a": 1, "n": 1.1}', 1), ('{"a": 2}', 0), ('{"a": 1}', 1), ('{"a": 3}', 0)]
    expected += [('{"a": 1, "best": true}', None)]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert page["kept"] == 9
    times = [row["time"] for row in page["events"]]
    assert all(at.startswith("20") for at in times)
    first = client.ask("GET", f"/v1/indexes/{own}/events?limit=1").value
    assert (len(first["events"]), first["kept"]) == (1, 9)
    assert b"1.10" in client.ask("GET", f"/v1/indexes/{own}/events").data
    assert client.ask("GET", "/v1/indexes/none/events").code == "index"
    assert client.ask("GET", f"/v1/indexes/{own}/events?limit=many").code == "query"


@pytest.mark.slow
def test_recent_events_need_a_token_that_may_read(fragile, tokens):
    for token, status in ((tokens["editor"], 200), (tokens["reader"], 403), (None, 401)):
        asked = fragile.client(token)
        assert asked.ask("GET", "/v1/indexes/words/events").status == status
        asked.close()


@pytest.mark.slow
def test_serve_takes_a_file_of_events_and_masks(tmp_path):
    Index.build([(1, "a = 1")]).save(tmp_path / "root" / "ads")
    (tmp_path / "seeds.jsonl").write_text('{"a": 1, "who": "me"}\n')
    service = Service(
        tmp_path / "root", "--workers", "1", "--events", f"ads={tmp_path / 'seeds.jsonl'}", "--mask", "who"
    )
    try:
        client = service.client()
        client.match("ads", {"a": 1, "who": "you"})
        page = events_of(client, "ads", 2)
        assert [row["event"] for row in page["events"]] == [{"a": 1, "who": None}] * 2
        assert [row["matched"] for row in page["events"]] == [1, None]
        client.close()
    finally:
        service.stop()


def test_an_event_is_not_kept_if_its_sender_says_so(own, client):
    table = io.BytesIO()
    with pa.ipc.new_stream(table, pa.schema({"a": pa.int64()})) as writer:
        writer.write_batch(pa.record_batch({"a": [3]}))
    for kind in ("match", "top", "count"):
        path = f"/v1/indexes/{own}/{kind}?record=false"
        assert client.ask("POST", path, {"a": 1}).status == 200
        assert client.ask("POST", path, b'{"a": 2}\n', content_type=NDJSON).status == 200
        assert client.ask("POST", path, table.getvalue(), content_type=ARROW).status == 200
    assert client.ask("POST", f"/v1/indexes/{own}/match?record=true", {"a": 4}).status == 200
    assert [each["event"] for each in client.ask("GET", f"/v1/indexes/{own}/events").value["events"]] == [{"a": 4}]

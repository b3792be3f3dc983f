"""The clients of the service give what an `Index` gives, and say what the service says."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.client import AsyncRemoteIndex, AsyncService, RemoteIndex, Service, ServiceError, calls
from ruledex.errors import EventError, RuleError
from tests.service.conftest import RULES

EVENTS = [{"a": number % 7, "b": number % 4} for number in range(50)]


@pytest.fixture
def remote(service):
    with Service(f"http://127.0.0.1:{service.port}") as opened:
        yield opened


@pytest.fixture(scope="module")
def local():
    return Index.build(RULES)


def test_one_event_is_answered_as_an_index_answers(remote, local):
    ads = remote.index("ads")
    for event in EVENTS:
        assert ads.match(event) == local.match(event)
        assert ads.top(event, 3) == local.top(event, 3)
        assert ads.top(event, 2, "product", {"a": 2.0}) == local.top(event, 2, "product", {"a": 2.0})
    assert ads.explain(6, EVENTS[0])["truth"] == local.explain(6, EVENTS[0]).truth


@pytest.mark.parametrize("body_bytes", [1, 100, 1 << 20])
def test_many_events_are_answered_whatever_the_size_of_a_request(remote, local, monkeypatch, body_bytes):
    monkeypatch.setattr(calls, "_BODY_BYTES", body_bytes)
    ads, expected = remote.index("ads"), local.top_batch(EVENTS, 3)
    assert ads.match_batch(EVENTS) == [list(ids) for ids in local.match_batch(EVENTS)]
    assert [[rule for rule, _ in best] for best in ads.top_batch(iter(EVENTS), 3)] == [list(ids) for ids in expected]
    np.testing.assert_array_equal(ads.count(EVENTS), local.count(EVENTS))
    assert ads.match_batch([]) == []


@pytest.mark.parametrize("rows", [7, 8_192])
def test_arrow_tables_are_answered_by_tables(remote, local, monkeypatch, rows):
    monkeypatch.setattr(calls, "_TABLE_ROWS", rows)
    ads, table = remote.index("ads"), pa.Table.from_pylist(EVENTS)
    assert ads.match_batch(table)["rules"].to_pylist() == [list(ids) for ids in local.match_batch(table)]
    assert ads.top_batch(table, 2)["scores"].to_pylist() == [
        [rank for _, rank in local.top(event, 2)] for event in EVENTS
    ]
    np.testing.assert_array_equal(ads.count(table.to_batches()[0]), local.count(table))
    assert ads.match_batch(table.slice(0, 0)).num_rows == 0


def test_rules_are_changed_read_and_removed(remote, own):
    index = remote.index(own)
    assert index.add([(7, "a = 7", 2.5, {"team": "x"}), {"id": 8, "expr": "a = 8"}]) == 2
    assert index.rule(7) == (7, "a = 7", 2.5)
    assert index.rule(7).tags == {"team": "x"}
    assert index.match({"a": 7}, where="team = 'x'") == [7]
    index.set_score(8, 4)
    assert index.update([(7, "a = 70")]) == 1
    assert [(rule.id, rule.text, rule.static_score) for rule in index.rules()] == [
        (1, "a = 1", 0.0), (2, "a = 1 AND b = 2", 0.0), (7, "a = 70", 0.0), (8, "a = 8", 4.0),
    ]  # fmt: skip
    assert index.remove([7, 8]) == 2
    assert index.add([]) == 0
    assert index.define("grown", "age >= 18") == 0
    assert index.definitions() == {"grown": "age >= 18"}
    index.undefine("grown")
    first = index.versions()[0]
    second = index.build([(1, "a = 5")])
    assert set(index.versions()) >= {first, second}
    assert index.versions()[0] == second
    assert index.match({"a": 5}) == [1]
    index.roll_back(first)
    assert index.match({"a": 1, "b": 2}) == [1, 2]
    assert index.describe()["rules"] == 2
    assert own in remote.indexes()


def test_a_change_is_refused_if_somebody_else_was_first(remote, own):
    index = remote.index(own)
    seen, all_seen = index.etag(1), index.etag()
    assert index.put(1, "a = 1", 2.0, {"team": "x"}, if_match=seen).static_score == 2.0
    for change in (
        lambda: index.put(1, "a = 9", if_match=seen),
        lambda: index.set_score(1, 3.0, if_match=seen),
        lambda: index.add([(9, "a = 9")], if_match=all_seen),
        lambda: index.update([(1, "a = 9")], if_match=all_seen),
        lambda: index.remove([1], if_match=all_seen),
    ):
        with pytest.raises(ServiceError) as refused:
            change()
        assert refused.value.status == 412
    index.set_score(1, 3.0, if_match=index.etag(1))
    assert index.add([(9, "a = 9")], if_match=index.etag()) == 1
    assert [(rule.id, rule.static_score) for rule in index.rules()] == [(1, 3.0), (2, 0.0), (9, 0.0)]


def test_a_rule_is_explained_that_is_not_in_the_index(remote, local):
    ads = remote.index("ads")
    assert ads.explain_text("a = 1 AND b = 2", {"a": 1, "b": 3})["changes"][0]["words"] == "b is 3, needs 2"
    for event in EVENTS[:8]:
        assert (ads.why_not(event, 6) is None) == (local.why_not(event, 6) is None)
    with pytest.raises(ServiceError, match="line 1, column 5"):
        ads.explain_text("a = ", {})


def test_all_rules_are_read_page_by_page(remote, own, monkeypatch):
    monkeypatch.setattr(calls, "_PAGE", 3)
    index = remote.index(own)
    index.add([(number, f"a = {number}") for number in range(10, 20)])
    assert [rule.id for rule in index.rules()] == [1, 2, *range(10, 20)]


def test_rules_are_searched_tried_and_looked_at(remote, own, monkeypatch):
    monkeypatch.setattr(calls, "_PAGE", 2)
    index = remote.index(own)
    index.add([(number, f"kind = 'K{number}'", 1.0, {"team": "x", "n": number}) for number in range(10, 20)])
    assert [rule.id for rule in index.search("= 'k1")] == list(range(10, 20))
    assert [rule.id for rule in index.search("= 'k1", limit=3)] == [10, 11, 12]
    assert [rule.tags for rule in index.search(tags=["team", "n:12"], rule_id="1", attribute="kind")] == [
        {"team": "x", "n": 12}
    ]
    assert index.search(attribute="none") == []
    for _ in range(4):
        index.match({"a": 1, "kind": "K10"})
    assert [each["event"] for each in index.recent_events(2)] == [{"a": 1, "kind": "K10"}] * 2
    dry = index.dry_run_rule(1, "a = 2", 3.0, {"team": "y"})
    assert (dry["action"], dry["backtest"]["lost"], dry["rule"]["tags"]) == ("replaced", 4, {"team": "y"})
    assert index.dry_run_rule(1, None)["action"] == "removed"
    assert index.dry_run(add=[(30, "a = 1"), {"id": 31, "expr": "a = 3"}])["backtest"]["gained"] == 4
    assert index.dry_run(update=[(10, "a = 1")])["updated"] == 1
    assert index.dry_run(remove=[10, 11])["backtest"]["lost"] == 4
    with pytest.raises(ServiceError, match="line 1, column 5"):
        index.dry_run(add=[(30, "a = ")])
    assert len(index.rules()) == 12
    coverage = index.coverage()
    assert (coverage["events"], coverage["rules"], coverage["matches"]) == (4, 12, 8)


def test_errors_say_what_the_service_says(remote, own):
    index = remote.index(own)
    with pytest.raises(ServiceError, match=r"rule 9: line 1, column 5: ") as refused:
        index.add([(9, "a = ")])
    assert (refused.value.status, refused.value.code) == (422, "rules")
    with pytest.raises(ServiceError) as missing:
        index.rule(12345)
    assert (missing.value.status, missing.value.code) == (404, "rule")
    with pytest.raises(ServiceError, match="no such index"):
        remote.index("none").match({})
    with pytest.raises(ServiceError, match=r"events\[1\]: ") as bad_line:
        index.match_batch([{"a": 1}, "{"])
    assert bad_line.value.status == 400
    with pytest.raises(EventError, match="Decimal"):
        index.match({"a": Decimal("0.1")})
    assert remote.analyse("a = ", index=own)["error"]["place"]["column"] == 5


def test_the_async_client_answers_many_questions_at_once(service, local):
    async def ask():
        async with AsyncService(f"http://127.0.0.1:{service.port}") as opened:
            assert await opened.is_ready()
            assert "ads" in await opened.indexes()
            ads = opened.index("ads")
            assert await ads.match_batch(EVENTS) == [list(ids) for ids in local.match_batch(EVENTS)]
            with pytest.raises(ServiceError):
                await ads.rule(10**6)
            assert len(await ads.search("a = 1", limit=5)) == 5
            assert (await ads.coverage())["rules"] == len(RULES)
            assert (await ads.dry_run(remove=[1]))["removed"] == 1
            return list(await asyncio.gather(*(ads.match(event) for event in EVENTS)))

    assert asyncio.run(ask()) == [local.match(event) for event in EVENTS]


def test_both_clients_have_the_same_methods():
    for one, other in ((RemoteIndex, AsyncRemoteIndex), (Service, AsyncService)):
        names = {name for name in dir(one) if not name.startswith("_")}
        assert names == {name for name in dir(other) if not name.startswith("_")}
        for name in names - {"index", "close"}:
            assert (
                inspect.signature(getattr(one, name)).parameters == inspect.signature(getattr(other, name)).parameters
            )
            assert inspect.iscoroutinefunction(getattr(other, name)), name


def _answering_busy_twice(listener):
    """Answer two requests with 503, and the third with a match; one connection per request."""
    for status, body in ((503, b"{}"), (503, b"{}"), (200, b'{"rules": [3], "count": 1}')):
        head = f"HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(head.encode() + body)


def test_questions_are_asked_again_and_changes_are_not():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        answering = threading.Thread(target=_answering_busy_twice, args=(listener,))
        answering.start()
        with Service(address) as opened, pytest.raises(ServiceError) as refused:
            opened.index("x").remove([1])
        assert refused.value.status == 503
        with Service(address) as opened:
            assert opened.index("x").match({"a": 1}) == [3]
        answering.join()
    with Service(address, retries=0) as opened:
        assert not opened.is_ready()
        with pytest.raises(ServiceError, match="cannot be reached"):
            opened.index("x").match({"a": 1})


def test_tags_keep_their_types(remote, client, own):
    tags = {"until": date(2026, 12, 31), "at": [datetime(2026, 12, 31, 12, tzinfo=UTC)], "price": Decimal("9.90")}
    index = remote.index(own)
    index.add([(10, "a = 1", 0.0, tags), {"id": 11, "expr": "a = 1", "tags": {"until": "2026-12-31"}}])
    assert index.rule(10).tags == tags
    assert index.rule(11).tags == {"until": "2026-12-31"}
    assert [rule.tags for rule in index.rules() if rule.id == 10] == [tags]
    index.update([(10, "a = 1", 0.0, index.rule(10).tags)])
    assert index.rule(10).tags == tags
    assert index.match({"a": 1}, where="until >= DATE '2026-12-31' AND price > 1") == [10]
    assert index.dry_run_rule(10, "a = 1", 0.0, tags)["action"] == "unchanged"
    assert index.dry_run_rule(10, "a = 1", 0.0, tags | {"until": "2026-12-31"})["action"] == "replaced"
    index.build([(1, "a = 1", 0.0, tags)])
    assert index.rule(1).tags == tags
    with pytest.raises(RuleError, match="of the type bytes"):
        index.add([(12, "a = 1", 0.0, {"x": b"bytes"})])
    path = f"/v1/indexes/{own}/rules/1"
    assert client.ask("PUT", path, {"text": "a = 1", "tags": {"until": {"$date": "2026-12-31"}}}).status == 200
    shown = client.ask("GET", path).value
    assert shown["tags"]["until"] == {"$date": "2026-12-31"}
    again = client.ask("PUT", path, {"text": shown["text"], "tags": shown["tags"]})
    assert (again.status, again.value["action"]) == (200, "unchanged")
    wrong = client.ask("PUT", path, {"text": "a = 1", "tags": {"until": {"$date": "soon"}}})
    assert wrong.status == 422
    assert "$date 'soon'" in wrong.value["detail"]

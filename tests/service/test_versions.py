"""Builds, refusals, rollback, compaction and pinned versions over HTTP."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from ruledex import Index
from tests.service.serving import NDJSON


def versions_of(client, index):
    return client.ask("GET", f"/v1/indexes/{index}/versions").value


def test_an_upload_of_any_format_is_built_and_published(client, service):
    lines = b'{"id": 1, "expr": "a = 1"}\n{"id": 2, "expr": "a = 1 AND b = 2", "score": 3}\n'
    parquet = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2], "expr": ["a = 1", "a = 1 AND b = 2"]}), parquet)
    for number, (content_type, data) in enumerate([
        (NDJSON, lines),
        ("text/csv", b'id,expr\n1,a = 1\n2,"a = 1 AND b = 2"\n'),
        ("text/plain", b"a = 1\na = 1 AND b = 2\n"),
        ("application/vnd.apache.parquet", parquet.getvalue()),
    ]):  # fmt: skip
        name = f"sent-{number}"
        answer = client.ask("POST", f"/v1/indexes/{name}", data, content_type=content_type)
        assert answer.status == 200, answer.data
        assert answer.value["rules"] == 2
        ids = client.match(name, {"a": 1, "b": 2})
        assert list(map(str, ids)) == ["1", "2"]
        assert Index.open(service.root / name).version == answer.value["version"]


def test_a_build_takes_options(client):
    rows = [{"id": "x", "text": "d > DATE '2024-01-01'"}, {"id": "y", "text": "nope ="}]
    body = {"rules": rows, "engine": "scan", "on_error": "skip", "schema": {"attributes": {"d": "timestamp"}}}
    answer = client.ask("POST", "/v1/indexes/options", body)
    assert (answer.status, answer.value.get("skipped")) == (200, 1), answer.data
    assert answer.value["faults"][0]["id"] == "y"
    assert client.match("options", {"d": "2024-05-01"}) == ["x"]
    query = "?engine=scan&on_error=skip&id_column=key&expr_column=rule_text"
    data = b'{"key": 5, "rule_text": "q = 1"}\n{"key": 6, "rule_text": "q ="}\n'
    assert client.ask("POST", f"/v1/indexes/options{query}", data, content_type=NDJSON).value["rules"] == 1
    assert client.match("options", {"q": 1}) == [5]


def test_a_refused_build_keeps_the_old_version(client, own):
    before = versions_of(client, own)
    bad = b'{"id": 1, "expr": "a = 1"}\n{"id": 2, "expr": "a = = 2"}\nnot json\n'
    answer = client.ask("POST", f"/v1/indexes/{own}", bad, content_type=NDJSON)
    assert (answer.status, answer.code) == (422, "rules")
    assert (answer.value["faults"][0]["id"], answer.value["faults"][0]["row"]) == (2, 2)
    for body in ({"rules": [{"id": 1, "text": "a = 1"}], "engine": "warp"}, {"rules": [], "schema": {"attributes": 5}}):
        assert client.ask("POST", f"/v1/indexes/{own}", body).status in (400, 422)
    for content_type in ("text/csv", "application/vnd.apache.parquet"):
        assert client.ask("POST", f"/v1/indexes/{own}", b"\0\1", content_type=content_type).code == "input"
    assert versions_of(client, own) == before
    assert client.match(own, {"a": 1}) == [1]


def test_a_path_is_taken_from_the_folder_of_sources_alone(client, service, own):
    assert client.ask("POST", "/v1/indexes/from-path", {"path": "rules.jsonl"}).value["rules"] == 2
    assert client.ask("POST", "/v1/indexes/from-path", {"path": "bad.jsonl"}).code == "rules"
    for path in ("../x.jsonl", "/etc/passwd", "none.jsonl", "", ".", str(service.root), "\0"):
        answer = client.ask("POST", f"/v1/indexes/{own}", {"path": path})
        assert answer.status in (404, 422), path
        assert b"/tmp" not in answer.data
    assert client.ask("POST", "/v1/indexes/..%2Fescape", {"rules": []}).code == "name"
    assert client.ask("POST", "/v1/indexes/.hidden", {"rules": []}).code == "name"


def test_rollback_goes_back_to_a_version(client, own):
    first = versions_of(client, own)["current"]
    second = client.build(own, [(1, "a = 5")]).value["version"]
    assert client.match(own, {"a": 5}) == [1]
    assert client.ask("POST", f"/v1/indexes/{own}/rollback", {"version": first}).value["version"] == first
    assert client.match(own, {"a": 1, "b": 2}) == [1, 2]
    assert versions_of(client, own)["current"] == first
    assert client.put(own, 3, "a = 1").status == 201
    assert client.match(own, {"a": 1, "b": 2}) == [1, 2, 3]
    # A version can be asked while another one is current, as it was published.
    assert client.match(own, {"a": 5}, version=second) == [1]
    assert client.match(own, {"a": 1, "b": 2}, version=first) == [1, 2]
    lines = json.dumps({"a": 5}).encode()
    pinned = client.ask("POST", f"/v1/indexes/{own}/match?version={second}", lines, content_type=NDJSON)
    assert pinned.lines == [{"rules": [1], "count": 1}]
    for version in ("0" * 64, "../..", ""):
        assert client.ask("POST", f"/v1/indexes/{own}/rollback", {"version": version}).status == 404
        assert client.ask("POST", f"/v1/indexes/{own}/match?version={version}", {}).status == 404


def test_compaction_keeps_the_rules_and_empties_the_journal(client, own):
    for number in range(10, 20):
        client.put(own, number, f"c = {number % 3}")
    before = client.ask("GET", f"/v1/indexes/{own}").value
    assert before["description"]["changes"]["journal_records"] == 10
    compacted = client.ask("POST", f"/v1/indexes/{own}/compact").value
    assert compacted["version"] != before["version"]
    assert compacted["rules"] == 12
    after = client.ask("GET", f"/v1/indexes/{own}").value
    assert after["version"] == compacted["version"]
    assert after["description"]["changes"]["journal_records"] == 0
    assert client.match(own, {"c": 1}) == [10, 13, 16, 19]
    assert client.put(own, 40, "c = 1").status == 201
    assert client.match(own, {"c": 1}) == [10, 13, 16, 19, 40]


def test_what_another_process_publishes_is_seen(client, service, own):
    Index.build([(9, "k = 1")]).save(service.root / own)
    service.wait_for(lambda: client.match(own, {"k": 1}) == [9])
    Index.open(service.root / own).add([(10, "k = 1")])
    service.wait_for(lambda: client.match(own, {"k": 1}) == [9, 10])
    assert client.put(own, 11, "k = 1").status == 201
    assert client.match(own, {"k": 1}) == [9, 10, 11]
    Index.build([(1, "n = 1")]).save(service.root / "newcomer")
    service.wait_for(lambda: client.ask("GET", "/v1/indexes/newcomer").status == 200)


def test_versions_are_listed_with_what_they_have_the_newest_first(client, own):
    client.build(own, [(1, "a = 1")])
    listed = versions_of(client, own)
    assert [one["version"] for one in listed["details"]] == [
        listed["current"],
        *(version for version in listed["versions"] if version != listed["current"]),
    ]
    assert [one["rules"] for one in listed["details"]] == [1, 2]
    for one in listed["details"]:
        assert one["bytes"] > 0
        assert abs((datetime.now(UTC) - datetime.fromisoformat(one["written"])).total_seconds()) < 600


def test_a_version_is_named_by_its_beginning(client, own):
    old = client.ask("GET", f"/v1/indexes/{own}").value["version"]
    client.build(own, [(7, "a = 1")])
    assert client.match(own, {"a": 1}, version=old[:8]) == [1]
    short = client.ask("POST", f"/v1/indexes/{own}/rollback", {"version": old[:7]})
    assert (short.status, short.code) == (404, "version")
    assert "at least 8 characters" in short.value["detail"]
    assert client.ask("POST", f"/v1/indexes/{own}/rollback", {"version": "0123456789"}).status == 404
    back = client.ask("POST", f"/v1/indexes/{own}/rollback", {"version": old[:12]})
    assert (back.status, back.value["version"]) == (200, old)
    assert client.match(own, {"a": 1}) == [1]

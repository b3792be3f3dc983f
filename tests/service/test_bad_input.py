"""What strangers send: every fault is an answer with one shape, and the service goes on."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress

import pytest

from ruledex.service.problems import Problem
from ruledex.service.request import check_depth
from tests.service.serving import NDJSON

MATCH = "/v1/indexes/ads/match"


def raw(service, data, *, wait=True):
    """Send bytes as they are, and return what comes until the connection closes."""
    with service.connect(20) as connection:
        connection.sendall(data)
        came = b""
        while wait and (chunk := connection.recv(65536)):
            came += chunk
        return came


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "json"),
        ("{", "json"),
        ('{"a": 1,}', "json"),
        ('{"a": NaN}', "json"),
        (b'{"a": "\xff"}', "json"),
        (b"\xef\xbb\xbf{}", "json"),
        ("[]", "event"),
        ("1", "event"),
        ('"a"', "event"),
        ("null", "event"),
        ("[" * 100_000, "json"),
        ('{"a":' * 500 + "1" + "}" * 500, "depth"),
        ('{"a": ' + "[" * 65 + "]" * 65 + "}", "depth"),
    ],
)
def test_what_is_no_event_is_refused(client, body, code):
    answer = client.ask("POST", MATCH, body)
    assert (answer.status, answer.code) == (400, code)


def test_brackets_in_texts_are_not_depth(client):
    assert client.match("ads", {"a": 1, "b": 9, "t": "[{" * 500 + '\\"'})
    check_depth(json.dumps({"a": [{"x": "}]["}] * 100}).encode(), 3)
    with pytest.raises(Problem, match="too deep"):
        check_depth(json.dumps({"a": [{"x": [1]}] * 100}).encode(), 3)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 405),
        ("/v1", 404),
        ("/v1/indexes/", 404),
        ("/v1/indexes/none/match", 404),
        ("/v1/indexes/ads/match/", 404),
        ("/v1/indexes/ads/matches", 404),
        ("/v1/indexes/%FF/match", 400),
        ("/v1/indexes/{}/match", 404),
        ("/v1/indexes/notes/match", 404),
        ("/v1/indexes/..%2F..%2Fetc/match", 404),
        ("/v1/indexes/ads/match?limit=-1", 400),
        ("/v1/indexes/ads/match?limit=1e3", 400),
        ("/v1/indexes/ads/match?limit=" + "9" * 5000, 400),
        ("/v1/indexes/ads/match?limit=1&limit=2", 400),
        ("/v1/indexes/ads/match?limit", 400),
        ("/v1/indexes/ads/match?limit=%FF", 400),
        ("/v1/indexes/ads/top?k=0", 400),
        ("/v1/indexes/ads/top?k=99999999", 400),
        ("/v1/indexes/ads/top?rank=best", 400),
        ("/v1/indexes/ads/top?mode=odd", 400),
        ("/v1/indexes/ads/top?weights=5", 400),
        ("/v1/indexes/ads/top?weights=%7B%22a%22%3A-5%7D", 400),
        ("/v1/indexes/ads/explain", 400),
        ("/v1/indexes/ads/explain?rule=1&text=a%20%3D%201", 400),
        ("/v1/indexes/ads/explain?text=a%20%3D", 422),
        ("/v1/indexes/ads/match?record=no", 400),
        ("/v1/indexes/ads/explain?rule=1&record=false", 400),
        ("/v1/indexes/ads/explain?rule=x", 404),
        ("/v1/indexes/ads/match?version=../..", 404),
    ],
)
def test_wrong_paths_and_parameters_are_refused(client, path, status):
    answer = client.ask("POST", path, {"a": 1})
    assert answer.status == status, answer.data
    assert answer.code


def test_numbers_beyond_64_bits_are_refused(client, own):
    path, wide = f"/v1/indexes/{own}/rules", 2**63
    for rule_id in (wide, -wide - 1):
        assert client.ask("PUT", f"{path}/{rule_id}", {"text": "a = 1"}).code == "id"
        assert client.ask("DELETE", f"{path}/{rule_id}").status == 404
    row = {"id": 5, "text": "a = 1"}
    for change in (
        {"add": [row | {"tags": {"n": 2**64}}]}, {"add": [row | {"id": 2**64}]}, {"remove": [2**64]},
    ):  # fmt: skip
        answer = client.ask("PATCH", path, change)
        assert answer.status in (404, 422), answer.data
    assert client.ask("PUT", f"{path}/5", {"text": "a = 1", "tags": {"n": 2**64}}).status == 422
    assert [rule["id"] for rule in client.ask("GET", path).value["rules"]] == [1, 2]


def test_methods_and_types_are_checked(client):
    answer = client.ask("DELETE", MATCH)
    assert (answer.status, answer.code) == (405, "method")
    for content_type in ("text/xml", "application/octet-stream", "multipart/form-data; boundary=x", ""):
        assert client.ask("POST", MATCH, "{}", content_type=content_type).status == 415
    assert client.ask("POST", MATCH, "{}", content_type="Application/JSON; charset=utf-8").status == 200
    assert client.ask("PUT", "/v1/indexes/ads/rules/1", "a = 1", content_type="text/plain").status == 415
    assert client.ask("POST", "/v1/indexes/ads", b"", content_type="application/zip").status == 415


def test_a_large_body_is_refused_before_it_is_read(service):
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    came = raw(service, head % (MATCH.encode(), 100 * 1024 * 1024))
    assert came.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in came


def test_a_large_body_of_unknown_length_is_cut_off(service):
    with service.connect(20) as connection:
        head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head % MATCH.encode())
        piece = b"%x\r\n%b\r\n" % (1 << 16, b" " * (1 << 16))
        n_sent = 0
        try:
            for _ in range(1600):  # a hundred megabytes
                connection.sendall(piece)
                n_sent += 1 << 16
        except OSError:
            pass
        assert n_sent < 40 << 20  # what buffers of the system take included


def test_a_line_that_is_too_long_is_refused(client):
    answer = client.ask("POST", MATCH, b'{"a": "' + b"x" * 200_000, content_type=NDJSON)
    assert (answer.status, answer.code) == (413, "size")


def test_a_slow_body_and_slow_headers_are_not_waited_for(service):
    begun = time.monotonic()
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"
    assert raw(service, head % MATCH.encode()).startswith(b"HTTP/1.1 408")
    assert raw(service, b"GET /health/live HTT") == b""
    assert raw(service, b"") == b""
    with suppress(ConnectionError):  # it is closed while this still sends
        assert raw(service, b"GET /health/live HTTP/1.1\r\n" + b"x: y\r\n" * 100_000) == b""
    assert time.monotonic() - begun < 60


def test_bytes_that_are_not_http_are_refused(service):
    assert raw(service, b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert raw(service, b"GET /health/live HTTP/1.1\r\nContent-Length: x\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_clients_that_leave_are_forgotten(service, client):
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    for _ in range(20):
        connection = service.connect()
        line = b'{"a": 1, "b": 9}\n'
        connection.sendall(head % MATCH.encode() + b"%x\r\n%b\r\n" % (len(line), line))
        connection.recv(10)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not a goodbye
        connection.close()
    for path in ("/v1/indexes/ads", "/metrics"):
        connection = service.connect()
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        connection.close()
    service.wait_for(lambda: b"ruledex_requests_under_way 0.0" in client.ask("GET", "/metrics").data)
    assert client.match("ads", {"a": 1, "b": 9})


def test_requests_in_a_row_on_one_connection_are_answered_in_order(service):
    one = b"POST %b?limit=1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 16\r\n%b\r\n%b"
    requests = b"".join(
        one % (MATCH.encode(), b"Connection: close\r\n" if a == 3 else b"", b'{"a": %d, "b": 9}' % a)
        for a in range(4)
    )  # fmt: skip
    came = raw(service, requests)
    assert [int(part.split(b"]")[0]) for part in came.split(b'{"rules":[')[1:]] == [0, 1, 2, 3]


def test_no_answer_has_a_path_of_the_server(service, client, own):
    answers = [
        client.ask("POST", MATCH, "{"),
        client.ask("GET", "/v1/indexes/none"),
        client.ask("POST", f"/v1/indexes/{own}", b"x", content_type="application/vnd.apache.parquet"),
        client.ask("POST", f"/v1/indexes/{own}", b"x,y\n", content_type="text/csv"),
        client.ask("POST", f"/v1/indexes/{own}", b"\xff\xfe\0", content_type=NDJSON),
        client.ask("POST", f"/v1/indexes/{own}", {"path": "../../etc/passwd"}),
        client.ask("POST", f"/v1/indexes/{own}/rollback", {"version": "0" * 64}),
        client.ask("GET", "/v1/indexes"),
        client.ask("GET", f"/v1/indexes/{own}"),
        client.ask("GET", "/v1/openapi.json"),
        client.ask("GET", "/metrics"),
    ]
    for answer in answers:
        for part in (str(service.root).encode(), b"/tmp", b"upload-", b"ruledex-", b"site-packages", b"Traceback"):
            assert part not in answer.data, answer.data


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("PUT", "/rules/1?dryrun=true", {"text": "a = 9"}, "did you mean dry_run?"),
        ("POST", "/match?limits=3", {"a": 1}, "did you mean limit?"),
        ("POST", "/match?tag=x", {"a": 1}, "the parameters here are decimals, "),
        ("GET", "/coverage?limit=3", None, "there are no parameters here"),
        ("GET", "?verbose=1", None, "there are no parameters here"),
        ("POST", "?engine=scan", {"rules": []}, "stand in the body"),
        ("PATCH", "/rules?dry-run=true", {"remove": [1]}, "did you mean dry_run?"),
        ("PUT", "/definitions/x?dryrun=true", {"text": "a = 9"}, "did you mean dry_run?"),
    ],
)
def test_an_unknown_parameter_is_refused_and_changes_nothing(client, own, method, path, body, told):
    refused = client.ask(method, f"/v1/indexes/{own}{path}", body)
    assert (refused.status, refused.code) == (400, "query")
    assert told in refused.value["detail"]
    assert client.match(own, {"a": 1}) == [1]


def test_every_described_parameter_is_taken_and_every_endpoint_refuses_others(client, own):
    for path, methods in client.ask("GET", "/v1/openapi.json").value["paths"].items():
        for method in methods:
            asked = path.replace("{name}", own).replace("{id}", "1")
            refused = client.ask(method.upper(), f"{asked}?no_such_parameter=1")
            assert (refused.status, refused.code) == (400, "query"), path
    assert client.ask("GET", "/?from=a-link").status == 200  # the page has addresses that people share


def test_an_id_of_another_type_is_not_a_missing_rule(client, own):
    refused = client.put(own, "seven", "a = 1")
    assert (refused.status, refused.code) == (422, "id")
    assert "the ids of this index are integers" in refused.value["detail"]
    assert client.ask("GET", f"/v1/indexes/{own}/rules/seven").status == 404


def test_an_unknown_index_is_named(client):
    for method, path, body in [("GET", "", None), ("PUT", "/rules/1", {"text": "a = 1"}), ("POST", "/match", {})]:
        refused = client.ask(method, f"/v1/indexes/nowhere{path}", body)
        assert (refused.status, refused.code) == (404, "index")
        assert "no index 'nowhere'" in refused.value["detail"]


def test_a_wrong_filter_is_called_a_filter_and_an_unknown_tag_is_logged(service, client, own):
    for body, content_type in (({"a": 1}, "application/json"), ('{"a": 1}\n{"a": 2}\n', NDJSON)):
        path = f"/v1/indexes/{own}/match?where=tenant%20%3D"
        refused = client.ask("POST", path, body, content_type=content_type)
        assert (refused.status, refused.code, refused.value["title"]) == (422, "syntax", "The filter cannot be used")
        assert refused.value["place"]["line"] == 1
    assert client.match(own, {"a": 1}, where="owner_of_nothing = 'x'") == []
    service.wait_for(lambda: [line for line in service.logged("warning") if "owner_of_nothing" in line["message"]])

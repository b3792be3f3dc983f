"""Many events in one request: equal to the index in a process, flowing, and bounded."""

from __future__ import annotations

import io
import json
import random
import threading

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.service.problems import Problem
from ruledex.service.streams import ArrowInput, next_batch_size
from tests.service.serving import ARROW, NDJSON


def drawn_events(n_events, seed=3):
    draw = random.Random(seed)
    return [{"a": draw.randrange(6), "b": draw.randrange(4), "pad": "x" * draw.randrange(40)} for _ in range(n_events)]


def arrow_bytes(batches, **options):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batches[0].schema, **options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def batches_of(events, size):
    return [pa.RecordBatch.from_pylist(events[at : at + size]) for at in range(0, len(events), size)]


def rows_of(data):
    return pa.ipc.open_stream(data).read_all().to_pylist()


def test_large_batches_answer_as_the_index_does(client, service):
    index = Index.open(service.root / "ads")
    events = drawn_events(3_000)
    lines = "\n".join(map(json.dumps, events))  # without an end of the last line
    expected = list(index.match_batch(events))
    answer = client.ask("POST", "/v1/indexes/ads/match", lines, content_type=NDJSON)
    assert [line["rules"] for line in answer.lines] == expected
    data = arrow_bytes(batches_of(events, 700))
    arrow = client.ask("POST", "/v1/indexes/ads/match", data, content_type=ARROW)
    assert arrow.headers["content-type"] == ARROW
    assert [row["rules"] for row in rows_of(arrow.data)] == expected
    counted = rows_of(client.ask("POST", "/v1/indexes/ads/count", data, content_type=ARROW).data)
    assert [row["count"] for row in counted] == index.count(events).tolist()
    best = rows_of(client.ask("POST", "/v1/indexes/ads/top?k=2", data, content_type=ARROW).data)
    found = index.top_batch(events, 2)
    assert [row["rules"] for row in best] == list(found)
    assert [score for row in best for score in row["scores"]] == found.scores.tolist()


def test_ids_that_are_texts_and_dictionaries_of_values(client, service):
    index = Index.open(service.root / "words")
    batch = pa.record_batch({
        "lang": pa.array(["de", "fr", None, "en"]).dictionary_encode(),
        "n": pa.array([1, 2, 4, None]),
    })  # fmt: skip
    other = pa.record_batch({"lang": pa.array(["fi", "de"]).dictionary_encode(), "n": pa.array([1, 1])})
    answer = client.ask("POST", "/v1/indexes/words/match", arrow_bytes([batch, other]), content_type=ARROW)
    expected = list(index.match_batch(batch.to_pylist() + other.to_pylist()))
    assert [row["rules"] for row in rows_of(answer.data)] == expected


def test_streams_without_events_are_answered(client):
    assert client.ask("POST", "/v1/indexes/ads/match", b"", content_type=NDJSON).lines == []
    assert client.ask("POST", "/v1/indexes/ads/match", b"\n\n \n", content_type=NDJSON).lines == []
    empty = arrow_bytes([pa.RecordBatch.from_pylist([], pa.schema([("a", pa.int64())]))])
    answer = client.ask("POST", "/v1/indexes/ads/match", empty, content_type=ARROW)
    assert rows_of(answer.data) == []


def test_bad_lines_get_a_problem_and_others_an_answer(client):
    lines = b'{"a": 1, "b": 9}\nnope\n[1]\n{"a": 1, "b": 9}\n\n{"a": %s1%s}\n5' % (b"[" * 80, b"]" * 80)
    found = client.ask("POST", "/v1/indexes/ads/count", lines, content_type=NDJSON).lines
    told = [line.get("count", line.get("error", {}).get("type", "").rsplit(":", 1)[-1]) for line in found]
    assert told == [12, "json", "event", 12, "depth", "event"]


@pytest.mark.parametrize("content_type", [NDJSON, ARROW])
def test_answers_flow_while_the_request_still_comes_in(service, content_type):
    events = [{"a": 1, "b": 9}]
    if content_type == NDJSON:
        pieces = [b'{"a": 1, "b": 9}\n{"a": 1,', b' "b": 9}\n', b""]
    else:
        data, end = arrow_bytes(batches_of(events * 2, 1)), 8
        middle = len(data) - end - 100
        pieces = [data[:middle], data[middle:], b""]
    with service.connect() as connection:
        head = f"POST /v1/indexes/ads/match HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\n"
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        came = b""
        for piece in pieces[:-1]:
            connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            before = len(came)
            while len(came) == before or b"\r\n\r\n" not in came:
                came += connection.recv(65536)  # which fails after a while if nothing comes
        connection.sendall(b"0\r\n\r\n")
        while not came.endswith(b"0\r\n\r\n"):
            came += connection.recv(65536)
    assert came.startswith(b"HTTP/1.1 200")


def test_a_reader_that_pauses_is_waited_for_and_memory_stays(service):
    """The answer is far larger than all buffers: it is made as it is taken."""
    n_events = 4_000
    line = json.dumps({"a": 1, "b": 9, "pad": "x" * 400}).encode() + b"\n"
    head = b"POST /v1/indexes/ads/top?k=100&rank=static HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    head += b"Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n" % (n_events * len(line))
    with service.connect() as connection:
        sender = threading.Thread(target=lambda: connection.sendall(head + line * n_events))
        sender.start()
        came = bytearray()
        while chunk := connection.recv(1 << 16):
            came += chunk
        sender.join()
    assert came.count(b'"rank"') == 12 * n_events


def test_arrow_that_is_not_as_it_should_be_is_refused(client):
    good = arrow_bytes(batches_of(drawn_events(50), 50))
    cases = [b"nothing of the kind", good[:-200], b"\xff" * 64, b"\xff\xff\xff\xff\x00\x10\x00\x00" + b"\x07" * 4096]
    for data in cases:
        assert client.ask("POST", "/v1/indexes/ads/match", data, content_type=ARROW).code == "arrow", data[:20]
    compressed = arrow_bytes(batches_of(drawn_events(50), 50), options=pa.ipc.IpcWriteOptions(compression="zstd"))
    assert client.ask("POST", "/v1/indexes/ads/match", compressed, content_type=ARROW).code == "compression"
    many = arrow_bytes([pa.RecordBatch.from_pydict({"a": list(range(30_000))})])
    assert client.ask("POST", "/v1/indexes/ads/match", many, content_type=ARROW).code == "size"
    assert client.ask("POST", "/v1/indexes/ads/explain?rule=1", good, content_type=ARROW).code == "content-type"


def test_a_changed_arrow_stream_is_an_answer_or_a_problem():
    """Bytes from strangers: whatever is changed, reading ends in a batch or a problem."""
    good = arrow_bytes(batches_of(drawn_events(20), 20))
    draw = random.Random(11)
    n_read = n_refused = 0
    for _ in range(400):
        data = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        came = ArrowInput(1 << 20)
        try:
            for at in range(0, len(data), 777):
                came.feed(bytes(data[at : at + 777]))
                while came.has_batch:
                    came.next().to_pylist()
                    n_read += 1
            came.end()
        except (Problem, UnicodeDecodeError):
            n_refused += 1
    assert n_read > 100
    assert n_refused > 20


def test_the_size_of_batches_follows_their_matches():
    assert next_batch_size(256, 256, 100) == 512
    assert next_batch_size(8_192, 8_192, 0) == 8_192
    assert next_batch_size(8_192, 8_192, 8_192_000) == 500
    assert next_batch_size(256, 10, 50) == 256
    assert next_batch_size(256, 10, 5_000_000) == 1

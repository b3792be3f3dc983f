"""Spans for OpenTelemetry: what they say, and that a service sends them where the OTEL_* variables say."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from prometheus_client.parser import text_string_to_metric_families

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.service.request import Request
from ruledex.service.settings import Settings
from ruledex.service.telemetry import Telemetry, check_telemetry
from tests.service.serving import NDJSON, Service

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


def asked(**headers):
    """Return a request, as one that has come."""

    async def nothing(*_):
        raise AssertionError

    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"method": "POST", "headers": named, "query_string": b""}, nothing, nothing, Settings(root=""))


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def telemetry(exporter) -> Iterator[Telemetry]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    made = Telemetry(provider)
    yield made
    made.close()


def test_a_span_says_what_was_asked_and_found(telemetry, exporter):
    request = asked()
    request.id = "r1"
    span = telemetry.begin(request)
    request.route, request.endpoint, request.index = "/v1/indexes/{name}/match", "match", "ads"
    request.n_events, request.n_matches, request.answered = 3, 7, 200
    telemetry.end(span, request)
    (found,) = exporter.get_finished_spans()
    assert (found.name, found.kind, found.parent) == ("POST /v1/indexes/{name}/match", SpanKind.SERVER, None)
    assert request.trace == f"{found.context.trace_id:032x}"
    assert dict(found.attributes) == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "http.route": "/v1/indexes/{name}/match",
        "ruledex.request": "r1",
        "ruledex.operation": "match",
        "ruledex.index": "ads",
        "ruledex.events": 3,
        "ruledex.matches": 7,
    }


def test_a_span_belongs_to_the_trace_of_its_request(telemetry, exporter):
    for given in (f"00-{TRACE}-{PARENT}-01", "nonsense", f"00-{'0' * 32}-{PARENT}-01"):
        request = asked(traceparent=given, tracestate="a=b")
        telemetry.end(telemetry.begin(request), request)
    sound, *unsound = exporter.get_finished_spans()
    assert f"{sound.parent.trace_id:032x}" == f"{sound.context.trace_id:032x}" == TRACE
    assert f"{sound.parent.span_id:016x}" == PARENT
    assert [span.parent for span in unsound] == [None, None]


def test_failures_are_errors_and_refusals_are_not(telemetry, exporter):
    for status in (404, 503):
        request = asked()
        span = telemetry.begin(request)
        request.answered = status
        telemetry.end(span, request)
    refused, failed = exporter.get_finished_spans()
    assert refused.status.status_code is StatusCode.UNSET
    assert failed.status.status_code is StatusCode.ERROR


def test_an_exporter_that_is_not_installed_is_named(monkeypatch):
    check_telemetry()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console,none")
    check_telemetry()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "smoke")
    with pytest.raises(RuledexError, match="smoke"):
        check_telemetry()


def test_nothing_of_it_is_imported_unless_asked_for():
    code = "import sys, ruledex.service.worker; print([name for name in sys.modules if 'opentelemetry' in name])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.fixture
def received() -> Iterator[tuple[str, list]]:
    """The address of a receiver of OTLP over HTTP, and the spans that it was sent."""
    spans: list = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
            for resource in sent.resource_spans:
                named = {each.key: each.value.string_value for each in resource.resource.attributes}
                spans.extend((named["service.name"], span) for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", spans
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_a_service_sends_its_spans(tmp_path, monkeypatch, received):
    address, spans = received
    Index.build([(1, "a = 1"), (2, "a > 0")]).save(tmp_path / "ads")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    service = Service(tmp_path, "--workers", "1", "--telemetry", "--log-requests")
    client = service.client()
    client.ask("POST", "/v1/indexes/ads/match", {"a": 1}, traceparent=f"00-{TRACE}-{PARENT}-01")
    client.ask("POST", "/v1/indexes/ads/count", b'{"a": 1}\n{"a": 2}\n', content_type=NDJSON)
    client.ask("GET", "/nowhere")
    client.close()
    assert service.stop() == 0  # which sends what is left
    assert {name for name, _ in spans} == {"ruledex"}
    found = {span.name: span for _, span in spans}
    assert sorted(found) == ["GET", "POST /v1/indexes/{name}/count", "POST /v1/indexes/{name}/match"]
    matched = found["POST /v1/indexes/{name}/match"]
    assert (matched.trace_id.hex(), matched.parent_span_id.hex()) == (TRACE, PARENT)
    counted = {each.key: each.value.int_value for each in found["POST /v1/indexes/{name}/count"].attributes}
    assert (counted["ruledex.events"], counted["ruledex.matches"]) == (2, 3)
    (line,) = service.logged("request", endpoint="match")
    assert line["trace"] == TRACE
    assert line["request"]


KINDS = {
    "ruledex_request_seconds": "histogram",
    "ruledex_answers": "counter",
    "ruledex_events": "counter",
    "ruledex_matches": "counter",
    "ruledex_changes": "counter",
    "ruledex_refused_versions": "counter",
    "ruledex_change_lag_seconds": "histogram",
    "ruledex_journal_changes": "gauge",
    "ruledex_changes_waiting": "gauge",
    "ruledex_requests_under_way": "gauge",
    "ruledex_waiting": "gauge",
    "ruledex_memory_bytes": "gauge",
    "ruledex_rules": "gauge",
    "ruledex_version_since_seconds": "gauge",
    "ruledex_recent_events": "counter",
    "ruledex_recent_events_kept": "gauge",
    "ruledex_decisions": "counter",
    "ruledex_decisions_dropped": "counter",
    "ruledex_decisions_waiting": "gauge",
}


class Scraped:
    """The metrics at a moment."""

    def __init__(self, client):
        answer = client.ask("GET", "/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=")
        self.families = {family.name: family for family in text_string_to_metric_families(answer.data.decode())}

    def value(self, name, **labels):
        samples = [sample for family in self.families.values() for sample in family.samples if sample.name == name]
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def scrape_until(client, holds):
    until = time.monotonic() + 30
    while not holds(scraped := Scraped(client)):
        assert time.monotonic() < until, scraped.families
        time.sleep(0.05)
    return scraped


@pytest.mark.slow
def test_metrics_count_what_was_done(client, own):
    before = Scraped(client)
    for number in range(5):
        client.match(own, {"a": 1, "b": number})
    assert client.ask("POST", f"/v1/indexes/{own}/match", "nonsense").status == 400
    assert client.put(own, 3, "a = 3").status == 201
    client.ask("GET", f"/v1/indexes/{own}/events")
    after = scrape_until(
        client,
        lambda now: (
            now.value("ruledex_recent_events_kept", index=own) == 5
            and now.value("ruledex_journal_changes", index=own) == 1
        ),
    )
    assert after.value("ruledex_events_total", index=own) == 5
    assert after.value("ruledex_matches_total", index=own) == 6
    assert after.value("ruledex_changes_total", index=own) == 2  # the build and the rule
    assert after.value("ruledex_recent_events_total", index=own) == 5
    assert after.value("ruledex_rules", index=own) == 3
    assert after.value("ruledex_change_lag_seconds_count", index=own) >= 2
    refused = {"endpoint": "match", "status": "400"}
    assert after.value("ruledex_answers_total", **refused) == before.value("ruledex_answers_total", **refused) + 1
    asked = {"endpoint": "match", "index": own}
    assert after.value("ruledex_request_seconds_count", **asked) == 6
    grows = [
        after.value("ruledex_request_seconds_bucket", le=bound, **asked) for bound in ("0.001", "0.1", "30.0", "+Inf")
    ]
    assert grows == sorted(grows)
    assert grows[-1] == 6
    assert len({sample.labels["pid"] for sample in after.families["ruledex_memory_bytes"].samples}) == 3


@pytest.mark.slow
def test_every_metric_has_its_kind_and_a_description(client, own):
    client.match(own, {"a": 1})
    found = Scraped(client).families
    for name, family in found.items():
        assert KINDS[name] == family.type
        assert family.documentation
        assert "Multiprocess" not in family.documentation
    absent = set(KINDS) - set(found)
    assert absent <= {"ruledex_refused_versions", "ruledex_decisions"}  # they have a label, and nothing happened yet


@pytest.mark.slow
def test_requests_are_logged_with_their_ids(fragile, tokens):
    client = fragile.client(tokens["admin"])
    client.ask("POST", "/v1/indexes/ads/match", {"a": 1}, x_request_id="logged-1")
    client.close()
    (line,) = fragile.wait_for(lambda: fragile.logged("request", request="logged-1"))
    assert (line["endpoint"], line["index"], line["status"], line["caller"]) == ("match", "ads", 200, "admin")
    assert line["ms"] > 0
    assert "trace" not in line

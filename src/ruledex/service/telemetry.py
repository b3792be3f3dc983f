"""What the service tells of itself: logs, metrics and spans.

Logs are structured: one JSON object per line on standard error. Metrics are for Prometheus: each process writes its own
to a folder that all share, and any worker can report their sum.

Spans are for OpenTelemetry, one per request, if the operator asks for them. Nothing of it is imported otherwise. The
standard OTEL_* variables say where spans go and which are kept: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME,
OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_* and so on.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from ruledex import __version__
from ruledex.errors import RuledexError, quoted

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

    from ruledex.service.request import Request

_EXPORTERS: Final = "opentelemetry_traces_exporter"  # the group under which packages announce theirs
_INSTALL: Final = "pip install 'ruledex[telemetry]'"
_process = {"process": "service", "pid": os.getpid()}
METRICS_FOLDER: Final = "metrics"  # in the folder of the running service
_BUCKETS: Final = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


def check_telemetry() -> None:
    """Raise an error if spans cannot be made or sent."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise RuledexError(f"--telemetry needs opentelemetry-sdk: {_INSTALL}")
    for name in _exporter_names():
        if not entry_points(group=_EXPORTERS, name=name):
            raise RuledexError(f"--telemetry needs a package with the exporter {quoted(name)}, such as {_INSTALL}")


def _exporter_names() -> list[str]:
    """Return the exporters that OTEL_TRACES_EXPORTER asks for, by the names of their packages; OTLP unless given."""
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    otlp = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    given = [name.strip() for name in (os.environ.get("OTEL_TRACES_EXPORTER") or "otlp").split(",")]
    return [otlp if name == "otlp" else name for name in given if name and name != "none"]


def provider_of_environment() -> TracerProvider:
    """Return what makes spans and sends them, as the OTEL_* variables say."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    provider = TracerProvider(resource=Resource.create({} if named else {"service.name": "ruledex"}))
    for name in _exporter_names():
        (found, *_) = entry_points(group=_EXPORTERS, name=name)
        provider.add_span_processor(BatchSpanProcessor(found.load()()))
    return provider


class Telemetry:
    """Makes a span per request."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("ruledex", __version__)
        self._server = SpanKind.SERVER
        self._failed = Status(StatusCode.ERROR)
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, request: Request) -> Span:
        """Begin the span of a request. If it has a traceparent (W3C), the span belongs to that trace."""
        names = (b"traceparent", b"tracestate")
        carrier = {name.decode(): request.headers[name].decode("latin-1") for name in names if name in request.headers}
        context = self._propagator.extract(carrier) if carrier else None
        span = self._tracer.start_span(request.method, context, kind=self._server)
        if span.get_span_context().is_valid:
            request.trace = f"{span.get_span_context().trace_id:032x}"
        return span

    def end(self, span: Span, request: Request) -> None:
        """End the span of a request that was answered."""
        if span.is_recording():
            if request.route:
                span.update_name(f"{request.method} {request.route}")
            span.set_attributes(attributes_of(request))
            if request.answered >= 500:
                span.set_status(self._failed)
        span.end()

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


def attributes_of(request: Request) -> dict[str, Any]:
    """Return what a span says of a request. Events and their fields are not part of it."""
    found: dict[str, Any] = {
        "http.request.method": request.method,
        "http.response.status_code": request.answered,
        "ruledex.request": request.id,
    }
    if request.route:
        found |= {"http.route": request.route, "ruledex.operation": request.endpoint}
    if request.index:
        found["ruledex.index"] = request.index
    if request.n_events:
        found |= {"ruledex.events": request.n_events, "ruledex.matches": request.n_matches}
    return found


def name_process(name: str) -> None:
    """Set the name under which this process logs, and log what libraries say in the same form."""
    _process.update(process=name, pid=os.getpid())
    logging.basicConfig(level=logging.WARNING, handlers=[_Libraries()], force=True)
    warnings.showwarning = _log_warning


def _log_warning(message: Warning | str, category: type[Warning], *_place: Any, **_places: Any) -> None:
    """Write a warning of Python as a line of the log."""
    log("warning", "warning", kind=category.__name__, message=str(message))


class _Libraries(logging.Handler):
    """Takes what libraries log."""

    def emit(self, record: logging.LogRecord) -> None:
        trace = {"traceback": "".join(traceback.format_exception(record.exc_info[1]))} if record.exc_info else {}
        log(record.levelname.lower(), "library", source=record.name, message=record.getMessage(), **trace)


def log(level: str, event: str, **fields: Any) -> None:
    """Write a line. A value without a JSON type becomes its text."""
    line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, **_process, "event": event}
    with suppress(OSError, ValueError):  # a closed stream must not stop the service
        sys.stderr.buffer.write(orjson.dumps(line | fields, default=str, option=orjson.OPT_NON_STR_KEYS) + b"\n")
        sys.stderr.buffer.flush()


def log_failure(event: str, error: BaseException, **fields: Any) -> None:
    """Write an error that nobody expected, with its traceback."""
    trace = "".join(traceback.format_exception(error))
    log("error", event, error=f"{type(error).__name__}: {error}", traceback=trace, **fields)


class Metrics:
    """All metrics of the service."""

    def __init__(self, folder: Path) -> None:
        # The library reads this once, when it is first imported.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        from prometheus_client import Counter, Gauge, Histogram

        self._folder = folder
        self.seconds = Histogram(
            "ruledex_request_seconds", "Time to answer, by endpoint and index", ["endpoint", "index"], buckets=_BUCKETS
        )
        self.answers = Counter("ruledex_answers", "Answers by endpoint and status", ["endpoint", "status"])
        self.events = Counter("ruledex_events", "Events that were matched, counted, ranked or explained", ["index"])
        self.matches = Counter("ruledex_matches", "Matches that were found", ["index"])
        self.recent = Counter(
            "ruledex_recent_events", "Events that workers have sent to the ring of recent events", ["index"]
        )
        self.decisions = Counter("ruledex_decisions", "Decisions that were written to the decision log", ["index"])
        self.dropped_decisions = Counter(
            "ruledex_decisions_dropped", "Decisions that were not logged: the queue was full, or a file failed"
        )
        self.changes = Counter("ruledex_changes", "Changes that were acknowledged", ["index"])
        self.refused_versions = Counter(
            "ruledex_refused_versions", "Published versions that a worker could not use", ["index"]
        )
        self.lag = Histogram(
            "ruledex_change_lag_seconds",
            "From a change on disk until a worker answers with it",
            ["index"],
            buckets=_BUCKETS,
        )
        self.journaled = Gauge(
            "ruledex_journal_changes", "Changes since the version of an index, that a worker has taken over", ["index"],
            multiprocess_mode="livemin",
        )  # fmt: skip
        self.waiting_changes = Gauge(
            "ruledex_changes_waiting", "Changes that the writer has not answered yet", multiprocess_mode="livesum"
        )
        self.waiting_decisions = Gauge(
            "ruledex_decisions_waiting", "Decisions that wait to be written", multiprocess_mode="livesum"
        )
        self.recent_kept = Gauge(
            "ruledex_recent_events_kept", "Recent events that are kept", ["index"], multiprocess_mode="livemostrecent"
        )
        self.under_way = Gauge("ruledex_requests_under_way", "Requests under way", multiprocess_mode="livesum")
        self.waiting = Gauge("ruledex_waiting", "Requests that wait for a thread", multiprocess_mode="livesum")
        self.memory = Gauge(
            "ruledex_memory_bytes", "Resident memory, by process; mapped files included", multiprocess_mode="liveall"
        )
        self.rules = Gauge("ruledex_rules", "Rules of an index", ["index"], multiprocess_mode="livemostrecent")
        self.published = Gauge(
            "ruledex_version_since_seconds", "When a worker began to answer with a version, as a Unix time",
            ["index", "version"], multiprocess_mode="livemostrecent",
        )  # fmt: skip

    def version(self, index: str, version: str, n_rules: int) -> None:
        """Note that an index answers with a version."""
        self.rules.labels(index).set(n_rules)
        self.published.labels(index, version[:12]).set(time())

    def page(self) -> bytes:
        """Return the metrics of all processes as text."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = CollectorRegistry()
        MultiProcessCollector(registry, str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def forget_process(folder: Path, pid: int) -> None:
    """Remove the gauges of a process that ended. Its counters stay, so that sums never go down."""
    for path in folder.glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)


def resident_bytes() -> int:
    """Return how much memory this process has resident."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")

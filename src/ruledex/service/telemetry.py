"""Spans for OpenTelemetry, one per request, if the operator asks for them. Nothing of it is imported otherwise.

The standard OTEL_* variables say where spans go and which are kept: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME,
OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_* and so on.
"""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ruledex import __version__
from ruledex.errors import RuledexError, quoted

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

    from ruledex.service.request import Request

_EXPORTERS: Final = "opentelemetry_traces_exporter"  # the group under which packages announce theirs
_INSTALL: Final = "pip install 'ruledex[telemetry]'"


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

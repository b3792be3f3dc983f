"""A worker: one process that answers requests from indexes it has mapped. Changes go to the writer."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ruledex import __version__
from ruledex.errors import RuledexError
from ruledex.service.api import endpoints_of
from ruledex.service.channel import WriterClient
from ruledex.service.decisions import DecisionLog, RequestDecisions
from ruledex.service.dry_runs import MOST_EVENTS
from ruledex.service.endpoints import Router, describe_api, query_names
from ruledex.service.indexes import ServedIndexes, warm_kernels
from ruledex.service.long_work import LongWork
from ruledex.service.matching import Question
from ruledex.service.page import page_endpoints
from ruledex.service.problems import CONTENT_TYPE, Problem, busy, problem_of
from ruledex.service.recent import EventSample, RecentEvent
from ruledex.service.request import ClientLeftError, Message, Receive, Request, Send
from ruledex.service.settings import Settings
from ruledex.service.supervisor import settings_of_process, stop_with_parent
from ruledex.service.telemetry import (
    METRICS_FOLDER,
    Metrics,
    Telemetry,
    log,
    log_failure,
    name_process,
    provider_of_environment,
    resident_bytes,
)
from ruledex.service.tokens import ANYBODY, EVERY, Tokens
from ruledex.service.vocabulary import Vocabularies

WRITER_SOCKET: Final = "writer.sock"
_RATES_FILE: Final = "rates"
_MOST_LOGGED: Final = 100  # ids of rules of one change
_LONGEST_ID: Final = 64  # characters of a request's id that a client may choose
# How long a thread with a batch keeps the interpreter from the event loop. The default of 5 ms is many single events.
_SWITCH_SECONDS: Final = 0.0005
_MOST_HEADER_BYTES: Final = 64 * 1024
_SAFE: Final = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]


class Worker:
    """Answers requests, as an ASGI application."""

    def __init__(self, settings: Settings, number: int) -> None:
        runtime = Path(settings.runtime)
        self.settings = settings
        self.metrics = Metrics(runtime / METRICS_FOLDER)
        self.indexes = ServedIndexes(settings, self.metrics)
        self.long_work = LongWork(settings)
        self.vocabularies = Vocabularies()
        self.sample = EventSample(settings)
        self.telemetry = Telemetry(provider_of_environment()) if settings.telemetry else None
        self.decisions = None if settings.decisions is None else DecisionLog(settings, number, self.metrics)
        self.hidden = tuple({settings.root, str(Path(settings.root).resolve()), settings.runtime})
        self.is_ready = False
        self.writer = WriterClient(
            str(runtime / WRITER_SOCKET), settings.waiting, settings.wait_seconds, self._note_change
        )
        self.tokens: Tokens | None = None
        if settings.needs_tokens and settings.tokens is not None:
            self.tokens = Tokens(settings.tokens, runtime / _RATES_FILE, number, settings.workers)
        endpoints = endpoints_of(self)
        self._router = Router([*endpoints, *page_endpoints()])
        self._query_names = {endpoint.name: query_names(endpoint) for endpoint in endpoints}
        self.openapi = describe_api(endpoints, __version__)
        self._seconds: dict[tuple[str, str], Any] = {}
        self._answers: dict[tuple[str, int], Any] = {}
        self._counters: dict[str, tuple[Any, Any]] = {}
        self._n_requests = 0
        self._n_under_way = 0
        self._prefix = f"{os.getpid():x}-{int(time.time()):x}-"
        self._changed: dict[str, float] = {}
        self._change_came = asyncio.Event()
        self._refreshed: dict[str, asyncio.Future[None]] = {}

    # One request.

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        began = time.perf_counter()
        request = Request(scope, receive, send, self.settings)
        self._n_requests += 1
        given = request.headers.get(b"x-request-id", b"")
        is_sound = 0 < len(given) <= _LONGEST_ID and given.isascii() and given.replace(b"-", b"a").isalnum()
        request.id = given.decode() if is_sound else f"{self._prefix}{self._n_requests:x}"
        self._n_under_way += 1
        span = None if self.telemetry is None else self.telemetry.begin(request)
        try:
            try:
                if self._n_under_way > self.settings.requests:
                    raise busy(f"{self.settings.requests} requests are under way")
                await self._dispatch(request, scope)
            except ClientLeftError:
                request.answered = request.answered or 499
            except Exception as error:
                await self._answer_problem(request, error)
        finally:
            self._n_under_way -= 1
            self._note(request, time.perf_counter() - began)
            if self.telemetry is not None and span is not None:
                self.telemetry.end(span, request)

    async def _dispatch(self, request: Request, scope: Message) -> None:
        if self.settings.cors and (origin := request.headers.get(b"origin")) is not None:
            self._allow_origin(request, origin)
            if request.method == "OPTIONS":
                await request.answer_bytes(204, b"", [])
                return
        endpoint, values = self._router.find(request.method, scope["raw_path"])
        request.endpoint, request.route = endpoint.name, endpoint.path
        if values:
            request.parameters = dict(zip(("name", "id"), values, strict=False))
            request.index = values[0]
        if endpoint.scope is not None:
            if self.tokens is not None:
                request.caller = self.tokens.caller(request.headers.get(b"authorization"))
                self.tokens.take(request.caller)
                self._check_scope(request, endpoint.scope)
            else:
                request.caller = ANYBODY
        if request.has_query and (known := self._query_names.get(endpoint.name)) is not None:  # files of the page: None
            request.refuse_unknown(known)
        if request.index:
            await self.look_for(request.index)
        await endpoint.handler(request)

    def _check_scope(self, request: Request, scope: str) -> None:
        if request.index:
            allowed = request.caller.may(scope, request.index)
        else:  # a question about no index: a token for any of them will do
            allowed = any(request.caller.may(scope, name) for name in request.caller.scopes)
        if not allowed:
            raise Problem(403, "scope", "The token does not allow this", f"it needs the scope {scope}")

    def _allow_origin(self, request: Request, origin: bytes) -> None:
        if EVERY in self.settings.cors or origin.decode("latin-1") in self.settings.cors:
            request.extra_headers += [
                (b"access-control-allow-origin", origin),
                (b"vary", b"origin"),
                (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
                (b"access-control-allow-headers", b"authorization, content-type, if-match, if-none-match"),
                (b"access-control-expose-headers", b"etag, x-request-id, retry-after"),
            ]

    async def _answer_problem(self, request: Request, error: Exception) -> None:
        problem = problem_of(error, self.hidden)
        details = msgspec.structs.replace(problem.details, request=request.id)
        if details.status >= 500 and not isinstance(error, Problem):
            log_failure(
                "request failed", error, request=request.id, endpoint=request.endpoint, index=request.index,
                **({"trace": request.trace} if request.trace else {}),
            )  # fmt: skip
        if request.answered:
            raise error  # the answer has begun: the server cuts the connection, so that nobody takes it for complete
        headers = [(b"content-type", CONTENT_TYPE), *_SAFE]
        if details.retry_after is not None:
            headers.append((b"retry-after", b"%d" % details.retry_after))
        if details.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        with suppress(ClientLeftError):
            await request.answer_bytes(details.status, msgspec.json.encode(details), headers)

    def _note(self, request: Request, seconds: float) -> None:
        endpoint, index = request.endpoint or "none", request.index if request.index in self.indexes.served else ""
        if (histogram := self._seconds.get((endpoint, index))) is None:
            histogram = self._seconds[endpoint, index] = self.metrics.seconds.labels(endpoint, index)
        histogram.observe(seconds)
        if (counter := self._answers.get((endpoint, request.answered))) is None:
            counter = self._answers[endpoint, request.answered] = self.metrics.answers.labels(
                endpoint, str(request.answered)
            )
        counter.inc()
        if self.settings.log_requests or request.answered >= 500:
            log(
                "info" if request.answered < 500 else "warning", "request", request=request.id, method=request.method,
                endpoint=endpoint, index=index, status=request.answered, ms=round(seconds * 1000, 3),
                caller=request.caller.name, **({"trace": request.trace} if request.trace else {}),
            )  # fmt: skip

    def count(self, request: Request, n_events: int, n_matches: int) -> None:
        """Count events and their matches."""
        index = request.index
        request.n_events += n_events
        request.n_matches += n_matches
        if (counters := self._counters.get(index)) is None:
            counters = self._counters[index] = (self.metrics.events.labels(index), self.metrics.matches.labels(index))
        counters[0].inc(n_events)
        counters[1].inc(n_matches)

    def decisions_of(self, request: Request, question: Question) -> RequestDecisions | None:
        """Return what logs the decisions of a request; None if they are not logged."""
        if self.decisions is None or not question.is_decision:
            return None
        parameters = request.query if request.has_query else {}
        return RequestDecisions(self.decisions, request.id, request.index, question.kind, parameters)

    async def recent_events(self, index: str, limit: int) -> tuple[list[RecentEvent], int]:
        """Return the newest events that any worker has answered, the newest first, and how many are kept."""
        self._send_sample()
        answer = await self.writer.ask(index, {"kind": "recent", "limit": limit})
        return msgspec.convert(answer["events"], list[RecentEvent]), answer["kept"]

    async def events_to_test(self, index: str) -> list[RecentEvent]:
        """Return the events to test a change on. Without a writer there are none, and the rest is answered."""
        try:
            return (await self.recent_events(index, MOST_EVENTS))[0]
        except Problem:
            return []

    def _send_sample(self) -> None:
        if self.writer.takes_more and (events := self.sample.take()):
            self.writer.tell({"recent": msgspec.to_builtins(events)})
            for index, some in events.items():
                self.metrics.recent.labels(index).inc(len(some))

    # Changes.

    async def change(self, request: Request, change: dict[str, Any], *, new: bool = False) -> dict[str, Any]:
        """Have the writer make a change, and wait until this worker answers with it. The log says who changed what."""
        index = request.index
        if not new:
            self.indexes.get(index)
        answer = await self.writer.ask(index, change)
        self.metrics.changes.labels(index).inc()
        log(
            "info", "change", request=request.id, caller=request.caller.name, index=index, kind=change["kind"],
            **changed_names(change),
        )  # fmt: skip
        await asyncio.shield(self._refresh(index))
        return answer

    async def look_for(self, index: str) -> None:
        """Open an index that another worker has built a moment ago, so that no worker denies it."""
        if self.indexes.is_new(index):
            await asyncio.shield(self._refresh(index))

    def _refresh(self, index: str) -> asyncio.Future[None]:
        """Return a refresh of an index that begins from now on. Those who ask at the same time share one."""
        loop = asyncio.get_running_loop()
        if (waiting := self._refreshed.get(index)) is None:
            waiting = self._refreshed[index] = loop.create_future()
            self._changed.setdefault(index, time.time())
            self._change_came.set()
        return waiting

    def _note_change(self, index: str, at: float) -> None:
        self._changed.setdefault(index, at)
        self._change_came.set()

    async def keep_fresh(self) -> None:
        """Take over changes as the writer tells of them, and now and then what other processes did."""
        loop = asyncio.get_running_loop()
        look_at = 0.0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.settings.refresh_seconds):
                    await self._change_came.wait()
            self._change_came.clear()
            changed, self._changed = self._changed, {}
            refreshed, self._refreshed = self._refreshed, {}
            try:
                if changed:
                    for index, at in changed.items():
                        # Not by `long_work`: changes are seen even where all of its threads are taken.
                        await loop.run_in_executor(None, self.indexes.refresh_one, index)
                        self.metrics.lag.labels(index).observe(max(0.0, time.time() - at))
                else:
                    await loop.run_in_executor(None, self.indexes.refresh)
                if time.monotonic() >= look_at:  # also where changes come without a pause
                    look_at = time.monotonic() + self.settings.refresh_seconds / 2
                    self._look_around()
            except Exception as error:
                log_failure("refresh failed", error)
            for waiting in refreshed.values():
                if not waiting.done():
                    waiting.set_result(None)

    def _look_around(self) -> None:
        self._send_sample()
        self.metrics.memory.set(resident_bytes())
        self.metrics.under_way.set(self._n_under_way)
        self.metrics.waiting.set(self.long_work.n_waiting)
        for name, served in self.indexes.served.items():
            self.metrics.rules.labels(name).set(len(served.index))
            self.metrics.journaled.labels(name).set(served.index.n_journaled)
        if self.decisions is not None:
            self.metrics.waiting_decisions.set(self.decisions.n_waiting)
        if self.tokens is not None:
            try:
                if self.tokens.reload():
                    log("info", "tokens read")
            except RuledexError as error:
                log("error", "tokens refused", error=str(error))


def changed_names(change: dict[str, Any]) -> dict[str, Any]:
    """Return what a change concerns, for the log: ids and names, and nothing of texts."""
    if "id" in change:
        return {"rules": [change["id"]]}
    if "name" in change:
        return {"definition": change["name"]}
    if change["kind"] in ("add", "update", "remove"):
        rows = change["rows"]
        ids = [row if change["kind"] == "remove" else row[0] for row in rows[:_MOST_LOGGED]]
        return {"rules": ids} | ({"n_rules": len(rows)} if len(rows) > len(ids) else {})
    return {"version": change["version"]} if "version" in change else {}


class Connection(HttpToolsProtocol):
    """A connection that closes if headers do not come in time, or are too long."""

    header_seconds = 10.0
    _in_headers = True  # a connection begins with them
    _n_header_bytes = 0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self.header_seconds, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Note that headers follow."""
        self._in_headers, self._n_header_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that headers are complete."""
        self._in_headers = False
        self._stop_waiting()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read a piece."""
        super().data_received(data)
        if self._in_headers and not self.transport.is_closing():
            self._n_header_bytes += len(data)
            if self._n_header_bytes > _MOST_HEADER_BYTES:
                self.transport.close()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(self.header_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _Server(uvicorn.Server):
    """A server that tells when it listens: not before, since a client may come at once."""

    tell: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self.tell()


async def serve(settings: Settings, descriptors: dict[str, int]) -> None:
    """Open all indexes, then answer until told to stop."""
    worker = Worker(settings, descriptors["number"])
    await asyncio.to_thread(worker.indexes.refresh)
    tasks = [asyncio.create_task(worker.writer.run()), asyncio.create_task(worker.keep_fresh())]
    Connection.header_seconds = settings.header_seconds
    server = _Server(
        uvicorn.Config(
            worker,
            http=Connection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            timeout_keep_alive=75,
            backlog=2048,
            timeout_graceful_shutdown=int(settings.graceful_seconds),
            proxy_headers=False,
        )
    )

    def stop() -> None:
        server.should_exit = True

    def tell_ready() -> None:
        log("info", "ready", indexes=len(worker.indexes.served))
        os.write(descriptors["ready"], b".")

    server.capture_signals = no_signals  # type: ignore[assignment,method-assign]
    stop_with_parent(descriptors["parent"], stop)
    gc.collect()
    gc.freeze()  # what is there now stays: collections need not look at it again
    worker.is_ready = True
    server.tell = tell_ready
    await server.serve([socket.socket(fileno=descriptors["listener"])])
    for task in tasks:
        task.cancel()
    worker.long_work.close()
    if worker.decisions is not None:
        await asyncio.to_thread(worker.decisions.close)
    if worker.telemetry is not None:
        await asyncio.to_thread(worker.telemetry.close)
    log("info", "stopped")


class no_signals:  # noqa: N801  # stands for a context manager of the server
    """Leave signals alone: the process handles them itself."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def run_worker() -> None:
    """Run a worker's process."""
    import uvloop

    settings, descriptors = settings_of_process()
    name_process(f"worker {descriptors['number']}")
    warm_kernels()
    sys.setswitchinterval(_SWITCH_SECONDS)
    uvloop.run(serve(settings, descriptors))
    os._exit(0)  # a thread that still works holds up nothing


if __name__ == "__main__":
    run_worker()

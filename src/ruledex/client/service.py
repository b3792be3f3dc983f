"""The two clients: `Service` waits for each answer, `AsyncService` is awaited. Both take the same steps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

try:
    import httpx
except ImportError as error:
    raise ImportError("the client needs httpx: pip install 'ruledex[client]'") from error

from ruledex.client.calls import IndexCalls, ServiceCalls
from ruledex.client.requests import Response, ServiceError, ServiceRequest, Steps, error_of

_LONGEST_PAUSE: Final = 30.0  # seconds before a request is sent again

P = ParamSpec("P")
T = TypeVar("T")


class _Caller:
    """Where a service is, and how often a question is asked again if it cannot be answered at the moment."""

    def __init__(self, retries: int) -> None:
        self._retries = retries

    def _pause(self, request: ServiceRequest, error: ServiceError, n_tries: int) -> float:
        """Return how many seconds to wait before the next try. Raises the error if there is none."""
        if not request.is_safe or n_tries > self._retries or error.status not in (0, 503):
            raise error
        return min(_LONGEST_PAUSE, float(error.problem.get("retry_after") or 0.1 * 2**n_tries))


class Service(_Caller):
    """A service of indexes, over connections that are kept open.

    Args:
        address: where it listens, as in `http://127.0.0.1:8080`
        token: the token to send, if the service wants one
        timeout: seconds to wait for an answer
        retries: how often a question is asked again after a 503 or a broken connection; a change never is
    """

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 60.0, retries: int = 2) -> None:
        super().__init__(retries)
        self._client = httpx.Client(base_url=address, headers=_headers(token), timeout=timeout)

    def indexes(self) -> list[str]:
        """Return the names of the indexes that the token may read."""
        return self._run(ServiceCalls().indexes())

    def is_ready(self) -> bool:
        """Return whether the service answers questions."""
        return self._run(ServiceCalls().is_ready())

    def analyse(self, text: str, *, index: str | None = None, position: int | None = None) -> dict[str, Any]:
        """Return what the language says of a rule: tokens, its error, findings, completions at a position."""
        return self._run(ServiceCalls().analyse(text, index=index, position=position))

    def index(self, name: str) -> RemoteIndex:
        """Return an index of the service. Nothing is asked yet."""
        return RemoteIndex(self, name)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, steps: Steps[T]) -> T:
        try:
            request = next(steps)
            while True:
                try:
                    response = self._send(request)
                except ServiceError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(response)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _send(self, request: ServiceRequest) -> Response:
        n_tries = 0
        while True:
            try:
                return _response(self._client.send(_built(self._client, request)))
            except httpx.HTTPError as error:
                failure = _unreachable(error)
            except ServiceError as error:
                failure = error
            n_tries += 1
            time.sleep(self._pause(request, failure, n_tries))


class AsyncService(_Caller):
    """The same as `Service`, for `async` code: every call is awaited."""

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 60.0, retries: int = 2) -> None:
        super().__init__(retries)
        self._client = httpx.AsyncClient(base_url=address, headers=_headers(token), timeout=timeout)

    async def indexes(self) -> list[str]:
        """Return the names of the indexes that the token may read."""
        return await self._run(ServiceCalls().indexes())

    async def is_ready(self) -> bool:
        """Return whether the service answers questions."""
        return await self._run(ServiceCalls().is_ready())

    async def analyse(self, text: str, *, index: str | None = None, position: int | None = None) -> dict[str, Any]:
        """Return what the language says of a rule: tokens, its error, findings, completions at a position."""
        return await self._run(ServiceCalls().analyse(text, index=index, position=position))

    def index(self, name: str) -> AsyncRemoteIndex:
        """Return an index of the service. Nothing is asked yet."""
        return AsyncRemoteIndex(self, name)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, steps: Steps[T]) -> T:
        try:
            request = next(steps)
            while True:
                try:
                    response = await self._send(request)
                except ServiceError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(response)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    async def _send(self, request: ServiceRequest) -> Response:
        n_tries = 0
        while True:
            try:
                return _response(await self._client.send(_built(self._client, request)))
            except httpx.HTTPError as error:
                failure = _unreachable(error)
            except ServiceError as error:
                failure = error
            n_tries += 1
            await asyncio.sleep(self._pause(request, failure, n_tries))


def _waited(call: Callable[Concatenate[IndexCalls, P], Steps[T]]) -> Callable[Concatenate[RemoteIndex, P], T]:
    """Return the method of a `RemoteIndex` that takes the steps of a call."""

    def method(self: RemoteIndex, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._service._run(call(self._calls, *args, **kwargs))

    update_wrapper(method, call)
    return method


def _awaited(
    call: Callable[Concatenate[IndexCalls, P], Steps[T]],
) -> Callable[Concatenate[AsyncRemoteIndex, P], Coroutine[Any, Any, T]]:
    """Return the method of an `AsyncRemoteIndex` that takes the steps of a call."""

    async def method(self: AsyncRemoteIndex, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._service._run(call(self._calls, *args, **kwargs))

    update_wrapper(method, call)
    return method


class RemoteIndex:
    """An index of a service, with the methods of `Index` that a service has."""

    def __init__(self, service: Service, name: str) -> None:
        self.name = name
        self._service = service
        self._calls = IndexCalls(name)

    match = _waited(IndexCalls.match)
    match_batch = _waited(IndexCalls.match_batch)
    top = _waited(IndexCalls.top)
    top_batch = _waited(IndexCalls.top_batch)
    count = _waited(IndexCalls.count)
    explain = _waited(IndexCalls.explain)
    explain_text = _waited(IndexCalls.explain_text)
    why_not = _waited(IndexCalls.why_not)
    rule = _waited(IndexCalls.rule)
    rules = _waited(IndexCalls.rules)
    search = _waited(IndexCalls.search)
    etag = _waited(IndexCalls.etag)
    put = _waited(IndexCalls.put)
    add = _waited(IndexCalls.add)
    update = _waited(IndexCalls.update)
    remove = _waited(IndexCalls.remove)
    set_score = _waited(IndexCalls.set_score)
    dry_run = _waited(IndexCalls.dry_run)
    dry_run_rule = _waited(IndexCalls.dry_run_rule)
    definitions = _waited(IndexCalls.definitions)
    define = _waited(IndexCalls.define)
    undefine = _waited(IndexCalls.undefine)
    describe = _waited(IndexCalls.describe)
    coverage = _waited(IndexCalls.coverage)
    recent_events = _waited(IndexCalls.recent_events)
    versions = _waited(IndexCalls.versions)
    build = _waited(IndexCalls.build)
    compact = _waited(IndexCalls.compact)
    roll_back = _waited(IndexCalls.roll_back)


class AsyncRemoteIndex:
    """An index of a service for `async` code: the methods of `RemoteIndex`, awaited."""

    def __init__(self, service: AsyncService, name: str) -> None:
        self.name = name
        self._service = service
        self._calls = IndexCalls(name)

    match = _awaited(IndexCalls.match)
    match_batch = _awaited(IndexCalls.match_batch)
    top = _awaited(IndexCalls.top)
    top_batch = _awaited(IndexCalls.top_batch)
    count = _awaited(IndexCalls.count)
    explain = _awaited(IndexCalls.explain)
    explain_text = _awaited(IndexCalls.explain_text)
    why_not = _awaited(IndexCalls.why_not)
    rule = _awaited(IndexCalls.rule)
    rules = _awaited(IndexCalls.rules)
    search = _awaited(IndexCalls.search)
    etag = _awaited(IndexCalls.etag)
    put = _awaited(IndexCalls.put)
    add = _awaited(IndexCalls.add)
    update = _awaited(IndexCalls.update)
    remove = _awaited(IndexCalls.remove)
    set_score = _awaited(IndexCalls.set_score)
    dry_run = _awaited(IndexCalls.dry_run)
    dry_run_rule = _awaited(IndexCalls.dry_run_rule)
    definitions = _awaited(IndexCalls.definitions)
    define = _awaited(IndexCalls.define)
    undefine = _awaited(IndexCalls.undefine)
    describe = _awaited(IndexCalls.describe)
    coverage = _awaited(IndexCalls.coverage)
    recent_events = _awaited(IndexCalls.recent_events)
    versions = _awaited(IndexCalls.versions)
    build = _awaited(IndexCalls.build)
    compact = _awaited(IndexCalls.compact)
    roll_back = _awaited(IndexCalls.roll_back)


def _headers(token: str | None) -> dict[str, str]:
    return {} if token is None else {"authorization": f"Bearer {token}"}


def _built(client: httpx.Client | httpx.AsyncClient, request: ServiceRequest) -> httpx.Request:
    return client.build_request(
        request.method,
        request.path,
        params=request.all_parameters(),
        headers=request.all_headers(),
        content=request.body or None,
    )


def _response(found: httpx.Response) -> Response:
    if found.status_code >= 400:
        raise error_of(found.status_code, found.headers, found.content)
    return Response(found.status_code, found.headers, found.content)


def _unreachable(error: httpx.HTTPError) -> ServiceError:
    return ServiceError(0, "connection", f"the service cannot be reached: {error or type(error).__name__}", {})

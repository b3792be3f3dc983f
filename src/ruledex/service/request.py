"""A request and how to answer it, on plain ASGI: bodies with limits and deadlines, answers as JSON or in pieces."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from types import coroutine
from typing import Any, Final, NoReturn, TypeAlias, TypeVar, cast
from urllib.parse import parse_qsl

import msgspec
import orjson

from ruledex.errors import did_you_mean, quoted
from ruledex.language.json_decimals import load_decimals
from ruledex.service.problems import Problem
from ruledex.service.settings import Settings
from ruledex.service.tokens import ANYBODY, Caller

Message: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]
Body = TypeVar("Body")

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
ARROW: Final = "application/vnd.apache.arrow.stream"
MOST_RULE_DEPTH: Final = 2_000  # of a structured rule, which has two levels of JSON per level of its tree
_MAY_REPEAT: Final = frozenset({"tag"})
_STRINGS: Final = re.compile(rb'"(?:[^"\\\\]|\\\\.)*"', re.DOTALL)
_INNERMOST: Final = re.compile(rb"\{\}|\[\]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"{}[]"))
_JSON_HEADER: Final = (b"content-type", b"application/json")


class ClientLeftError(Exception):
    """The client closed the connection. There is nobody to answer."""


class Request:
    """One request. `answered` is the status once an answer has begun."""

    def __init__(self, scope: Message, receive: Receive, send: Send, settings: Settings) -> None:
        self.method: str = scope["method"]
        self.settings = settings
        self.caller: Caller = ANYBODY
        self.id = ""
        self.endpoint = ""
        self.index = ""  # the name in the path, if it has one
        self.parameters: dict[str, str] = {}  # of the path
        self.route = ""  # the path with names in the place of parameters
        self.trace = ""  # the id of the trace, if there is one
        self.n_events = self.n_matches = 0  # that were asked about, and found
        self.answered = 0
        self.extra_headers: Headers = []
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self._query_string: bytes = scope["query_string"]
        self._query: dict[str, str] | None = None
        self._repeated: list[tuple[str, str]] = []
        self._receive = receive
        self._send = send
        self._is_read = False

    # What was asked.

    @property
    def has_query(self) -> bool:
        """Whether there are any parameters behind the question mark."""
        return bool(self._query_string)

    @property
    def query(self) -> dict[str, str]:
        """The parameters behind the question mark. One that is given twice is refused, unless it may be repeated."""
        if self._query is None:
            try:
                pairs = parse_qsl(
                    self._query_string.decode(), True, strict_parsing=bool(self._query_string), errors="strict"
                )
            except ValueError:
                raise Problem(400, "query", "The query cannot be read") from None
            once = [pair for pair in pairs if pair[0] not in _MAY_REPEAT]
            self._query = dict(once)
            if len(self._query) < len(once):
                raise Problem(400, "query", "A parameter is given twice")
            self._repeated = [pair for pair in pairs if pair[0] in _MAY_REPEAT]
        return self._query

    def refuse_unknown(self, known: frozenset[str]) -> None:
        """Raise if a parameter has none of the known names: one that is misspelt would be ignored."""
        given = self.query.keys() | {name for name, _ in self._repeated}
        if given <= known:
            return
        name = min(given - known)
        hint = did_you_mean(name, known)
        told = f"the parameters here are {', '.join(sorted(known))}" if known else "there are no parameters here"
        told = f"there is no parameter {quoted(name)}; {hint or told}"
        raise Problem(400, "query", "A parameter is not known", told)

    def integer(self, name: str, default: int | None, least: int = 0, most: int = 2**31 - 1) -> int | None:
        """Return a parameter that is a whole number."""
        if not self._query_string or (given := self.query.get(name)) is None:
            return default
        # Python refuses to read integers of many thousand digits, and reads signs and underscores.
        number = int(given) if given.isascii() and given.isdigit() and len(given) < 20 else -1
        if not least <= number <= most:
            told = f"{name} is a whole number from {least:,} to {most:,}"
            raise Problem(400, "query", "A parameter is wrong", told)
        return number

    def text(self, name: str) -> str | None:
        """Return a parameter that is a text, or None if it is not given."""
        return self.query.get(name) if self._query_string else None

    def texts(self, name: str) -> list[str]:
        """Return all values of a parameter that may be repeated, in their order."""
        self.query  # noqa: B018  # reads them
        return [value for given, value in self._repeated if given == name]

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a parameter that is true or false."""
        given = self.query.get(name) if self._query_string else None
        if given is None:
            return default
        if given not in ("true", "false"):
            raise Problem(400, "query", "A parameter is wrong", f"{name} is true or false")
        return given == "true"

    @property
    def content_type(self) -> str:
        """The type of the body without its parameters; JSON unless given."""
        given = self.headers.get(b"content-type")
        return JSON if given is None else given.split(b";", 1)[0].strip().lower().decode("latin-1")

    def refuse_type(self, *allowed: str) -> NoReturn:
        """Refuse the type of the body."""
        raise Problem(415, "content-type", "The content type is not known", f"send {' or '.join(allowed)}")

    # Its body.

    async def body(self, most: int | None = None) -> bytes:
        """Return the whole body. One that is too large is refused before it is read, if its length is given."""
        most = self.settings.body_bytes if most is None else most
        message = await self._next(most)
        data: bytes = message["body"]
        if message["more_body"]:
            parts, n_bytes = [data], len(data)
            while message["more_body"]:
                message = await self._next(most)
                parts.append(message["body"])
                n_bytes += len(message["body"])
                if n_bytes > most:
                    self._too_large(most)
            data = b"".join(parts)
        if len(data) > most:
            self._too_large(most)
        return data

    async def chunks(self, most: int | None = None) -> AsyncIterator[bytes]:
        """Give the body as it comes."""
        more, n_bytes = True, 0
        while more:
            message = await self._next(most)
            more = message["more_body"]
            n_bytes += len(message["body"])
            if most is not None and n_bytes > most:
                self._too_large(most)
            if message["body"]:
                yield message["body"]

    async def _next(self, most: int | None) -> Message:
        if not self._is_read:
            self._is_read = True
            length = self.headers.get(b"content-length")
            if most is not None and length is not None and int(length) > most:
                self._too_large(most)
        receiving: Any = self._receive()
        try:
            # Most bodies are there with their headers, and need no timer.
            waits_for = receiving.send(None)
        except StopIteration as received:
            return self._check(received.value)
        try:
            async with asyncio.timeout(self.settings.idle_seconds):
                message = await _resume(receiving, waits_for)
        except TimeoutError:
            self._close_after()
            told = f"nothing came for {self.settings.idle_seconds:g} seconds"
            raise Problem(408, "slow", "The body did not come", told) from None
        return self._check(message)

    def _check(self, message: Message) -> Message:
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        return message

    def _close_after(self) -> None:
        self.extra_headers.append((b"connection", b"close"))  # what is still to come is not read

    def _too_large(self, most: int) -> NoReturn:
        self._close_after()
        raise Problem(413, "size", "The body is too large", f"at most {most:,} bytes are taken")

    async def read(self, kind: type[Body]) -> Body:
        """Return the body as a value of a type."""
        if self.content_type != JSON:
            self.refuse_type(JSON)
        data = await self.body()
        try:
            value = msgspec.json.decode(data, type=kind)
        except msgspec.ValidationError as error:
            raise Problem(422, "body", "The body is not as expected", str(error)) from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise Problem(400, "json", "The body is not JSON", str(error)) from None
        check_depth(data, MOST_RULE_DEPTH)
        return value

    # Answering.

    async def answer(self, status: int, value: Any, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Answer with a value as JSON: bytes are JSON already."""
        data = value if isinstance(value, bytes) else msgspec.json.encode(value)
        await self.answer_bytes(status, data, [_JSON_HEADER, *headers])

    async def answer_bytes(self, status: int, data: bytes, headers: Headers) -> None:
        """Answer with bytes."""
        self.answered = status
        length = (b"content-length", b"%d" % len(data))
        headers = [length, (b"x-request-id", self.id.encode()), *headers, *self.extra_headers]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": data})

    async def begin(self, content_type: str) -> None:
        """Begin an answer that comes in pieces."""
        self.answered = 200
        headers = [(b"content-type", content_type.encode()), (b"x-request-id", self.id.encode()), *self.extra_headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """Send a piece, and wait while the client takes nothing."""
        try:
            async with asyncio.timeout(self.settings.idle_seconds):
                await self._send({"type": "http.response.body", "body": data, "more_body": not last})
        except TimeoutError:
            raise ClientLeftError from None


@coroutine
def _resume(begun: Any, waits_for: Any) -> Generator[Any, Any, Message]:
    """Run a coroutine to its end that has been started by hand, and waits for something."""
    while True:
        try:
            sent = yield waits_for
        except BaseException as error:
            resume, given = begun.throw, error
        else:
            resume, given = begun.send, sent
        try:
            waits_for = resume(given)
        except StopIteration as ended:
            return cast(Message, ended.value)


def check_depth(data: bytes, most: int) -> None:
    """Refuse JSON that nests too deep. Only a document with many brackets is looked at in full."""
    if data.count(b"{") + data.count(b"[") <= most:
        return
    brackets = _STRINGS.sub(b"", data).translate(None, _NO_BRACKETS)
    for _ in range(most):  # each turn takes away the innermost brackets
        if not brackets:
            return
        brackets = _INNERMOST.sub(b"", brackets)
    if brackets:
        raise Problem(400, "depth", "The body nests too deep", f"at most {most} levels are taken")


def parse_event(data: bytes, most_depth: int, decimals: bool = False) -> dict[str, Any]:
    """Return the event in a body or line. With `decimals`, numbers with a fraction are decimals, as written."""
    try:
        event = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Problem(400, "json", "The event is not JSON", str(error)) from None
    check_depth(data, most_depth)
    if decimals:
        event = load_decimals(data)
    if type(event) is not dict:
        raise Problem(400, "event", "The event cannot be read", "an event is a JSON object")
    return event

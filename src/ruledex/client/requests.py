"""Requests to the service and what comes back, without a network. Both clients send what is described here."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, TypeAlias, TypeVar

import orjson

from ruledex.errors import EventError, RuledexError

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
ARROW: Final = "application/vnd.apache.arrow.stream"
_PROBLEM: Final = "application/problem+json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """One request. One that is safe changes nothing, so it may be sent again."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)  # what is None is not sent
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    is_safe: bool = True

    def all_headers(self) -> dict[str, str]:
        """Return the headers, with the type of the body if there is one."""
        return dict(self.headers) | ({"content-type": self.content_type} if self.body else {})

    def all_parameters(self) -> dict[str, str | list[str]]:
        """Return the parameters of the query as texts. A list is a parameter that is repeated."""
        return {
            name: list(map(_parameter, value)) if isinstance(value, list) else _parameter(value)
            for name, value in self.query.items()
            if value is not None
        }


@dataclass(frozen=True, slots=True)
class Response:
    """An answer that is no error."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        """The body, read as JSON."""
        return orjson.loads(self.body)


# The steps of a call: it yields requests, is sent their responses, and returns the result.
Steps: TypeAlias = Generator[ServiceRequest, Response, T]


class ServiceError(RuledexError):
    """The service refused a request, or could not be reached (`status` is 0).

    `code` is the last part of the problem's type and does not change between versions. `problem` has all that the
    service said: the place in a rule's text, the faults of a refused build.
    """

    def __init__(self, status: int, code: str, message: str, problem: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.problem = problem


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
    """Return the error that a response with a status of 400 or more tells."""
    problem: dict[str, Any] = {}
    if headers.get("content-type", "").startswith(_PROBLEM):
        problem = orjson.loads(body)
    code = str(problem.get("type", "")).rpartition(":")[2]
    told = [str(problem.get("title") or f"the service answered with status {status}")]
    told += [str(problem[name]) for name in ("detail", "hint") if problem.get(name)]
    if place := problem.get("place"):
        told[0] += f" (line {place['line']}, column {place['column']})"
    faults = [_fault(fault) for fault in problem.get("faults", [])]
    return ServiceError(status, code, "; ".join(told) + "".join(f"\n{fault}" for fault in faults), problem)


def _fault(fault: Mapping[str, Any]) -> str:
    place = fault.get("place")
    where = f"line {place['line']}, column {place['column']}: " if place else ""
    hint = f"; {fault['hint']}" if fault.get("hint") else ""
    return f"rule {fault['id']!r}: {where}{fault['message']}{hint}"


def encode_event(event: Any) -> bytes:
    """Return an event as JSON. Raises an EventError if it has a value that JSON cannot say."""
    if isinstance(event, str):
        return event.encode()
    if isinstance(event, bytes):
        return event
    try:
        return orjson.dumps(event, default=_as_json, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError as error:
        raise EventError(f"this event cannot be sent as JSON: {error}") from None


def _as_json(value: Any) -> Any:
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Decimal):
        raise TypeError("a Decimal is no JSON number; send a float, or an Arrow table")
    raise TypeError(f"it has a {type(value).__name__}")


def _parameter(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return orjson.dumps(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)

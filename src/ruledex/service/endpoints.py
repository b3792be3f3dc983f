"""Endpoints as data: what is asked where, with which scope, and the types of request and answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote_to_bytes

import msgspec

from ruledex.service.problems import Problem
from ruledex.service.request import Request

Handler: TypeAlias = Callable[[Request], Awaitable[None]]
ANY: Final = "{}"


class EndpointParameter(msgspec.Struct, frozen=True):
    """A parameter of a query or a header."""

    name: str
    type: type[Any]
    about: str
    place: Literal["query", "header"] = "query"
    required: bool = False


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A method of a path. Types are by status, and for requests by content type; bytes stand for other formats."""

    method: str
    path: str
    name: str  # unique; the operation's id, and the name in metrics
    about: str
    handler: Handler
    scope: Literal["read", "write", "admin"] | None = None  # None: no token is needed
    parameters: tuple[EndpointParameter, ...] = ()
    takes: dict[str, Any] = {}
    gives: dict[int, Any] = {}
    streams: tuple[str, ...] = ()  # content types of many events, in and out


def query_names(endpoint: Endpoint) -> frozenset[str]:
    """Return the names that an endpoint takes behind the question mark."""
    return frozenset(each.name for each in endpoint.parameters if each.place == "query")


class Router:
    """Finds the endpoint of a method and a path."""

    def __init__(self, endpoints: list[Endpoint]) -> None:
        self.endpoints = endpoints
        self._tree: dict[str, Any] = {}
        for endpoint in endpoints:
            branch = self._tree
            for part in _parts(endpoint.path):
                branch = branch.setdefault(ANY if part.startswith("{") else part, {})
            branch.setdefault("", {})[endpoint.method] = endpoint

    def find(self, method: str, raw_path: bytes) -> tuple[Endpoint, list[str]]:
        """Return the endpoint and the values of the path's parameters, decoded."""
        branch, values = self._tree, []
        for part in _parts(raw_path.decode("ascii", "replace")):
            below = branch.get(part) if part and part != ANY else None
            if below is None and part:
                below = branch.get(ANY)
                values.append(_decoded(part))
            if below is None:
                raise Problem(404, "path", "There is nothing at this path")
            branch = below
        methods: dict[str, Endpoint] = branch.get("", {})
        found = methods.get("GET" if method == "HEAD" else method)
        if found is None:
            if not methods:
                raise Problem(404, "path", "There is nothing at this path")
            raise Problem(405, "method", "The method is not allowed", f"allowed are {', '.join(methods)}")
        return found, values


def _parts(path: str) -> list[str]:
    """Return what stands between the slashes of a path; nothing for `/` alone."""
    return path.split("/")[1:] if path != "/" else []


def _decoded(part: str) -> str:
    try:
        return part if "%" not in part else unquote_to_bytes(part).decode("utf-8")
    except UnicodeDecodeError:
        raise Problem(400, "path", "The path is not UTF-8") from None

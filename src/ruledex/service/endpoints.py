"""Endpoints as data: what is asked where, with which scope, and the types of request and answer.

The router finds the endpoint of a request, and the OpenAPI page describes them all.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote_to_bytes

import msgspec

from ruledex.service.problems import Problem, ProblemDetails
from ruledex.service.request import JSON, Request

Handler: TypeAlias = Callable[[Request], Awaitable[None]]
ANY: Final = "{}"
_REF: Final = "#/components/schemas/{name}"


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


# The OpenAPI page.


def describe_api(endpoints: list[Endpoint], version: str) -> dict[str, Any]:
    """Return the OpenAPI page as a value for JSON."""
    types = [ProblemDetails]
    for endpoint in endpoints:
        types += [kind for kind in (*endpoint.takes.values(), *endpoint.gives.values()) if _is_struct(kind)]
    _, components = msgspec.json.schema_components(dict.fromkeys(types), ref_template=_REF)
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "ruledex", "version": version, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    summary, _, description = endpoint.about.partition("\n")
    told: dict[str, Any] = {"operationId": endpoint.name, "summary": summary}
    if description.strip():
        told["description"] = description.strip()
    if endpoint.scope is not None:
        told["security"] = [{"token": []}]
        told["x-scope"] = endpoint.scope
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]
    if parameters := in_path + [_parameter(parameter) for parameter in endpoint.parameters]:
        told["parameters"] = parameters
    if endpoint.takes:
        told["requestBody"] = {"required": True, "content": _content(endpoint.takes)}
    answers: dict[str, Any] = {}
    for status, kind in endpoint.gives.items():
        content = {} if kind is None else _content({JSON: kind} if _is_struct(kind) or kind is dict else kind)
        content |= {stream: {"schema": {"type": "string", "format": "binary"}} for stream in endpoint.streams}
        answers[str(status)] = {"description": _first_line(kind)} | ({"content": content} if content else {})
    answers["default"] = {
        "description": "An error.",
        "content": {"application/problem+json": {"schema": {"$ref": _REF.format(name="ProblemDetails")}}},
    }
    return told | {"responses": answers}


def _parameter(parameter: EndpointParameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.about,
        "schema": msgspec.json.schema(parameter.type),
    }


def _content(by_type: dict[str, Any]) -> dict[str, Any]:
    return {content_type: {"schema": _schema(kind)} for content_type, kind in by_type.items()}


def _schema(kind: Any) -> dict[str, Any]:
    if kind is bytes:
        return {"type": "string", "format": "binary"}
    if kind is dict:
        return {"type": "object"}
    return {"$ref": _REF.format(name=kind.__name__)} if _is_struct(kind) else msgspec.json.schema(kind)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _first_line(kind: Any) -> str:
    return (kind.__doc__ or "").split("\n")[0] if _is_struct(kind) else "Done."

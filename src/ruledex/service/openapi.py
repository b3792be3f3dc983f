"""The OpenAPI page, made from the endpoints and the types of their requests and answers."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from ruledex.service.endpoints import Endpoint, EndpointParameter
from ruledex.service.problems import ProblemDetails
from ruledex.service.request import JSON

_REF: Final = "#/components/schemas/{name}"


def describe_api(endpoints: list[Endpoint], version: str) -> dict[str, Any]:
    """Return the page as a value for JSON."""
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

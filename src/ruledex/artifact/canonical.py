"""JSON in one canonical form, so that equal content is equal bytes and has one hash."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ruledex.errors import ArtifactError

DEEPEST = 600  # levels of JSON; a rule has about two per level of its own


def encode(value: object, what: str) -> bytes:
    """Encode a value with sorted keys, no spaces, ASCII, and a final line feed. `what` names the value in errors.

    Tuples become lists.
    """
    try:
        _check_keys(value)
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(f"{what} cannot be written as JSON: {error}") from error
    return text.encode("ascii") + b"\n"


def decode(data: bytes, where: str) -> object:
    """Return the value of a JSON text. `where` names it in errors."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{where} is damaged: it is not JSON ({error})") from error
    if _is_deep(value):
        raise ArtifactError(f"{where} is damaged: it is nested more than {DEEPEST} deep")
    return value


def _is_deep(value: object) -> bool:
    """Return whether lists and objects are nested deeper than `DEEPEST`."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for outer in level:
            inner += [item for item in _items(outer) if isinstance(item, dict | list)]
        if not inner:
            return False
        level = inner
    return True


def _items(outer: Any) -> Iterable[Any]:
    return outer.values() if isinstance(outer, dict) else outer


def _check_keys(value: object) -> None:
    """Raise an error for keys that are not strings: json would silently turn 1 into "1"."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
            _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_keys(item)

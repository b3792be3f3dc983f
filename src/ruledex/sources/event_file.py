"""A file of events: one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from ruledex.errors import EventError
from ruledex.sources.lines import LineFile


def read_events(name: str) -> Iterator[tuple[int, dict[str, Any] | EventError]]:
    """Each event, or the error that it is none, with its line. `name` is a path, `-` for standard input."""
    for number, line in enumerate(LineFile(name).lines(), 1):
        if not line.strip():
            continue
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield number, EventError(f"line {number} is not JSON: {error}")
            continue
        yield number, event if isinstance(event, dict) else EventError(f"line {number} is not a JSON object")

"""Read a file of events: one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from ruledex.errors import EventError
from ruledex.sources.lines import LineFile


def read_events(source: str | Iterable[bytes]) -> Iterator[tuple[int, dict[str, Any] | EventError]]:
    """Yield the number of each line with its event, or with an error if the line is not an event.

    `source` is a path, `-` for standard input, or the lines themselves. Blank lines are skipped.
    """
    lines = LineFile(source).lines() if isinstance(source, str) else source
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield number, EventError(f"line {number} is not JSON: {error}")
            continue
        yield number, event if isinstance(event, dict) else EventError(f"line {number} is not a JSON object")

"""Read a file of events: one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import orjson

from ruledex.errors import EventError
from ruledex.sources.lines import LineFile


def read_events(source: str | Iterable[bytes]) -> Iterator[tuple[int, dict[str, Any] | EventError]]:
    """Yield the number of each line with its event, or with an error if the line is not an event.

    `source` is a path, `-` for standard input, or the lines themselves. Blank lines are skipped.
    """
    if isinstance(source, str):
        with closing(LineFile(source).lines()) as lines:
            yield from read_events(lines)
        return
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield number, EventError(f"line {number} is not JSON: {error}")
            continue
        yield number, event if isinstance(event, dict) else EventError(f"line {number} is not a JSON object")

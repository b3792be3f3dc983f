"""Encode events that are lines of JSON as an EventBatch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import orjson

from ruledex.dictionary.dictionary import Dictionary
from ruledex.errors import EventError
from ruledex.events.batch import EventBatch
from ruledex.events.mappings import EventEncoder


class JsonEvents(NamedTuple):
    """The encoded events of some lines."""

    batch: EventBatch
    n_skipped: int  # lines that are not events; they are left out, so events are not numbered as lines are


def encode_json(
    dictionary: Dictionary, lines: Iterable[bytes], on_error: Literal["raise", "skip"] = "raise"
) -> JsonEvents:
    """Return the cells of each line, a JSON object. A line that is not one raises EventError, or is counted."""
    reader = _Reader(on_error == "skip")
    batch = EventEncoder(dictionary).encode(reader.events(lines))
    return JsonEvents(batch, reader.n_skipped)


class _Reader:
    def __init__(self, skips: bool) -> None:
        self.skips = skips
        self.n_skipped = 0

    def events(self, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
        for number, line in enumerate(lines, 1):
            try:
                yield _event(line)
            except ValueError as error:
                if not self.skips:
                    raise EventError(f"line {number}: {error}") from None
                self.n_skipped += 1


def _event(line: bytes) -> dict[str, Any]:
    event = orjson.loads(line)
    if not isinstance(event, dict):
        raise ValueError("an event is a JSON object")
    return event

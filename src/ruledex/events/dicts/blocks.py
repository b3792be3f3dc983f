"""Divide a list of events into blocks that fit the processor's caches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_FIRST_EVENTS: Final = 64  # nobody knows yet how large they are
_MOST_EVENTS: Final = 512
_MOST_BYTES: Final = 1 << 19
_LARGE_EVENT: Final = 1 << 14  # bytes: most of them are surely of values that no rule reads


class Blocks:
    """The events in shorter lists, one after the other."""

    def __init__(self, events: list[Any]) -> None:
        self._events = events
        self._n_events = _FIRST_EVENTS
        self.is_quick = True  # whether the next block may be read as a whole

    def expect(self, n_bytes: int) -> None:
        """Let the next block be one of events of this size."""
        self.is_quick = n_bytes < _LARGE_EVENT
        self._n_events = max(1, min(_MOST_EVENTS, _MOST_BYTES // max(n_bytes, 1)))

    def __iter__(self) -> Iterator[list[Any]]:
        first = 0
        while first < len(self._events):
            block = self._events[first : first + self._n_events]
            first += len(block)
            yield block

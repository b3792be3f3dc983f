"""The rules of many events as one array, while blocks of events are still to come."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SPARE = 1.125  # of what the events so far let expect


class RuleBuffer:
    """Blocks write one after the other into one array of the size that those before them let expect.

    Memory that is new to a process costs more than what is written to it. An array for each block, copied into one at
    the end, would need it twice. What is reserved and never written to is not taken from the system.
    """

    def __init__(self, n_events: int) -> None:
        self._n_events = n_events
        self._n_seen = 0
        self._rules: NDArray[np.int32] = np.empty(0, np.int32)
        self._n_rules = 0

    def room(self, counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """The place of the next events' rules, of which each has so many; to be filled before the next is asked for."""
        end = self._n_rules + int(counts.sum())
        self._n_seen += len(counts)
        if end > len(self._rules):
            self._grow(end)
        place = self._rules[self._n_rules : end]
        self._n_rules = end
        return place

    def rules(self) -> NDArray[np.int32]:
        """All rules; the buffer must not be used after."""
        if len(self._rules) > self._n_rules:
            # No place that was given out is written to any longer, and to make an array smaller moves nothing.
            self._rules.resize(self._n_rules, refcheck=False)
        return self._rules

    def _grow(self, least: int) -> None:
        expected = least
        if self._n_seen < self._n_events:
            expected = int(least * (self._n_events / self._n_seen) * _SPARE)
        try:
            larger = np.empty(expected, np.int32)
        except MemoryError:  # The first events may have far more rules than the rest.
            larger = np.empty(min(expected, 2 * least), np.int32)
        larger[: self._n_rules] = self._rules[: self._n_rules]
        self._rules = larger

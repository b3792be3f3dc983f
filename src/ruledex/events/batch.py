"""EventBatch: events as flat arrays, the only form in which an engine sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import OFFSET, WEIGHT


class EventBatch(NamedTuple):
    """The cells of each event, ascending and without duplicates. The first cell of each event is `EVERY`, 0.

    `single` says that no event has two cells in one domain, so that engines may answer ranges by prefixes.
    """

    offsets: NDArray[np.int64]  # [n_events + 1]
    cells: NDArray[np.int32]
    weights: NDArray[np.float64]  # one per cell, or empty if all are 1
    single: bool

    @property
    def n_events(self) -> int:
        """The number of events."""
        return len(self.offsets) - 1

    def part(self, first: int, last: int) -> EventBatch:
        """Return the events from `first` up to `last`."""
        begin, end = self.offsets[first], self.offsets[last]
        offsets = self.offsets[first : last + 1] - begin
        return EventBatch(offsets, self.cells[begin:end], self.weights[begin:end], self.single)


def join_batches(batches: Sequence[EventBatch]) -> EventBatch:
    """Return the events of several batches without weights as one."""
    if len(batches) == 1:
        return batches[0]
    sizes = np.concatenate([np.diff(batch.offsets) for batch in batches])
    offsets = np.zeros(len(sizes) + 1, OFFSET)
    np.cumsum(sizes, out=offsets[1:])
    cells = np.concatenate([batch.cells for batch in batches])
    return EventBatch(offsets, cells, np.empty(0, WEIGHT), all(batch.single for batch in batches))

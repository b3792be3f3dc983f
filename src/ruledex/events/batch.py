"""EventBatch: events as flat arrays, the only form in which an engine sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class EventBatch(NamedTuple):
    """For each event its cells, ascending and without duplicates; `EVERY`, cell 0, is the first of each.

    `single` says that no event has two cells in one domain, so that ranges may be answered by prefixes.
    """

    offsets: NDArray[np.int64]  # [n_events + 1]
    cells: NDArray[np.int32]
    weights: NDArray[np.float64]  # one a cell, or empty where all are 1
    single: bool

    @property
    def n_events(self) -> int:
        """How many events."""
        return len(self.offsets) - 1

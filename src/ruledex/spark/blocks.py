"""Arrow batches of whatever size, regrouped on their way in and cut on their way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def regrouped(batches: Iterable[pa.RecordBatch], n_rows: int) -> Iterator[pa.Table]:
    """Tables of at least so many rows, but for the last; batches are joined, never split."""
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += batch.num_rows
        if n_waiting >= n_rows:
            yield pa.Table.from_batches(waiting)
            waiting, n_waiting = [], 0
    if n_waiting:
        yield pa.Table.from_batches(waiting)


def cuts(offsets: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Runs of events whose entries together are at most so many; an event that has more by itself is a run."""
    first, n_events = 0, len(offsets) - 1
    while first < n_events:
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = min(max(last, first + 1), n_events)
        yield first, last
        first = last

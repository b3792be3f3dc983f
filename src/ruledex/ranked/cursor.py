"""Where a query stands in a tree, so that it can go on from there; and the heap that merges the lists of several nodes.

A row is a query. Trees whose nodes hold lists use one column for each node that the query visits: how far its list was
read, and in the heap its next interval, the best on top. Trees that are one list use the first column alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import inlined
from ruledex.engines.ranking import precedes

NOT_STARTED = -1


class TreeCursors(NamedTuple):
    """Scratch of queries: one row per query, one column per node that a query may visit."""

    n_held: NDArray[np.int64]  # [n_rows] entries of the heap: 0 at the end, `NOT_STARTED` before the start
    place: NDArray[np.int64]  # [n_rows, width] where a column's list goes on
    node: NDArray[np.int32]  # [n_rows, width]
    heap_score: NDArray[np.float64]
    heap_id: NDArray[np.int32]
    heap_column: NDArray[np.int32]


@inlined
def add_to_heap(
    scores: NDArray[np.float64],
    ids: NDArray[np.int32],
    columns: NDArray[np.int32],
    n_held: int,
    score: float,
    identity: int,
    column: int,
) -> int:
    """Put a column's next interval into the heap; return the heap's new size."""
    place = n_held
    while place > 0:
        above = (place - 1) >> 1
        if precedes(scores[above], ids[above], score, identity):
            break
        scores[place], ids[place], columns[place] = scores[above], ids[above], columns[above]
        place = above
    scores[place], ids[place], columns[place] = score, identity, column
    return n_held + 1


@inlined
def replace_best(
    scores: NDArray[np.float64],
    ids: NDArray[np.int32],
    columns: NDArray[np.int32],
    n_held: int,
    score: float,
    identity: int,
    column: int,
) -> None:
    """Put an interval in place of the heap's top, and move it down to where it belongs."""
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n_held:
            break
        right = below + 1
        if right < n_held and precedes(scores[right], ids[right], scores[below], ids[below]):
            below = right
        if precedes(score, identity, scores[below], ids[below]):
            break
        scores[place], ids[place], columns[place] = scores[below], ids[below], columns[below]
        place = below
    scores[place], ids[place], columns[place] = score, identity, column

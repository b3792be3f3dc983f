"""The arrangement of an SOPT-R-tree: the constraint graph by visible blocks, and Algorithm 1 (Sections 3.2.1, 3.2.2).

Intervals are numbered in descending order of their scores, ties by id, so that of two the smaller number is the
better. Numbers are cells: each end is one, and what lies between two ends side by side, if anything does, another.

Looking up from below, each cell shows the worst interval so far that covers it; cells side by side that show the same
are a block. A new interval has an edge from what each block shows that it meets, and then covers them: the blocks
within it go, those at its ends are cut. That is three new blocks at the most, and each edge takes one: at most 3n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.ranked_bitset import NONE, drop, last_member, level_offsets, next_member, put


@jit
def constraint_graph(
    low_cell: NDArray[np.int32],
    high_cell: NDArray[np.int32],
    n_cells: int,
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
) -> int:
    """Write the edges, grouped by their targets; return their number. The output has room for 3n."""
    offsets = level_offsets(n_cells + 1)
    starts = np.zeros(offsets[-1], np.uint64)
    shown = np.full(n_cells + 1, NONE, np.int32)  # at the start of a block: the interval that it shows
    latest = np.full(low_cell.size, NONE, np.int32)  # an interval may show in several of the blocks that are met
    n_edges = 0
    put(starts, offsets, 0)
    for interval in range(low_cell.size):
        low, high = low_cell[interval], high_cell[interval]
        block = last_member(starts, offsets, low)
        last_shown = shown[block]
        after = next_member(starts, offsets, high + 1)
        while block != NONE and block <= high:
            last_shown = shown[block]
            if last_shown != NONE and latest[last_shown] != interval:
                latest[last_shown] = interval
                sources[n_edges], targets[n_edges] = last_shown, interval
                n_edges += 1
            if block > low:
                drop(starts, offsets, block)
            block = next_member(starts, offsets, block + 1)
        put(starts, offsets, low)
        shown[low] = interval
        if after != high + 1 and high + 1 < n_cells:
            put(starts, offsets, high + 1)
            shown[high + 1] = last_shown
    return n_edges


@jit
def arrange(
    n_intervals: int,
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    by_left: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Algorithm 1: always the interval that begins leftmost of those that no edge leads to any more.

    `by_left` are all intervals in the order of their left ends.
    """
    n_incoming = np.zeros(n_intervals, np.int32)
    edge_offsets = np.zeros(n_intervals + 2, np.int64)
    for edge in range(sources.size):
        n_incoming[targets[edge]] += 1
        edge_offsets[sources[edge] + 2] += 1
    for interval in range(n_intervals):
        edge_offsets[interval + 2] += edge_offsets[interval + 1]
    edges = np.empty(sources.size, np.int32)
    for edge in range(sources.size):
        edges[edge_offsets[sources[edge] + 1]] = targets[edge]
        edge_offsets[sources[edge] + 1] += 1
    left_place = np.empty(n_intervals, np.int32)
    offsets = level_offsets(n_intervals)
    ready = np.zeros(offsets[-1], np.uint64)
    for place in range(n_intervals):
        left_place[by_left[place]] = place
        if n_incoming[by_left[place]] == 0:
            put(ready, offsets, place)
    for n_arranged in range(n_intervals):
        place = next_member(ready, offsets, 0)
        drop(ready, offsets, place)
        interval = by_left[place]
        out[n_arranged] = interval
        for edge in range(edge_offsets[interval], edge_offsets[interval + 1]):
            n_incoming[edges[edge]] -= 1
            if n_incoming[edges[edge]] == 0:
                put(ready, offsets, left_place[edges[edge]])

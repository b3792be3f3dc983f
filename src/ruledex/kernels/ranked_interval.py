"""The scored interval tree (Section 2.2.2): at each node its intervals, the best first, read until one fits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import inlined, jit
from ruledex.kernels.ranked_cursor import NOT_STARTED, Cursors, add_to_heap, replace_best
from ruledex.kernels.ranked_skeleton import visit


class IntervalTreeIndex(NamedTuple):
    """Several trees in the same arrays."""

    roots: NDArray[np.int32]  # [n_trees] nodes
    pivot: NDArray[np.float64]  # [n_nodes]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    extents: NDArray[np.float64]  # [2 * n_nodes] the least interval around a node's own
    list_offsets: NDArray[np.int32]  # [n_nodes + 1]
    ends: NDArray[np.float64]  # [2 * n_entries]
    ids: NDArray[np.int32]
    score: NDArray[np.float64]  # by id


IntervalTreeArrays = tuple[NDArray[Any], ...]


@inlined
def _next_fit(ends: NDArray[np.float64], place: int, last: int, low: float, high: float) -> int:
    """The first entry from `place` on that overlaps [low, high], or `last`."""
    while place < last and not (ends[2 * place] <= high and ends[2 * place + 1] >= low):
        place += 1
    return place


@jit
def fill_from_interval_tree(
    index_arrays: IntervalTreeArrays,
    trees: NDArray[np.int32],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    cursors: Cursors,
    fresh: bool,
    wanted: NDArray[np.int64],
    out_ids: NDArray[np.int32],
    out_scores: NDArray[np.float64],
    n_filled: NDArray[np.int64],
) -> None:
    """For each query, write the intervals of its tree that overlap [low, high] until there are as many as wanted.

    Rows go on where they stood, each at its own cursor; or, if `fresh`, all start anew and share the first one.
    """
    index = IntervalTreeIndex(*index_arrays)
    extents, list_offsets, ends, ids, score = index.extents, index.list_offsets, index.ends, index.ids, index.score
    for row in range(trees.size):
        cursor = 0 if fresh else row
        places, nodes = cursors.place[cursor], cursors.node[cursor]
        heap_score, heap_id, heap_slot = cursors.heap_score[cursor], cursors.heap_id[cursor], cursors.heap_slot[cursor]
        n_held, query_low, query_high = cursors.n_held[cursor], low[row], high[row]
        if fresh or n_held == NOT_STARTED:
            n_held = 0
            root = index.roots[trees[row]]
            for slot in range(visit(index.pivot, index.left, index.right, root, query_low, query_high, nodes)):
                node = nodes[slot]
                if extents[2 * node] <= query_high and extents[2 * node + 1] >= query_low:
                    last = list_offsets[node + 1]
                    place = _next_fit(ends, list_offsets[node], last, query_low, query_high)
                    if place < last:
                        places[slot] = place + 1
                        n_held = add_to_heap(
                            heap_score, heap_id, heap_slot, n_held, score[ids[place]], ids[place], slot
                        )
        n_found = n_filled[row]
        while n_held > 0 and n_found < wanted[row]:
            slot = heap_slot[0]
            out_ids[row, n_found], out_scores[row, n_found] = heap_id[0], heap_score[0]
            n_found += 1
            last = list_offsets[nodes[slot] + 1]
            place = _next_fit(ends, places[slot], last, query_low, query_high)
            places[slot] = place + 1
            if place < last:
                replace_best(heap_score, heap_id, heap_slot, n_held, score[ids[place]], ids[place], slot)
            else:
                n_held -= 1
                replace_best(
                    heap_score, heap_id, heap_slot, n_held, heap_score[n_held], heap_id[n_held], heap_slot[n_held]
                )
        cursors.n_held[cursor], n_filled[row] = n_held, n_found

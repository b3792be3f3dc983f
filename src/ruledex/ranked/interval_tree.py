"""The scored interval tree (Section 2.2.2), and the binary tree under it and under IR-trees (Section 2.1.1).

A node's pivot is the median of the ends of its intervals. Those that hold the pivot stay, those below it go left and
those above it right. A few intervals are not split any further: they are one node without a pivot. In an interval tree,
a node's intervals are in the order of their scores, and are read until one fits.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.inputs import dtypes_of
from ruledex.errors import RuledexError
from ruledex.ranked.intervals import Entries
from ruledex.ranked.tree import (
    NOT_STARTED,
    Floats,
    ScoredTree,
    TreeArrays,
    TreeCursors,
    add_to_heap,
    drop_best,
    replace_best,
)

NO_NODE = -1
IntervalTreeArrays = tuple[NDArray[Any], ...]
MOST_UNSPLIT = 32


class Skeleton(NamedTuple):
    """The nodes, in the order in which they were made, the root first. A node without a pivot has NaN there."""

    pivot: NDArray[np.float64]
    left: NDArray[np.int32]  # `NO_NODE` where there is none
    right: NDArray[np.int32]
    first: NDArray[np.int32]  # a node's entries, in `order`, from `first` up to `last`
    last: NDArray[np.int32]


@jit
def select(values: NDArray[np.float64], n_values: int, place: int) -> float:
    """Return what would stand at `place` if the first `n_values` values were sorted; their order changes."""
    low, high = 0, n_values - 1
    while low < high:
        middle, left, right = values[(low + high) >> 1], low, high
        while left <= right:
            while values[left] < middle:
                left += 1
            while values[right] > middle:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left, right = left + 1, right - 1
        if place <= right:
            high = right
        elif place >= left:
            low = left
        else:
            break
    return float(values[place])


@jit
def build_skeleton(ends: NDArray[np.float64], most: int, nodes: Skeleton, order: NDArray[np.int32]) -> tuple[int, int]:
    """Write the nodes over all intervals, of which at most `most` stay without a pivot; return their number and depth.

    `order` gets the places of the intervals, each node's together and as they stood. Without intervals, no node.
    """
    n_entries = ends.size // 2
    pivots, lefts, rights, firsts, lasts = nodes.pivot, nodes.left, nodes.right, nodes.first, nodes.last
    depths = np.zeros(pivots.size, np.int32)
    aside, of_node = np.empty(n_entries, np.int32), np.empty(ends.size)
    for entry in range(n_entries):
        order[entry] = entry
    n_nodes = 0
    if n_entries > 0:
        firsts[0], lasts[0], n_nodes = 0, n_entries, 1
    deepest, node = 0, 0
    while node < n_nodes:
        first, last = firsts[node], lasts[node]
        pivots[node], lefts[node], rights[node] = np.nan, NO_NODE, NO_NODE
        deepest = max(deepest, depths[node] + 1)
        n_own = last - first
        if n_own > most:
            for place in range(n_own):
                entry = order[first + place]
                of_node[2 * place], of_node[2 * place + 1] = ends[2 * entry], ends[2 * entry + 1]
            pivot = select(of_node, 2 * n_own, n_own - 1)
            n_here, n_left = 0, 0
            for place in range(first, last):
                entry = order[place]
                n_left += 1 if ends[2 * entry + 1] < pivot else 0
                n_here += 1 if ends[2 * entry] <= pivot <= ends[2 * entry + 1] else 0
            here, left, right = first, first + n_here, first + n_here + n_left
            for place in range(first, last):
                aside[place] = order[place]
            for place in range(first, last):
                entry = aside[place]
                if ends[2 * entry + 1] < pivot:
                    order[left] = entry
                    left += 1
                elif ends[2 * entry] > pivot:
                    order[right] = entry
                    right += 1
                else:
                    order[here] = entry
                    here += 1
            pivots[node], lasts[node] = pivot, here
            if left > here:
                firsts[n_nodes], lasts[n_nodes], lefts[node], depths[n_nodes] = here, left, n_nodes, depths[node] + 1
                n_nodes += 1
            if right > left:
                firsts[n_nodes], lasts[n_nodes], rights[node], depths[n_nodes] = left, right, n_nodes, depths[node] + 1
                n_nodes += 1
        node += 1
    return n_nodes, deepest


@inlined
def visit(
    pivots: NDArray[np.float64],
    lefts: NDArray[np.int32],
    rights: NDArray[np.int32],
    root: int,
    low: float,
    high: float,
    out: NDArray[np.int32],
) -> int:
    """Write the nodes that may have intervals that overlap [low, high]; return their number. A point has one way."""
    n_visited, place = 0, 0
    if root != NO_NODE:
        out[0], n_visited = root, 1
    while place < n_visited:
        node = out[place]
        place += 1
        # No comparison with the NaN of a node without a pivot is true, and it has no children.
        if low < pivots[node] and lefts[node] != NO_NODE:
            out[n_visited] = lefts[node]
            n_visited += 1
        if high > pivots[node] and rights[node] != NO_NODE:
            out[n_visited] = rights[node]
            n_visited += 1
    return n_visited


class BuiltSkeleton(NamedTuple):
    """The nodes, the order of the entries that they refer to, and the depth of the deepest node."""

    nodes: Skeleton
    order: NDArray[np.int32]
    depth: int


def skeleton_of(ends: Floats, most: int) -> BuiltSkeleton:
    """Return the nodes over intervals in descending order of scores; at most `most` stay together without a pivot."""
    n_entries = len(ends) // 2
    # Nodes with a pivot have more than `most` intervals in and below them, and each level halves them: at most
    # 2n / most nodes with a pivot, two children each.
    n_room = 6 * n_entries // most + 4
    numbers = [np.empty(n_room, np.int32) for _ in range(4)]
    nodes = Skeleton(np.empty(n_room), *numbers)
    order = np.empty(n_entries, np.int32)
    n_nodes, depth = build_skeleton(frozen(ends, np.float64), most, nodes, order)
    return BuiltSkeleton(Skeleton(nodes.pivot[:n_nodes], *(array[:n_nodes] for array in numbers)), order, depth)


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


@inlined
def _next_fit(ends: NDArray[np.float64], place: int, last: int, low: float, high: float) -> int:
    """Return the first entry from `place` on that overlaps [low, high], or `last`."""
    while place < last and not (ends[2 * place] <= high and ends[2 * place + 1] >= low):
        place += 1
    return place


@jit
def fill_from_interval_tree(
    index_arrays: IntervalTreeArrays,
    trees: NDArray[np.int32],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    cursors: TreeCursors,
    fresh: bool,
    wanted: NDArray[np.int64],
    out_ids: NDArray[np.int32],
    out_scores: NDArray[np.float64],
    n_filled: NDArray[np.int64],
) -> None:
    """Write for each query the intervals of its tree that overlap [low, high], until there are as many as wanted.

    Rows go on where they stood, each at its own cursor; or, if `fresh`, all start anew and share the first one.
    """
    index = IntervalTreeIndex(*index_arrays)
    extents, list_offsets, ends, ids, score = index.extents, index.list_offsets, index.ends, index.ids, index.score
    for row in range(trees.size):
        cursor = 0 if fresh else row
        places, nodes = cursors.place[cursor], cursors.node[cursor]
        heap_score, heap_id = cursors.heap_score[cursor], cursors.heap_id[cursor]
        heap_column = cursors.heap_column[cursor]
        n_held, query_low, query_high = cursors.n_held[cursor], low[row], high[row]
        if fresh or n_held == NOT_STARTED:
            n_held = 0
            root = index.roots[trees[row]]
            for column in range(visit(index.pivot, index.left, index.right, root, query_low, query_high, nodes)):
                node = nodes[column]
                if extents[2 * node] <= query_high and extents[2 * node + 1] >= query_low:
                    last = list_offsets[node + 1]
                    place = _next_fit(ends, list_offsets[node], last, query_low, query_high)
                    if place < last:
                        places[column] = place + 1
                        n_held = add_to_heap(
                            heap_score, heap_id, heap_column, n_held, score[ids[place]], ids[place], column
                        )
        n_found = n_filled[row]
        while n_held > 0 and n_found < wanted[row]:
            column = heap_column[0]
            out_ids[row, n_found], out_scores[row, n_found] = heap_id[0], heap_score[0]
            n_found += 1
            last = list_offsets[nodes[column] + 1]
            place = _next_fit(ends, places[column], last, query_low, query_high)
            places[column] = place + 1
            if place < last:
                replace_best(heap_score, heap_id, heap_column, n_held, score[ids[place]], ids[place], column)
            else:
                n_held = drop_best(heap_score, heap_id, heap_column, n_held)
        cursors.n_held[cursor], n_filled[row] = n_held, n_found


class ScoredIntervalTree(ScoredTree):
    """The smallest tree. A query reads lists that are in the order of scores, whatever the place of the intervals.

    >>> from ruledex.ranked.interval_tree import ScoredIntervalTree
    >>> ScoredIntervalTree.build(left=[0, 10], right=[20, 30], score=[3.0, 9.5]).stab_top(18, k=1).ids.tolist()
    [1]
    """

    name = "interval"
    can_overlap = True
    fill_kernel = staticmethod(fill_from_interval_tree)
    dtypes = dtypes_of(IntervalTreeIndex)

    def __init__(self, index: TreeArrays) -> None:
        super().__init__(index)
        self._depth = _deepest(self.index)

    @classmethod
    def from_entries(cls, entries: Entries, *, most_unsplit: int = MOST_UNSPLIT) -> Self:  # type: ignore[override]
        """Split each tree's entries at medians until at most `most_unsplit` are left in a node."""
        if most_unsplit < 1:
            raise RuledexError(f"most_unsplit is {most_unsplit}, but must be at least 1")
        bounds = zip(entries.offsets[:-1].tolist(), entries.offsets[1:].tolist(), strict=True)
        built = [(first, skeleton_of(entries.ends[2 * first : 2 * last], most_unsplit)) for first, last in bounds]
        first_nodes = np.concatenate([[0], np.cumsum([len(one.nodes.pivot) for _, one in built])])
        children = {
            name: np.concatenate(
                [
                    np.where(getattr(one.nodes, name) == NO_NODE, NO_NODE, getattr(one.nodes, name) + first_node)
                    for (_, one), first_node in zip(built, first_nodes.tolist(), strict=False)
                ]
            )
            for name in ("left", "right")
        }
        # Nodes are made level by level and their entries lie elsewhere: here each node's list follows the one before.
        order = np.concatenate([first + one.order[_by_node(one.nodes.first, one.nodes.last)] for first, one in built])
        sizes = np.concatenate([one.nodes.last - one.nodes.first for _, one in built])
        list_offsets = np.concatenate([[0], np.cumsum(sizes)])
        ends = entries.ends.reshape(-1, 2)[order]
        starts = list_offsets[:-1]
        extents = np.stack([np.minimum.reduceat(ends[:, 0], starts), np.maximum.reduceat(ends[:, 1], starts)], axis=1)
        index = IntervalTreeIndex(
            frozen(np.where(np.diff(entries.offsets) > 0, first_nodes[:-1], NO_NODE), np.int32),
            frozen(np.concatenate([one.nodes.pivot for _, one in built]), np.float64),
            frozen(children["left"], np.int32),
            frozen(children["right"], np.int32),
            frozen(extents.reshape(-1), np.float64),
            frozen(list_offsets, np.int32),
            frozen(ends.reshape(-1), np.float64),
            frozen(entries.ids[order], np.int32),
            entries.score,
        )
        return cls(tuple(index))

    @property
    def index(self) -> IntervalTreeIndex:
        """The arrays as the kernels name them."""
        return IntervalTreeIndex(*self._index)

    def width(self, is_point: bool) -> int:
        """Return the depth for a point; an interval may need every node."""
        return self._depth if is_point else max(len(self.index.pivot), 1)


def _by_node(first: NDArray[np.int32], last: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the places from `first` up to `last` of each node, one node after the other."""
    sizes = (last - first).astype(np.int64)
    shift = first - (np.cumsum(sizes) - sizes)
    return np.repeat(shift, sizes) + np.arange(int(sizes.sum()))


def _deepest(index: IntervalTreeIndex) -> int:
    """Return how many nodes the longest way down has, and 1 where there is none."""
    level, depth = index.roots[index.roots != NO_NODE], 0
    while len(level):
        children = np.concatenate([index.left[level], index.right[level]])
        level, depth = children[children != NO_NODE], depth + 1
    return max(depth, 1)

"""The scored segment tree (Sections 2.1.2 and 2.2.1): each interval in the lists of some of the nodes that it covers.

The ends of the intervals cut the numbers into segments, the leaves of a balanced binary tree. A node's list has the
intervals that cover all of its segments but not all of its parent's, the best first. All lists from a leaf to the root
hold only intervals that hold the point, so they are merged and nothing is tested.

A tree has a power of two of leaves, and its nodes are numbered as a heap's, the root with 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import dtypes_of
from ruledex.ranked.intervals import Entries
from ruledex.ranked.tree import NOT_STARTED, Floats, ScoredTree, TreeCursors, add_to_heap, drop_best, replace_best

SegmentTreeArrays = tuple[NDArray[Any], ...]


class SegmentTreeIndex(NamedTuple):
    """Several trees in the same arrays."""

    cut_offsets: NDArray[np.int64]  # [n_trees + 1]
    cuts: NDArray[np.float64]  # ascending within a tree: segment i begins at cut i, the last one has no end
    node_offsets: NDArray[np.int64]  # [n_trees + 1] twice as many nodes as leaves
    list_offsets: NDArray[np.int64]  # [n_nodes + 1]
    ids: NDArray[np.int32]
    score: NDArray[np.float64]  # by id


@jit
def count_in_lists(
    first_segment: NDArray[np.int32],
    end_segment: NDArray[np.int32],
    first_node: int,
    n_leaves: int,
    counts: NDArray[np.int64],
) -> None:
    """Add to each node's count how many intervals its list will have."""
    for interval in range(first_segment.size):
        low, high = first_segment[interval] + n_leaves, end_segment[interval] + n_leaves
        while low < high:
            counts[first_node + low] += low & 1
            counts[first_node + high - 1] += high & 1
            low, high = (low + 1) >> 1, high >> 1


@jit
def fill_lists(
    first_segment: NDArray[np.int32],
    end_segment: NDArray[np.int32],
    ids: NDArray[np.int32],
    first_node: int,
    n_leaves: int,
    ends: NDArray[np.int64],
    lists: NDArray[np.int32],
) -> None:
    """Write each interval to its lists; `ends` is where each list goes on."""
    for interval in range(first_segment.size):
        low, high = first_segment[interval] + n_leaves, end_segment[interval] + n_leaves
        while low < high:
            if low & 1:
                lists[ends[first_node + low]] = ids[interval]
                ends[first_node + low] += 1
            if high & 1:
                lists[ends[first_node + high - 1]] = ids[interval]
                ends[first_node + high - 1] += 1
            low, high = (low + 1) >> 1, high >> 1


@jit
def fill_from_segment_tree(
    index_arrays: SegmentTreeArrays,
    trees: NDArray[np.int32],
    points: NDArray[np.float64],
    _high: NDArray[np.float64],
    cursors: TreeCursors,
    fresh: bool,
    wanted: NDArray[np.int64],
    out_ids: NDArray[np.int32],
    out_scores: NDArray[np.float64],
    n_filled: NDArray[np.int64],
) -> None:
    """Write for each query the intervals of its tree that hold the point, until there are as many as wanted.

    Rows go on where they stood, each at its own cursor; or, if `fresh`, all start anew and share the first one.
    """
    index = SegmentTreeIndex(*index_arrays)
    cuts, list_offsets, ids, score = index.cuts, index.list_offsets, index.ids, index.score
    for row in range(trees.size):
        cursor = 0 if fresh else row
        places, nodes = cursors.place[cursor], cursors.node[cursor]
        heap_score, heap_id = cursors.heap_score[cursor], cursors.heap_id[cursor]
        heap_column = cursors.heap_column[cursor]
        n_held = 0 if fresh else cursors.n_held[cursor]
        if fresh or n_held == NOT_STARTED:
            n_held = 0
            first_cut, end_cut = index.cut_offsets[trees[row]], index.cut_offsets[trees[row] + 1]
            segment = np.searchsorted(cuts[first_cut:end_cut], points[row], side="right") - 1
            first_node = index.node_offsets[trees[row]]
            n_leaves = (index.node_offsets[trees[row] + 1] - first_node) >> 1
            # Nothing lies before the first segment, nor in the last one where it has no leaf.
            node = segment + n_leaves if 0 <= segment < n_leaves else 0
            column = 0
            while node > 0:
                place = list_offsets[first_node + node]
                if place < list_offsets[first_node + node + 1]:
                    nodes[column], places[column] = node, place + 1
                    n_held = add_to_heap(
                        heap_score, heap_id, heap_column, n_held, score[ids[place]], ids[place], column
                    )
                    column += 1
                node >>= 1
        n_found, first_node = n_filled[row], index.node_offsets[trees[row]]
        while n_held > 0 and n_found < wanted[row]:
            column = heap_column[0]
            out_ids[row, n_found], out_scores[row, n_found] = heap_id[0], heap_score[0]
            n_found += 1
            place = places[column]
            if place < list_offsets[first_node + nodes[column] + 1]:
                places[column] = place + 1
                replace_best(heap_score, heap_id, heap_column, n_held, score[ids[place]], ids[place], column)
            else:
                n_held = drop_best(heap_score, heap_id, heap_column, n_held)
        cursors.n_held[cursor], n_filled[row] = n_held, n_found


class ScoredSegmentTree(ScoredTree):
    """No interval is looked at that does not hold the point. Each takes up to two entries per level of the tree.

    >>> from ruledex.ranked.segment_tree import ScoredSegmentTree
    >>> ScoredSegmentTree.build(left=[0, 10], right=[20, 30], score=[3.0, 9.5]).stab_top(18, k=1).ids.tolist()
    [1]
    """

    name = "segment"
    can_overlap = False
    fill_kernel = staticmethod(fill_from_segment_tree)
    dtypes = dtypes_of(SegmentTreeIndex)

    @classmethod
    def from_entries(cls, entries: Entries) -> Self:  # type: ignore[override]
        """Cut the numbers of each tree into segments, count the lists, fill them."""
        bounds = list(zip(entries.offsets[:-1].tolist(), entries.offsets[1:].tolist(), strict=True))
        segments = [_segments(entries.ends[2 * first : 2 * last]) for first, last in bounds]
        # A leaf more than there are cuts that begin a covered segment would be a level more for nothing.
        n_leaves = [_power_of_two(int(end.max(initial=1))) for _, _, end in segments]
        node_offsets = np.concatenate([[0], 2 * np.cumsum(n_leaves)])
        counts = np.zeros(node_offsets[-1] + 1, np.int64)
        for (_, begin, end), n, node in zip(segments, n_leaves, node_offsets.tolist(), strict=False):
            count_in_lists(begin, end, node, n, counts[1:])
        list_offsets = np.cumsum(counts)
        lists, ends = np.empty(list_offsets[-1], np.int32), list_offsets[:-1].copy()
        for (_, begin, end), n, node, (first, last) in zip(
            segments, n_leaves, node_offsets.tolist(), bounds, strict=False
        ):
            fill_lists(begin, end, entries.ids[first:last], node, n, ends, lists)
        cuts = [cut for cut, _, _ in segments]
        index = SegmentTreeIndex(
            frozen(np.concatenate([[0], np.cumsum([len(cut) for cut in cuts])]), np.int64),
            frozen(np.concatenate(cuts), np.float64),
            frozen(node_offsets, np.int64),
            frozen(list_offsets, np.int64),
            frozen(lists, np.int32),
            entries.score,
        )
        return cls(tuple(index))

    @property
    def index(self) -> SegmentTreeIndex:
        """The arrays as the kernels name them."""
        return SegmentTreeIndex(*self._index)

    def width(self, is_point: bool) -> int:  # noqa: ARG002
        """Return the levels of the deepest tree."""
        return int(np.max(np.diff(self.index.node_offsets), initial=2)).bit_length()


def _segments(ends: Floats) -> tuple[Floats, NDArray[np.int32], NDArray[np.int32]]:
    """Return the cuts, and for each interval its first segment and the one after its last."""
    low, high = ends[0::2], ends[1::2]
    with np.errstate(over="ignore"):  # after the largest number comes infinity, as it should
        after = np.nextafter(high, np.inf)  # where the interval has ended; at infinity, nowhere
    cuts = np.unique(np.concatenate([low, after[high < np.inf]]))
    begin = np.searchsorted(cuts, low)
    end = np.where(high < np.inf, np.searchsorted(cuts, after), len(cuts))
    return cuts, begin.astype(np.int32), end.astype(np.int32)


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()

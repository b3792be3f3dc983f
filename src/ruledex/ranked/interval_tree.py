"""The scored interval tree (Section 2.2.2): each interval on the highest node whose pivot it holds.

A node's intervals are in the order of their scores, and are read until one fits.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import inlined, jit
from ruledex.errors import RuledexError
from ruledex.ranked.cursor import NOT_STARTED, TreeCursors, add_to_heap, replace_best
from ruledex.ranked.intervals import Entries
from ruledex.ranked.skeleton import NO_NODE, skeleton_of, visit
from ruledex.ranked.tree import Floats, ScoredTree, TreeArrays, Trees

IntervalTreeArrays = tuple[NDArray[Any], ...]
MOST_UNSPLIT = 32


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
    """For each query, write the intervals of its tree that overlap [low, high] until there are as many as wanted.

    Rows go on where they stood, each at its own cursor; or, if `fresh`, all start anew and share the first one.
    """
    index = IntervalTreeIndex(*index_arrays)
    extents, list_offsets, ends, ids, score = index.extents, index.list_offsets, index.ends, index.ids, index.score
    for row in range(trees.size):
        cursor = 0 if fresh else row
        places, nodes = cursors.place[cursor], cursors.node[cursor]
        heap_score, heap_id, heap_column = (
            cursors.heap_score[cursor],
            cursors.heap_id[cursor],
            cursors.heap_column[cursor],
        )
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
                n_held -= 1
                replace_best(
                    heap_score, heap_id, heap_column, n_held, heap_score[n_held], heap_id[n_held], heap_column[n_held]
                )
        cursors.n_held[cursor], n_filled[row] = n_held, n_found


class ScoredIntervalTree(ScoredTree):
    """The smallest tree. A query reads lists that are in the order of scores, whatever the place of the intervals."""

    name = "interval"
    can_overlap = True
    dtypes: ClassVar[dict[str, type[np.generic]]] = {
        "roots": np.int32,
        "pivot": np.float64,
        "left": np.int32,
        "right": np.int32,
        "extents": np.float64,
        "list_offsets": np.int32,
        "ends": np.float64,
        "ids": np.int32,
        "score": np.float64,
    }

    def __init__(self, index: TreeArrays) -> None:
        super().__init__(index)
        self._depth = _deepest(self.index)

    @classmethod
    def from_entries(cls, entries: Entries, *, most_unsplit: int = MOST_UNSPLIT, **unknown: Any) -> Self:
        """Split each tree's entries at medians until at most `most_unsplit` are left in a node."""
        if unknown:
            raise TypeError(f"unknown options: {', '.join(unknown)}")
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

    def fill(
        self,
        trees: Trees,
        low: Floats,
        high: Floats,
        cursors: TreeCursors,
        fresh: bool,
        wanted: NDArray[np.int64],
        out_ids: NDArray[np.int32],
        out_scores: Floats,
        n_filled: NDArray[np.int64],
    ) -> None:
        """Merge the lists of the nodes on the way: see `ScoredTree`."""
        fill_from_interval_tree(self._index, trees, low, high, cursors, fresh, wanted, out_ids, out_scores, n_filled)


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

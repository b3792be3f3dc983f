"""`ScoredIntervalTree`: each interval on the highest node whose pivot it holds, by score (Section 2.2.2)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.inputs import frozen
from ruledex.errors import RuledexError
from ruledex.kernels.ranked_cursor import Cursors
from ruledex.kernels.ranked_interval import IntervalTreeIndex, fill_from_interval_tree
from ruledex.kernels.ranked_skeleton import NO_NODE
from ruledex.ranked.intervals import Entries
from ruledex.ranked.skeleton import skeleton_of
from ruledex.ranked.tree import Floats, ScoredTree, TreeArrays, Trees

MOST_UNSPLIT = 32


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
            raise RuledexError(f"most_unsplit is {most_unsplit}, at least 1 was expected")
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
        """A way down for a point; an interval may need every node."""
        return self._depth if is_point else max(len(self.index.pivot), 1)

    def fill(
        self,
        trees: Trees,
        low: Floats,
        high: Floats,
        cursors: Cursors,
        fresh: bool,
        wanted: NDArray[np.int64],
        out_ids: NDArray[np.int32],
        out_scores: Floats,
        n_filled: NDArray[np.int64],
    ) -> None:
        """Merge the lists of the nodes on the way: see `ScoredTree`."""
        fill_from_interval_tree(self._index, trees, low, high, cursors, fresh, wanted, out_ids, out_scores, n_filled)


def _by_node(first: NDArray[np.int32], last: NDArray[np.int32]) -> NDArray[np.int64]:
    """The places from `first` up to `last` of each node, one node after the other."""
    sizes = (last - first).astype(np.int64)
    shift = first - (np.cumsum(sizes) - sizes)
    return np.repeat(shift, sizes) + np.arange(int(sizes.sum()))


def _deepest(index: IntervalTreeIndex) -> int:
    """How many nodes the longest way down has, and 1 where there is none."""
    level, depth = index.roots[index.roots != NO_NODE], 0
    while len(level):
        children = np.concatenate([index.left[level], index.right[level]])
        level, depth = children[children != NO_NODE], depth + 1
    return max(depth, 1)

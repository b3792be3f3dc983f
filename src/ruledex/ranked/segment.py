"""`ScoredSegmentTree`: each interval in the lists of some of the nodes that it covers (Section 2.2.1)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.inputs import frozen
from ruledex.kernels.ranked_cursor import Cursors
from ruledex.kernels.ranked_segment import SegmentTreeIndex, count_in_lists, fill_from_segment_tree, fill_lists
from ruledex.ranked.intervals import Entries
from ruledex.ranked.tree import Floats, ScoredTree, Trees


class ScoredSegmentTree(ScoredTree):
    """No interval is looked at that does not hold the point; each takes up to two entries a level of the tree."""

    name = "segment"
    can_overlap = False
    dtypes: ClassVar[dict[str, type[np.generic]]] = {
        "cut_offsets": np.int64,
        "cuts": np.float64,
        "node_offsets": np.int64,
        "list_offsets": np.int64,
        "ids": np.int32,
        "score": np.float64,
    }

    @classmethod
    def from_entries(cls, entries: Entries, **unknown: Any) -> Self:
        """Cut the numbers of each tree into segments, count the lists, fill them."""
        if unknown:
            raise TypeError(f"unknown options: {', '.join(unknown)}")
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
        """The levels of the deepest tree."""
        return int(np.max(np.diff(self.index.node_offsets), initial=2)).bit_length()

    def fill(
        self,
        trees: Trees,
        low: Floats,
        high: Floats,  # noqa: ARG002
        cursors: Cursors,
        fresh: bool,
        wanted: NDArray[np.int64],
        out_ids: NDArray[np.int32],
        out_scores: Floats,
        n_filled: NDArray[np.int64],
    ) -> None:
        """Merge the lists on the way from a leaf to the root: see `ScoredTree`."""
        fill_from_segment_tree(self._index, trees, low, cursors, fresh, wanted, out_ids, out_scores, n_filled)


def _segments(ends: Floats) -> tuple[Floats, NDArray[np.int32], NDArray[np.int32]]:
    """The cuts, and for each interval its first segment and the one after its last."""
    low, high = ends[0::2], ends[1::2]
    with np.errstate(over="ignore"):  # after the largest number comes infinity, as it should
        after = np.nextafter(high, np.inf)  # where the interval has ended; at infinity, nowhere
    cuts = np.unique(np.concatenate([low, after[high < np.inf]]))
    begin = np.searchsorted(cuts, low)
    end = np.where(high < np.inf, np.searchsorted(cuts, after), len(cuts))
    return cuts, begin.astype(np.int32), end.astype(np.int32)


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()

"""Trees that are a list in the order of the answers with extents over it: what R-trees and SOPT-R-trees share."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.inputs import frozen
from ruledex.errors import RuledexError
from ruledex.kernels.ranked_cursor import Cursors
from ruledex.kernels.ranked_rtree import RTreeIndex, fill_from_rtree, pack_extents
from ruledex.ranked.intervals import Entries
from ruledex.ranked.tree import Floats, ScoredTree, Trees

MOST_BRANCHES = 1 << 20


class PackedTree(ScoredTree):
    """A list and its extents, level by level."""

    dtypes: ClassVar[dict[str, type[np.generic]]] = {
        "tree_offsets": np.int64,
        "ends": np.float64,
        "ids": np.int32,
        "score": np.float64,
        "level_offsets": np.int64,
        "level_starts": np.int64,
        "extents": np.float64,
        "branching": np.int64,
    }

    @property
    def index(self) -> RTreeIndex:
        """The arrays as the kernels name them."""
        return RTreeIndex(*self._index)

    def width(self, is_point: bool) -> int:  # noqa: ARG002
        """One list, whatever the query."""
        return 1

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
        """Go on along the list: see `ScoredTree`."""
        fill_from_rtree(self._index, trees, low, high, cursors, fresh, wanted, out_ids, out_scores, n_filled)


def packed(entries: Entries, branching: int) -> RTreeIndex:
    """Put extents over entries that are in the order of the answers."""
    checked_branching(branching)
    sizes: list[list[int]] = []
    for n_entries in np.diff(entries.offsets).tolist():
        levels = []
        while n_entries > branching:
            n_entries = -(-n_entries // branching)
            levels.append(n_entries)
        sizes.append(levels)
    extents = np.empty(2 * sum(map(sum, sizes)))
    starts, level_offsets, place = [], [0], 0
    for first, last, levels in zip(entries.offsets[:-1], entries.offsets[1:], sizes, strict=True):
        below, begin, end = entries.ends, int(first), int(last)
        for _ in levels:
            starts.append(place)
            place = pack_extents(below, begin, end, branching, extents, place)
            below, begin, end = frozen(extents, np.float64), starts[-1], place
        starts.append(place)
        level_offsets.append(len(starts))
    return RTreeIndex(
        entries.offsets,
        entries.ends,
        entries.ids,
        entries.score,
        frozen(np.array(level_offsets), np.int64),
        frozen(np.array(starts), np.int64),
        frozen(extents, np.float64),
        frozen(np.array([branching]), np.int64),
    )


def checked_branching(branching: int) -> int:
    """How many entries have one extent: two or more."""
    if not 2 <= branching <= MOST_BRANCHES:
        raise RuledexError(
            f"the branching factor is {branching}, at least 2 and at most {MOST_BRANCHES:,} was expected"
        )
    return branching

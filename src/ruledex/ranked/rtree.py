"""Trees that are a list in the order of the answers with extents over it (ranked-pubsub2008, Sections 2.2.3 and 3.2).

Every `branching` entries have an extent, the least interval around them, every `branching` extents have one a level up,
and so on until a level has at most `branching`. There are no pointers: the place of a node says where its children are,
and a query's place in the list is all that it needs to go on. The scored R-tree is here; the SOPT-R-tree, which differs
in the order of the list, is in sopt_rtree.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import dtypes_of
from ruledex.errors import RuledexError
from ruledex.ranked.intervals import Entries
from ruledex.ranked.tree import NOT_STARTED, ScoredTree, TreeCursors

RTreeArrays = tuple[NDArray[Any], ...]
MOST_BRANCHES = 1 << 20
BRANCHING = 32


class RTreeIndex(NamedTuple):
    """Several trees in the same arrays. Intervals and extents are pairs: the low end, the high end."""

    tree_offsets: NDArray[np.int64]  # [n_trees + 1] entries
    ends: NDArray[np.float64]  # [2 * n_entries]
    ids: NDArray[np.int32]  # [n_entries]
    score: NDArray[np.float64]  # by id
    level_offsets: NDArray[np.int64]  # [n_trees + 1] into `level_starts`, where a tree has one entry more than levels
    level_starts: NDArray[np.int64]  # extents: where each level begins, from the lowest, and where the last one ends
    extents: NDArray[np.float64]  # [2 * n_extents]
    branching: NDArray[np.int64]  # [1]


@jit
def pack_extents(
    ends: NDArray[np.float64], first: int, last: int, branching: int, extents: NDArray[np.float64], first_extent: int
) -> int:
    """Write the extents of each `branching` intervals from `first` up to `last`; return where they end."""
    place = first_extent
    for begin in range(first, last, branching):
        low, high = ends[2 * begin], ends[2 * begin + 1]
        for entry in range(begin + 1, min(begin + branching, last)):
            low, high = min(low, ends[2 * entry]), max(high, ends[2 * entry + 1])
        extents[2 * place], extents[2 * place + 1] = low, high
        place += 1
    return place


@jit
def fill_from_rtree(
    index_arrays: RTreeArrays,
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
    index = RTreeIndex(*index_arrays)
    ends, ids, score, extents = index.ends, index.ids, index.score, index.extents
    tree_offsets, level_offsets, level_starts = index.tree_offsets, index.level_offsets, index.level_starts
    branching = index.branching[0]
    held, places = cursors.n_held, cursors.place
    for row in range(trees.size):
        cursor = 0 if fresh else row
        if fresh or held[cursor] == NOT_STARTED:
            held[cursor], places[cursor, 0] = 1, 0
        query_low, query_high = low[row], high[row]
        first, n_entries = tree_offsets[trees[row]], tree_offsets[trees[row] + 1] - tree_offsets[trees[row]]
        first_level = level_offsets[trees[row]] - 1
        top_level = level_offsets[trees[row] + 1] - first_level - 2
        level, place, n_found = 0, places[cursor, 0], n_filled[row]
        while level < top_level and place % branching == 0 and place < n_entries:
            level, place = level + 1, place // branching
        while held[cursor] > 0 and n_found < wanted[row]:
            if level == 0:
                end = min((place // branching + 1) * branching, n_entries)
                while place < end and n_found < wanted[row]:
                    entry = first + place
                    if ends[2 * entry] <= query_high and ends[2 * entry + 1] >= query_low:
                        out_ids[row, n_found], out_scores[row, n_found] = ids[entry], score[ids[entry]]
                        n_found += 1
                    place += 1
                if place < end:
                    break
                size = n_entries
            else:
                start = level_starts[first_level + level]
                size = level_starts[first_level + level + 1] - start
                end = min((place // branching + 1) * branching, size)
                while place < end and not (
                    extents[2 * (start + place)] <= query_high and extents[2 * (start + place) + 1] >= query_low
                ):
                    place += 1
                if place < end:
                    level, place = level - 1, place * branching
                    continue
            if place >= size:
                held[cursor], level, place = 0, 0, n_entries
            while level < top_level and place % branching == 0 and place < size:
                # A group is done: whether the next one is worth a look is asked as far up as groups begin with it.
                level, place = level + 1, place // branching
                size = level_starts[first_level + level + 1] - level_starts[first_level + level]
        while level > 0:
            level, place = level - 1, place * branching
        places[cursor, 0], n_filled[row] = place, n_found


class PackedTree(ScoredTree):
    """A list and its extents, level by level."""

    fill_kernel = staticmethod(fill_from_rtree)
    dtypes = dtypes_of(RTreeIndex)

    @property
    def index(self) -> RTreeIndex:
        """The arrays as the kernels name them."""
        return RTreeIndex(*self._index)

    def width(self, is_point: bool) -> int:  # noqa: ARG002
        """Return 1: there is one list, whatever the query."""
        return 1


def pack_entries(entries: Entries, branching: int) -> RTreeIndex:
    """Put extents over entries that are in the order of the answers."""
    check_branching(branching)
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


def check_branching(branching: int) -> int:
    """Return the branching factor; refuse one that is below two or too large."""
    if not 2 <= branching <= MOST_BRANCHES:
        raise RuledexError(f"the branching factor is {branching}, but must be at least 2 and at most {MOST_BRANCHES:,}")
    return branching


class ScoredRTree(PackedTree):
    """The simplest tree, and one whose order also serves events that are intervals.

    Extents of intervals that are near in score alone may have holes: a query of a place where few intervals lie may
    look at every node.

    >>> from ruledex.ranked.rtree import ScoredRTree
    >>> ScoredRTree.build(left=[0, 10], right=[20, 30], score=[3.0, 9.5]).stab_top(18, k=1).ids.tolist()
    [1]
    """

    name = "r"
    can_overlap = True

    @classmethod
    def from_entries(cls, entries: Entries, *, branching: int = BRANCHING) -> Self:  # type: ignore[override]
        """Put extents over each `branching` entries, which are in order."""
        return cls(tuple(pack_entries(entries, branching)))

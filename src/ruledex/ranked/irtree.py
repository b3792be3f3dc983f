"""`IRTree`: an interval tree with R-trees in its nodes; intervals and scores may change (Section 3.1)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.protocol import Arrays
from ruledex.errors import RuledexError
from ruledex.ranked.cursor import TreeCursors
from ruledex.ranked.intervals import MOST_INTERVALS, Entries, closed_intervals, doubles, refuse
from ruledex.ranked.irtree_arrays import (
    COUNTED,
    DTYPES,
    append_skeleton,
    build_arrays,
    collect_intervals,
    of_length,
    sizes_of,
)
from ruledex.ranked.irtree_kernels import (
    CHUNKS,
    DEPTH,
    ENTRIES,
    IDS,
    NODES,
    UPPER,
    IRTreeIndex,
    fill_from_irtree,
)
from ruledex.ranked.irtree_update import DONE, NEEDS_REBUILD, insert_entries, remove_entry
from ruledex.ranked.skeleton import NO_NODE, skeleton_of
from ruledex.ranked.tree import Floats, ScoredTree, TreeArrays, Trees

BRANCHING = 64  # what each node takes besides its intervals is little with as many
NOT_STORED = NO_NODE  # of an interval that holds nothing, or is gone
MOST_UNUSED = 3  # a tree is built anew when it holds this many times the entries that are in use, and a few more
FEW_ENTRIES = 1024


class IRTree(ScoredTree):
    """Nearly as fast as an SOPT-R-tree, and one that changes: `insert`, `remove` and `set_score`.

    While it is changed, no other thread may use it.
    """

    name = "ir"
    can_overlap = True
    dtypes: ClassVar[dict[str, type[np.generic]]] = DTYPES

    def __init__(self, index: TreeArrays) -> None:
        super().__init__(index)
        self._live: IRTreeIndex | None = None  # the same arrays, to be written; copied when the first change comes
        self._node_of = np.empty(0, np.int32)  # by id, and made then as well

    @classmethod
    def from_entries(cls, entries: Entries, *, branching: int = BRANCHING, **unknown: Any) -> Self:
        """Split each tree's entries at medians, and put extents over the entries of each node."""
        if unknown:
            raise TypeError(f"unknown options: {', '.join(unknown)}")
        return cls(
            tuple(frozen(array, cls.dtypes[name]) for name, array in build_arrays(entries, branching)._asdict().items())
        )

    @property
    def index(self) -> IRTreeIndex:
        """The arrays as the kernels name them."""
        return IRTreeIndex(*self._index)

    def arrays(self) -> Arrays:
        """Return what is in use of the arrays."""
        used = self.index.used
        return {
            name: array[: used[COUNTED[name][0]] * COUNTED[name][1]] if name in COUNTED else array
            for name, array in super().arrays().items()
        }

    @property
    def n_bytes(self) -> int:
        """The arrays' size without the scores, with all that is spare, and with the table that changes need."""
        return sum(array.nbytes for array in self._index) - self.index.score.nbytes + self._node_of.nbytes

    @property
    def n_ids(self) -> int:
        """How many ids were given so far."""
        return int(self.index.used[IDS])

    def width(self, is_point: bool) -> int:
        """Return the depth for a point; an interval may need every node."""
        return max(int(self.index.used[DEPTH if is_point else NODES]), 1)

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
        """Merge the R-trees of the nodes on the way: see `ScoredTree`."""
        fill_from_irtree(self._index, trees, low, high, cursors, fresh, wanted, out_ids, out_scores, n_filled)

    def insert(
        self,
        left: ArrayLike,
        right: ArrayLike,
        score: ArrayLike,
        *,
        left_open: ArrayLike | None = None,
        right_open: ArrayLike | None = None,
    ) -> NDArray[np.int32]:
        """Add intervals, as `build` takes them; return their ids, which follow those that were given before."""
        intervals = closed_intervals(left, right, score, left_open, right_open)
        live, first = self._changeable(), self.n_ids
        if first + len(intervals.score) > MOST_INTERVALS:
            raise RuledexError(f"there are no more than {MOST_INTERVALS:,} ids")
        ids = np.arange(first, first + len(intervals.score), dtype=np.int32)
        live = self._with_room(live, n_ids=len(ids))
        live.score[first : first + len(ids)] = intervals.score
        self._node_of[first : first + len(ids)] = NOT_STORED
        live.used[IDS] += len(ids)
        self._insert(intervals.ends, frozen(ids, np.int32))
        return ids

    def remove(self, identity: int) -> None:
        """Take an interval out. Its id is not given again."""
        self._take_out(identity)
        live = self._changeable()
        self._node_of[identity], live.score[identity] = NOT_STORED, np.nan  # by which it is known to be gone
        n_stored = int(live.size[live.roots[0]]) if live.roots[0] != NO_NODE else 0
        if live.used[ENTRIES] > MOST_UNUSED * n_stored + FEW_ENTRIES:
            self.compact()

    def set_score(self, identity: int, score: float) -> None:
        """Change the score of an interval, in its place in the tree."""
        points = doubles("score", score)
        refuse(~np.isfinite(points), "the score is not a finite number")
        ends = self._take_out(identity)
        self._changeable().score[identity] = points[0]
        if not np.isnan(ends[0]):
            self._insert(frozen(ends, np.float64), frozen(np.array([identity]), np.int32))

    def compact(self) -> None:
        """Build anew from the intervals that are there, without room to spare. Ids stay."""
        live = self._changeable()
        ends, ids, _ = collect_intervals(live, int(live.roots[0]))
        score = live.score[: self.n_ids].copy()
        order = np.lexsort((ids, -score[ids]))
        entries = Entries(np.array([0, len(ids)]), ends.reshape(-1, 2)[order].reshape(-1), ids[order], score)
        self._live = build_arrays(entries, int(live.branching[0]))
        self._note_nodes()
        self._publish()

    def _take_out(self, identity: int) -> Floats:
        """Remove an interval from its node; return its ends, or NaN where none was stored."""
        live = self._changeable()
        if not 0 <= identity < self.n_ids or np.isnan(live.score[identity]):
            raise RuledexError(f"there is no interval with the id {identity}")
        ends = np.full(2, np.nan)
        if self._node_of[identity] != NOT_STORED:
            remove_entry(tuple(live), int(self._node_of[identity]), identity, ends)
        return ends

    def _insert(self, ends: Floats, ids: NDArray[np.int32]) -> None:
        place, status = 0, NEEDS_REBUILD
        while status != DONE:
            live = self._changeable()
            place, status, node, depth = insert_entries(tuple(live), self._node_of, ends, ids, place)
            if status == NEEDS_REBUILD:
                self._rebuild(node, depth)
            elif status != DONE:
                # For one chunk more, whatever the node; levels that halve add up to little more than the lowest.
                n_chunks = int(np.max(live.n_chunks[: live.used[NODES]], initial=0))
                branching = int(live.branching[0])
                self._with_room(live, branching, 2 * n_chunks + 2, 4 * n_chunks + 64, 1)

    def _rebuild(self, node: int, depth: int) -> None:
        """Build a node and all below it anew, with pivots that suit what is there now."""
        live = self._changeable()
        ends, ids, _ = collect_intervals(live, node)
        order = np.lexsort((ids, -live.score[ids]))
        ends, ids = ends.reshape(-1, 2)[order].reshape(-1), ids[order]
        # A node without a pivot that is full must be split: it is rebuilt because one more interval is to come.
        most = int(live.branching[0])
        built = skeleton_of(ends, most if len(ids) > most else most - 1)
        n_chunks, n_upper = sizes_of(built.nodes, most)
        live = self._with_room(live, len(ids), n_chunks, n_upper, len(built.nodes.pivot))
        append_skeleton(
            tuple(live), self._node_of, built.nodes, built.order, frozen(ends, np.float64), frozen(ids, np.int32), node
        )
        live.used[DEPTH] = max(int(live.used[DEPTH]), depth + built.depth)

    def _changeable(self) -> IRTreeIndex:
        """Return the arrays to be written."""
        if self._live is None:
            if len(self.index.roots) != 1:
                raise RuledexError("only an IR-tree that stands alone can be changed")
            self._live = IRTreeIndex(*(array.copy() for array in self._index))
            self._note_nodes()
            self._publish()
        return self._live

    def _note_nodes(self) -> None:
        """Find the node of each interval."""
        live = self._changeable()
        self._node_of = np.full(len(live.score), NOT_STORED, np.int32)
        _, ids, nodes = collect_intervals(live, int(live.roots[0]))
        self._node_of[ids] = nodes

    def _with_room(
        self,
        live: IRTreeIndex,
        n_entries: int = 0,
        n_chunks: int = 0,
        n_upper: int = 0,
        n_nodes: int = 0,
        n_ids: int = 0,
    ) -> IRTreeIndex:
        """Return the arrays with room for so many more, which may be other arrays."""
        more = {ENTRIES: n_entries, CHUNKS: n_chunks, UPPER: n_upper, NODES: n_nodes, IDS: n_ids}
        rooms = {}
        for name, (kind, width) in COUNTED.items():
            needed, there = int(live.used[kind]) + more[kind], len(getattr(live, name)) // width
            rooms[kind] = there if there >= needed else max(needed, there + there // 2)
        grown = {name: of_length(getattr(live, name), rooms[kind] * width) for name, (kind, width) in COUNTED.items()}
        self._live = live._replace(**grown)
        self._node_of = of_length(self._node_of, rooms[IDS])
        self._publish()
        return self._live

    def _publish(self) -> None:
        """Let queries see the arrays as they are now."""
        assert self._live is not None
        self._index = tuple(frozen(array, self.dtypes[name]) for name, array in self._live._asdict().items())

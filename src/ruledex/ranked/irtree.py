"""`IRTree`: an interval tree with R-trees in its nodes; intervals and scores may change (Section 3.1).

An interval belongs to the first node on its way down whose pivot it holds, or to the node without a pivot where the
way ends. There it goes into the chunk that its score belongs to. A full chunk is split. A node's chunks move to where
there is more room when there are too many for theirs; the room that they leave stays unused until a rebuild.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.inputs import dtypes_of
from ruledex.engines.protocol import Arrays
from ruledex.engines.ranking import precedes
from ruledex.errors import RuledexError
from ruledex.ranked.interval_tree import NO_NODE, skeleton_of
from ruledex.ranked.intervals import MOST_INTERVALS, Entries, closed_intervals, doubles, refuse
from ruledex.ranked.irtree_kernels import (
    CHUNKS,
    COUNTED,
    DEPTH,
    ENTRIES,
    IDS,
    NODES,
    UPPER,
    IRTreeArrays,
    IRTreeIndex,
    append_skeleton,
    build_arrays,
    collect_intervals,
    fill_from_irtree,
    of_length,
    renew_chunk,
    renew_upper,
    sizes_of,
    upper_size,
)
from ruledex.ranked.tree import Floats, ScoredTree, TreeArrays

DONE, NEEDS_ROOM, NEEDS_REBUILD = 0, 1, 2
SMALLEST_CHUNK = 4  # entries that a chunk has room for at first
BRANCHING = 64  # what each node takes besides its intervals is little with as many
NOT_STORED = NO_NODE  # of an interval that holds nothing, or is gone
MOST_UNUSED = 3  # a tree is built anew when it holds this many times the entries that are in use, and a few more
FEW_ENTRIES = 1024


@jit
def insert_entries(
    index_arrays: IRTreeArrays,
    node_of: NDArray[np.int32],
    ends: NDArray[np.float64],
    ids: NDArray[np.int32],
    first: int,
) -> tuple[int, int, int, int]:
    """Insert intervals into the first tree, from place `first` on; their scores are in the index.

    Return how far it came, why it stopped, and, where a part of the tree is to be rebuilt first, its node and how many
    nodes lie above it.
    """
    index = IRTreeIndex(*index_arrays)
    used, branching = index.used, index.branching[0]
    for place in range(first, ids.size):
        low, high = ends[2 * place], ends[2 * place + 1]
        if np.isnan(low):
            continue
        node, parent, depth = index.roots[0], NO_NODE, 0
        unbalanced, above_unbalanced = NO_NODE, 0
        while node != NO_NODE:
            # A child that has much more than half of all would make ways long; those at the bottom may differ more.
            is_large = parent != NO_NODE and 4 * index.size[node] > 3 * index.size[parent] + 4 * branching
            if is_large and unbalanced == NO_NODE:
                unbalanced, above_unbalanced = parent, depth - 1
            if not (high < index.pivot[node] or low > index.pivot[node]):
                break
            parent, node, depth = node, index.left[node] if high < index.pivot[node] else index.right[node], depth + 1
        if unbalanced != NO_NODE:
            return place, NEEDS_REBUILD, unbalanced, above_unbalanced
        n_chunks = 0 if node == NO_NODE else index.n_chunks[node]
        n_new_room = n_chunks + n_chunks // 2 + 2
        if (
            used[ENTRIES] + branching > index.ids.size
            or used[CHUNKS] + n_new_room > index.chunk_start.size
            or used[UPPER] + upper_size(n_new_room, branching) > index.upper.size // 2
            or used[NODES] + 1 > index.pivot.size
        ):
            return place, NEEDS_ROOM, NO_NODE, 0
        if node == NO_NODE:
            node = used[NODES]
            used[NODES] += 1
            index.pivot[node], index.left[node], index.right[node] = np.nan, NO_NODE, NO_NODE
            index.size[node], index.first_chunk[node], index.n_chunks[node] = 0, used[CHUNKS], 0
            index.chunk_room[node], index.first_upper[node] = 0, used[UPPER]
            if parent == NO_NODE:
                index.roots[0] = node
            elif high < index.pivot[parent]:
                index.left[parent] = node
            else:
                index.right[parent] = node
        elif np.isnan(index.pivot[node]) and index.size[node] == branching:
            return place, NEEDS_REBUILD, node, depth
        used[DEPTH] = max(used[DEPTH], depth + 1)
        _put(index, node, low, high, ids[place])
        node_of[ids[place]] = node
        _change_sizes(index, node, high, 1)
    return ids.size, DONE, NO_NODE, 0


@jit
def _change_sizes(index: IRTreeIndex, target: int, high: float, change: int) -> None:
    """Add to the sizes of all nodes on the way to the node of an interval that ends at `high`."""
    node = index.roots[0]
    index.size[node] += change
    while node != target:
        node = index.left[node] if high < index.pivot[node] else index.right[node]
        index.size[node] += change


@inlined
def _chunk_of(
    first_chunk: int,
    n_chunks: int,
    chunk_start: NDArray[np.int32],
    ids: NDArray[np.int32],
    score: NDArray[np.float64],
    identity: int,
) -> int:
    """Return the last chunk of a node that does not begin behind an interval, or the first; counted within the node."""
    begin, end = 0, n_chunks - 1
    while begin < end:
        middle = (begin + end + 1) >> 1
        other = ids[chunk_start[first_chunk + middle]]
        if precedes(score[identity], identity, score[other], other):
            end = middle - 1
        else:
            begin = middle
    return begin


@inlined
def _place_in(first: int, count: int, ids: NDArray[np.int32], score: NDArray[np.float64], identity: int) -> int:
    """Return how many of a chunk's intervals come before one."""
    place = 0
    while place < count and precedes(score[ids[first + place]], ids[first + place], score[identity], identity):
        place += 1
    return place


@jit
def _put(index: IRTreeIndex, node: int, low: float, high: float, identity: int) -> None:
    """Put an interval among the node's, in their order."""
    ends, ids, score, branching = index.ends, index.ids, index.score, index.branching[0]
    starts, counts = index.chunk_start, index.chunk_count
    if index.n_chunks[node] == 0:
        _new_chunk(index, node, 0, min(SMALLEST_CHUNK, branching))
    place = _chunk_of(index.first_chunk[node], index.n_chunks[node], starts, ids, score, identity)
    chunk = index.first_chunk[node] + place
    is_split = counts[chunk] == branching
    if is_split:
        n_kept = branching // 2
        _new_chunk(index, node, place + 1, branching)
        chunk = index.first_chunk[node] + place
        _copy(index, starts[chunk] + n_kept, starts[chunk + 1], branching - n_kept)
        counts[chunk], counts[chunk + 1] = n_kept, branching - n_kept
        renew_chunk(starts, counts, index.chunk_ends, ends, chunk)
        renew_chunk(starts, counts, index.chunk_ends, ends, chunk + 1)
        other = ids[starts[chunk + 1]]
        chunk += 0 if precedes(score[identity], identity, score[other], other) else 1
    elif counts[chunk] == index.chunk_capacity[chunk]:
        capacity = min(branching, max(SMALLEST_CHUNK, 2 * index.chunk_capacity[chunk]))
        _copy(index, starts[chunk], index.used[ENTRIES], counts[chunk])
        starts[chunk], index.chunk_capacity[chunk] = index.used[ENTRIES], capacity
        index.used[ENTRIES] += capacity
    first, count = starts[chunk], counts[chunk]
    inside = _place_in(first, count, ids, score, identity)
    for entry in range(first + count, first + inside, -1):
        ends[2 * entry], ends[2 * entry + 1], ids[entry] = ends[2 * entry - 2], ends[2 * entry - 1], ids[entry - 1]
    entry = first + inside
    ends[2 * entry], ends[2 * entry + 1], ids[entry] = low, high, identity
    counts[chunk] += 1
    renew_chunk(starts, counts, index.chunk_ends, ends, chunk)
    # With another number of chunks the levels above them lie elsewhere.
    _renew_above(index, node, 0 if is_split else place, index.n_chunks[node] - 1 if is_split else place)


@jit
def _renew_above(index: IRTreeIndex, node: int, first: int, last: int) -> None:
    renew_upper(
        index.chunk_ends,
        index.upper,
        index.first_chunk[node],
        index.n_chunks[node],
        index.first_upper[node],
        index.branching[0],
        first,
        last,
    )


@jit
def _copy(index: IRTreeIndex, source: int, target: int, count: int) -> None:
    """Copy entries to a place that they do not overlap."""
    for entry in range(count):
        index.ends[2 * (target + entry)] = index.ends[2 * (source + entry)]
        index.ends[2 * (target + entry) + 1] = index.ends[2 * (source + entry) + 1]
        index.ids[target + entry] = index.ids[source + entry]


@jit
def _new_chunk(index: IRTreeIndex, node: int, place: int, capacity: int) -> None:
    """Give a node an empty chunk at `place`; all its chunks move if they have no room for one more."""
    used, n_chunks = index.used, index.n_chunks[node]
    old = index.first_chunk[node]
    if n_chunks == index.chunk_room[node]:
        index.first_chunk[node], index.chunk_room[node] = used[CHUNKS], n_chunks + n_chunks // 2 + 1
        index.first_upper[node] = used[UPPER]
        used[CHUNKS] += index.chunk_room[node]
        used[UPPER] += upper_size(index.chunk_room[node], index.branching[0])
        for chunk in range(n_chunks):
            _move_chunk(index, old + chunk, index.first_chunk[node] + chunk)
    new = index.first_chunk[node] + place
    for chunk in range(index.first_chunk[node] + n_chunks, new, -1):
        _move_chunk(index, chunk - 1, chunk)
    index.chunk_start[new], index.chunk_count[new], index.chunk_capacity[new] = used[ENTRIES], 0, capacity
    used[ENTRIES] += capacity
    index.n_chunks[node] += 1


@jit
def _move_chunk(index: IRTreeIndex, source: int, target: int) -> None:
    index.chunk_start[target], index.chunk_count[target] = index.chunk_start[source], index.chunk_count[source]
    index.chunk_capacity[target] = index.chunk_capacity[source]
    index.chunk_ends[2 * target] = index.chunk_ends[2 * source]
    index.chunk_ends[2 * target + 1] = index.chunk_ends[2 * source + 1]


@jit
def remove_entry(index_arrays: IRTreeArrays, node: int, identity: int, out: NDArray[np.float64]) -> None:
    """Take an interval from its node, which has it, and write its ends to `out`."""
    index = IRTreeIndex(*index_arrays)
    ends, ids, score, starts, counts = index.ends, index.ids, index.score, index.chunk_start, index.chunk_count
    place = _chunk_of(index.first_chunk[node], index.n_chunks[node], starts, ids, score, identity)
    chunk = index.first_chunk[node] + place
    first = starts[chunk]
    removed = first + _place_in(first, counts[chunk], ids, score, identity)
    out[0], out[1] = ends[2 * removed], ends[2 * removed + 1]
    for entry in range(removed, first + counts[chunk] - 1):
        ends[2 * entry], ends[2 * entry + 1], ids[entry] = ends[2 * entry + 2], ends[2 * entry + 3], ids[entry + 1]
    counts[chunk] -= 1
    if counts[chunk] > 0:
        renew_chunk(starts, counts, index.chunk_ends, ends, chunk)
        _renew_above(index, node, place, place)
    else:
        for later in range(chunk, index.first_chunk[node] + index.n_chunks[node] - 1):
            _move_chunk(index, later + 1, later)
        index.n_chunks[node] -= 1
        if index.n_chunks[node] > 0:
            _renew_above(index, node, 0, index.n_chunks[node] - 1)
    _change_sizes(index, node, out[1], -1)


class IRTree(ScoredTree):
    """Nearly as fast as an SOPT-R-tree, and one that changes: `insert`, `remove` and `set_score`.

    While it is changed, no other thread may use it.

    >>> from ruledex.ranked.irtree import IRTree
    >>> shifts = IRTree.build(left=[0, 8], right=[10, 16], score=[1.0, 2.0])
    >>> shifts.set_score(0, 7.0)
    >>> shifts.stab_top(9, k=1).ids.tolist()
    [0]
    """

    name = "ir"
    can_overlap = True
    fill_kernel = staticmethod(fill_from_irtree)
    dtypes = dtypes_of(IRTreeIndex)

    def __init__(self, index: TreeArrays) -> None:
        super().__init__(index)
        self._live: IRTreeIndex | None = None  # the same arrays, to be written; copied when the first change comes
        self._node_of = np.empty(0, np.int32)  # by id, and made then as well

    @classmethod
    def from_entries(cls, entries: Entries, *, branching: int = BRANCHING) -> Self:  # type: ignore[override]
        """Split each tree's entries at medians, and put extents over the entries of each node."""
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

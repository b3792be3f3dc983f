"""What the five trees share: building from intervals, queries by point and by interval, arrays in and out.

A query has a cursor, a row that says where it stands in a tree, so that it can go on from there. Trees whose nodes hold
lists use one column for each node that the query visits: how far its list was read, and in a heap its next interval,
the best on top. Trees that are one list use the first column alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from math import isnan
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ruledex.compiled.decorator import inlined
from ruledex.engines.inputs import array_of, check_k
from ruledex.engines.protocol import Arrays, Matches
from ruledex.engines.ranking import precedes
from ruledex.errors import RuledexError
from ruledex.ranked.intervals import Entries, closed_intervals, doubles, entries_of

NOT_STARTED = -1
FIRST_WANTED = 32  # intervals that an iterator asks for at first; then twice as many each time
MOST_WANTED = 1 << 16
Floats = NDArray[np.float64]
Trees = NDArray[np.int32]
TreeArrays = tuple[NDArray[Any], ...]
NOT_A_NUMBER = "a query is not a number"
LOW_ABOVE_HIGH = "the low end of a query is above its high end"


class TreeCursors(NamedTuple):
    """Scratch of queries: one row per query, one column per node that a query may visit."""

    n_held: NDArray[np.int64]  # [n_rows] entries of the heap: 0 at the end, `NOT_STARTED` before the start
    place: NDArray[np.int64]  # [n_rows, width] where a column's list goes on
    node: NDArray[np.int32]  # [n_rows, width]
    heap_score: NDArray[np.float64]
    heap_id: NDArray[np.int32]
    heap_column: NDArray[np.int32]


@inlined
def add_to_heap(
    scores: NDArray[np.float64],
    ids: NDArray[np.int32],
    columns: NDArray[np.int32],
    n_held: int,
    score: float,
    identity: int,
    column: int,
) -> int:
    """Put a column's next interval into the heap; return the heap's new size."""
    place = n_held
    while place > 0:
        parent = (place - 1) >> 1
        if precedes(scores[parent], ids[parent], score, identity):
            break
        scores[place], ids[place], columns[place] = scores[parent], ids[parent], columns[parent]
        place = parent
    scores[place], ids[place], columns[place] = score, identity, column
    return n_held + 1


@inlined
def replace_best(
    scores: NDArray[np.float64],
    ids: NDArray[np.int32],
    columns: NDArray[np.int32],
    n_held: int,
    score: float,
    identity: int,
    column: int,
) -> None:
    """Put an interval in place of the heap's top, and move it down to where it belongs."""
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n_held:
            break
        right = below + 1
        if right < n_held and precedes(scores[right], ids[right], scores[below], ids[below]):
            below = right
        if precedes(score, identity, scores[below], ids[below]):
            break
        scores[place], ids[place], columns[place] = scores[below], ids[below], columns[below]
        place = below
    scores[place], ids[place], columns[place] = score, identity, column


@inlined
def drop_best(scores: NDArray[np.float64], ids: NDArray[np.int32], columns: NDArray[np.int32], n_held: int) -> int:
    """Take the heap's top out, whose column is at its end; return the heap's new size."""
    last = n_held - 1
    replace_best(scores, ids, columns, last, scores[last], ids[last], columns[last])
    return last


class Ranked(NamedTuple):
    """Intervals or subscriptions with their scores, the largest first, ties by id."""

    ids: NDArray[np.int32]
    scores: NDArray[np.float64]


class OneQuery(NamedTuple):
    """The arguments of a single query, arrays of one entry each."""

    tree: Trees
    low: Floats
    high: Floats
    wanted: NDArray[np.int64]
    n_filled: NDArray[np.int64]


class ScoredTree(ABC):
    """Intervals with scores, and the best of those that hold a point. An interval's id is its place in the input.

    Several trees over the same scores may lie in the same arrays: `RankedIndex` has one tree per dimension. Safe to
    use from several threads at once as long as none of them changes it. A query that is no number is an error.
    """

    name: ClassVar[str]
    can_overlap: ClassVar[bool]  # whether `overlap` and its kin work
    fill_kernel: ClassVar[Callable[..., None]]
    dtypes: ClassVar[dict[str, type[np.generic]]]  # the arrays in the kernels' order; one of them is `score`, by id

    def __init__(self, index: TreeArrays) -> None:
        self._index = index
        self._pool: list[OneQuery] = []  # so that single calls, which may run side by side, allocate only their answer

    @classmethod
    def build(
        cls,
        left: ArrayLike,
        right: ArrayLike,
        score: ArrayLike,
        *,
        left_open: ArrayLike | None = None,
        right_open: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Index intervals, closed unless `left_open` and `right_open` say otherwise, for each or for all.

        Infinite ends, points and duplicates are welcome; an interval that holds nothing, such as [3, 3), is never
        found. An end that is not a number, a score that is not finite and a left end above the right one are errors.
        """
        return cls.from_entries(entries_of(closed_intervals(left, right, score, left_open, right_open)), **options)

    @classmethod
    @abstractmethod
    def from_entries(cls, entries: Entries, **options: Any) -> Self:
        """Build the trees. Each class names the options that it has."""

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the trees whose build gave `arrays`; maps of a file will do, and are not copied."""
        return cls(tuple(array_of(arrays, name, dtype) for name, dtype in cls.dtypes.items()))

    def arrays(self) -> Arrays:
        """Return what the build computed, to be stored."""
        return dict(zip(self.dtypes, self._index, strict=True))

    @property
    def n_bytes(self) -> int:
        """The arrays' size, the scores not counted: they are the caller's, 8 bytes each, and may be shared."""
        return sum(array.nbytes for name, array in self.arrays().items() if name != "score")

    @abstractmethod
    def width(self, is_point: bool) -> int:
        """Return how many nodes a query of a point or of an interval may visit at the most."""

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
        """Write for each query what comes next, until there are as many as wanted or the query has ended.

        Rows go on where they stood, each at its own cursor; or, if `fresh`, all start anew and share the first one.
        """
        kernel = type(self).fill_kernel
        kernel(self._index, trees, low, high, cursors, fresh, wanted, out_ids, out_scores, n_filled)

    def new_cursors(self, n_rows: int, is_point: bool) -> TreeCursors:
        """Return cursors that have not started."""
        shape = n_rows, self.width(is_point)
        return TreeCursors(
            np.full(n_rows, NOT_STARTED, np.int64),
            np.empty(shape, np.int64),
            np.empty(shape, np.int32),
            np.empty(shape),
            np.empty(shape, np.int32),
            np.empty(shape, np.int32),
        )

    def stab(self, query: float) -> Iterator[tuple[int, float]]:
        """Return ids and scores of the intervals that hold a point, the largest score first, ties by id."""
        return self._iterate(*check_queries(query, query))

    def overlap(self, low: float, high: float) -> Iterator[tuple[int, float]]:
        """Do the same as `stab` for the intervals that share a point with the closed interval [low, high]."""
        self._check_overlap()
        return self._iterate(*check_queries(low, high))

    def stab_top(self, query: float, k: int) -> Ranked:
        """Return the first k of `stab`."""
        return self._top(check_query(query), check_query(query), k)

    def overlap_top(self, low: float, high: float, k: int) -> Ranked:
        """Return the first k of `overlap`."""
        self._check_overlap()
        if low > high:
            raise RuledexError(LOW_ABOVE_HIGH)
        return self._top(check_query(low), check_query(high), k)

    def stab_top_batch(self, queries: ArrayLike, k: int) -> Matches:
        """Return the answers of `stab_top` for several points, one after the other."""
        return self._top_batch(*check_queries(queries, queries), k)

    def overlap_top_batch(self, low: ArrayLike, high: ArrayLike, k: int) -> Matches:
        """Return the answers of `overlap_top` for several intervals, one after the other."""
        self._check_overlap()
        return self._top_batch(*check_queries(low, high), k)

    def _check_overlap(self) -> None:
        if not self.can_overlap:
            raise RuledexError(
                f"{type(self).__name__} orders only intervals that share a point, it has no answer by score for what "
                "overlaps an interval; ScoredRTree, ScoredIntervalTree and IRTree have"
            )

    @property
    def n_ids(self) -> int:
        """How many ids there are, those of intervals that hold nothing included: no answer is longer."""
        return int(self._index[list(self.dtypes).index("score")].size)

    def _top(self, low: float, high: float, k: int) -> Ranked:
        most = min(check_k(k), self.n_ids)
        out_ids, out_scores = np.empty((1, most), np.int32), np.empty((1, most))
        try:
            one = self._pool.pop()
        except IndexError:
            numbers, counts = np.zeros((2, 1)), np.zeros((2, 1), np.int64)
            one = OneQuery(np.zeros(1, np.int32), numbers[0], numbers[1], counts[0], counts[1])
        one.low[0], one.high[0], one.wanted[0], one.n_filled[0] = low, high, most, 0
        cursors = self.new_cursors(1, low == high)
        self.fill(one.tree, one.low, one.high, cursors, True, one.wanted, out_ids, out_scores, one.n_filled)
        n_found = int(one.n_filled[0])
        self._pool.append(one)
        return Ranked(out_ids[0, :n_found], out_scores[0, :n_found])

    def _top_batch(self, low: Floats, high: Floats, k: int) -> Matches:
        n_queries, most = len(low), min(check_k(k), self.n_ids)
        out_ids, out_scores = np.empty((n_queries, most), np.int32), np.empty((n_queries, most))
        n_filled = np.zeros(n_queries, np.int64)
        cursors = self.new_cursors(1, bool(np.array_equal(low, high)))
        trees, wanted = np.zeros(n_queries, np.int32), np.full(n_queries, most)
        self.fill(trees, low, high, cursors, True, wanted, out_ids, out_scores, n_filled)
        offsets = np.zeros(n_queries + 1, np.int64)
        np.cumsum(n_filled, out=offsets[1:])
        if offsets[-1] == out_ids.size:
            return Matches(offsets, out_ids.reshape(-1), out_scores.reshape(-1))
        is_filled = np.arange(most) < n_filled[:, None]
        return Matches(offsets, out_ids[is_filled], out_scores[is_filled])

    def _iterate(self, low: Floats, high: Floats) -> Iterator[tuple[int, float]]:
        cursors = self.new_cursors(1, bool(low[0] == high[0]))
        tree, n_filled, n_wanted = np.zeros(1, np.int32), np.zeros(1, np.int64), FIRST_WANTED
        while cursors.n_held[0] != 0:
            out_ids, out_scores = np.empty((1, n_wanted), np.int32), np.empty((1, n_wanted))
            n_filled[0] = 0
            self.fill(tree, low, high, cursors, False, np.array([n_wanted]), out_ids, out_scores, n_filled)
            yield from zip(out_ids[0, : n_filled[0]].tolist(), out_scores[0, : n_filled[0]].tolist(), strict=True)
            n_wanted = min(2 * n_wanted, MOST_WANTED)


def check_query(query: float) -> float:
    """Return the query; refuse one that is not a number."""
    if isnan(query):
        raise RuledexError(NOT_A_NUMBER)
    return float(query)


def check_queries(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """Return the ends of queries as kernels take them; refuse those that are not numbers."""
    lows = doubles("query", low)
    highs = lows if high is low else doubles("query", high)
    if len(highs) != len(lows):
        raise RuledexError(f"{len(lows):,} queries have a low end and {len(highs):,} a high one")
    if np.isnan(lows).any() or np.isnan(highs).any():
        raise RuledexError(NOT_A_NUMBER)
    if high is not low and np.any(lows > highs):
        raise RuledexError(LOW_ABOVE_HIGH)
    return lows, highs

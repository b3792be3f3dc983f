"""What the trees are measured against: find all intervals and sort them, and plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruledex.compiled.arrays import frozen
from ruledex.ranked.intervals import Entries, closed_intervals
from ruledex.ranked.rtree import BRANCHING, ScoredRTree, pack_entries
from ruledex.ranked.tree import Ranked


class StabAllSort:
    """An unranked index, an R-tree over intervals in the order of their left ends; all that it finds is sorted."""

    def __init__(self, left: np.ndarray, right: np.ndarray, score: np.ndarray) -> None:
        intervals = closed_intervals(left, right, score)
        order = np.argsort(left, kind="stable")
        ends = intervals.ends.reshape(-1, 2)[order].reshape(-1)
        entries = Entries(
            frozen(np.array([0, len(order)]), np.int64),
            frozen(ends, np.float64),
            frozen(order, np.int32),
            intervals.score,
        )
        self._tree = ScoredRTree(tuple(pack_entries(entries, BRANCHING)))

    def stab_top(self, query: float, k: int) -> Ranked:
        found = self._tree.stab_top(query, self._tree.n_ids)
        order = np.lexsort((found.ids, -found.scores))[:k]
        return Ranked(found.ids[order], found.scores[order])

    def stab_select(self, query: float, k: int) -> Ranked:
        """The same without sorting more than the answer."""
        found = self._tree.stab_top(query, self._tree.n_ids)
        return best(found.ids, found.scores, k)


class NumpyScan:
    """Two comparisons over whole columns, and a selection from what is left."""

    def __init__(self, left: np.ndarray, right: np.ndarray, score: np.ndarray) -> None:
        self._left, self._right, self._score = left, right, score

    def _stabbed(self, query: float) -> np.ndarray:
        return np.flatnonzero((self._left <= query) & (query <= self._right))

    def n_stabbed(self, query: float) -> int:
        return len(self._stabbed(query))

    def top(self, query: float, k: int) -> Ranked:
        found = self._stabbed(query)
        return best(found, self._score[found], k)


def best(ids: np.ndarray, scores: np.ndarray, k: int) -> Ranked:
    """The best k: those that reach the k-th score are selected, and sorted."""
    if k < len(ids):
        is_good = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        ids, scores = ids[is_good], scores[is_good]
    order = np.lexsort((ids, -scores))[:k]
    return Ranked(ids[order], scores[order])


def numpy_relaxed(arrays: Any, event: np.ndarray, k: int) -> np.ndarray:
    """The best k by relaxed matching, dimension by dimension over whole columns."""
    totals, is_met = np.zeros(arrays.left.shape[1]), np.zeros(arrays.left.shape[1], bool)
    for left, right, score, value in zip(*arrays, event, strict=True):
        met = (left <= value) & (value <= right)
        totals += np.where(met, score, 0.0)
        is_met |= met
    found = np.flatnonzero(is_met)
    return best(found, totals[found], k).ids

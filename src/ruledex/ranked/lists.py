"""The lists of an event: one per dimension, read from a tree as far as they are needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.ranked.protocol import Ranked
from ruledex.ranked.subscriptions import EventRows
from ruledex.ranked.tree import ScoredTree


class RankedLists:
    """Rows of ids and scores, the best first: `n_filled` of each, and more to come where `has_more` is not 0.

    A list that comes from no tree may be given as one more row, the last.
    """

    def __init__(self, tree: ScoredTree, rows: EventRows, n_room: int, whole: Ranked | None = None) -> None:
        n_rows = len(rows.dimensions) + (whole is not None)
        self._tree = tree
        self._trees = rows.dimensions
        self._low, self._high = rows.event.low[rows.dimensions], rows.event.high[rows.dimensions]
        self._cursors = tree.new_cursors(n_rows, rows.is_point)
        self.has_more = self._cursors.n_held
        n_room = max(n_room, 0 if whole is None else len(whole.ids))
        self.ids, self.scores = np.empty((n_rows, n_room), np.int32), np.empty((n_rows, n_room))
        self.n_filled = np.zeros(n_rows, np.int64)
        if whole is not None:
            self.has_more[-1], self.n_filled[-1] = 0, len(whole.ids)
            self.ids[-1, : len(whole.ids)], self.scores[-1, : len(whole.ids)] = whole

    def fill(self, wanted: NDArray[np.int64]) -> None:
        """Read on until each row of a tree has as many as are wanted of it, or is whole."""
        n_rows, n_room = self.ids.shape
        n_needed, n_before = int(wanted.max(initial=0)), int(self.n_filled.max(initial=0))
        if n_needed > n_room:
            ids, scores = np.empty((n_rows, n_needed), np.int32), np.empty((n_rows, n_needed))
            ids[:, :n_before], scores[:, :n_before] = self.ids[:, :n_before], self.scores[:, :n_before]
            self.ids, self.scores = ids, scores
        self._tree.fill(
            self._trees,
            self._low,
            self._high,
            self._cursors,
            False,
            wanted,
            self.ids,
            self.scores,
            self.n_filled,
        )

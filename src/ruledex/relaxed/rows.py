"""The keys that an event meets, as rows that are read as far as they are needed."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ruledex.events.batch import EventBatch
from ruledex.ranked.cursor import TreeCursors
from ruledex.relaxed.layout import RelaxedLayout
from ruledex.relaxed.threshold import fill_from_lists

Floats = NDArray[np.float64]


class IntervalTrees(Protocol):
    """Trees over keys of several cells, as ruledex.ranked has them: the most points first, ties by number."""

    @property
    def n_bytes(self) -> int:
        """The arrays' size."""

    def new_cursors(self, n_rows: int, is_point: bool) -> TreeCursors:
        """Cursors that have not started."""

    def fill(
        self,
        trees: NDArray[np.int32],
        low: Floats,
        high: Floats,
        cursors: TreeCursors,
        fresh: bool,
        wanted: NDArray[np.int64],
        out_ids: NDArray[np.int32],
        out_scores: Floats,
        n_filled: NDArray[np.int64],
    ) -> None:
        """For each row write what comes next until there are as many as wanted, or the row has ended."""


class EventCells(NamedTuple):
    """One event's cells, what each multiplies points with, and those that have a tree."""

    begin: int
    end: int
    cells: NDArray[np.int32]
    weight: Floats
    tree: NDArray[np.int32]  # [n_tree_rows]
    place: NDArray[np.int64]  # [n_tree_rows] which of the cells
    n_listed: int  # keys in the lists of all cells


def event_cells(layout: RelaxedLayout, batch: EventBatch, event: int) -> EventCells:
    """Look up what the event's cells lead to."""
    begin, end = int(batch.offsets[event]), int(batch.offsets[event + 1])
    cells = batch.cells[begin:end]
    weight = batch.weights[begin:end] if len(batch.weights) else np.ones(len(cells))
    if layout.has_constants:
        weight = np.maximum(weight, 1.0)
    tree = np.searchsorted(layout.tree_first, cells, side="right") - 1
    place = np.flatnonzero((tree >= 0) & (cells <= layout.tree_last[tree])) if len(layout.tree_first) else tree[:0]
    offsets = layout.keys.cell_offsets
    n_listed = int((offsets[cells + 1] - offsets[cells]).sum())
    return EventCells(begin, end, cells, weight, tree[place].astype(np.int32), place, n_listed)


class Reader:
    """Rows of keys and points: those of trees first, then, if `with_lists`, those of the lists of single cells."""

    def __init__(
        self, layout: RelaxedLayout, trees: IntervalTrees, event: EventCells, n_room: int, with_lists: bool
    ) -> None:
        self._keys = layout.keys
        self._trees = trees
        self._tree = event.tree
        self._cell = event.cells[event.place].astype(np.float64)
        self._cursors = trees.new_cursors(len(event.tree), True)
        self._listed = event.cells if with_lists else event.cells[:0]
        n_rows = len(event.tree) + len(self._listed)
        self.keys, self.points = np.empty((n_rows, n_room), np.int32), np.empty((n_rows, n_room))
        self.n_filled, self.has_more = np.zeros(n_rows, np.int64), np.ones(n_rows, np.int64)
        listed_weight = event.weight if with_lists else event.weight[:0]
        self.weight = np.concatenate([event.weight[event.place], listed_weight])
        self.repeats = np.concatenate([layout.tree_repeats[event.tree], np.ones(len(self._listed))])

    def fill(self, n_wanted: int) -> None:
        """Read on until each row has as many as are wanted, or is whole."""
        n_rows, n_room = self.keys.shape
        n_trees = len(self._tree)
        if n_wanted > n_room:
            n_before = int(self.n_filled.max(initial=0))
            keys, points = np.empty((n_rows, n_wanted), np.int32), np.empty((n_rows, n_wanted))
            keys[:, :n_before], points[:, :n_before] = self.keys[:, :n_before], self.points[:, :n_before]
            self.keys, self.points = keys, points
        if n_trees:
            self._trees.fill(
                self._tree,
                self._cell,
                self._cell,
                self._cursors,
                False,
                np.full(n_trees, n_wanted),
                self.keys[:n_trees],
                self.points[:n_trees],
                self.n_filled[:n_trees],
            )
            self.has_more[:n_trees] = self._cursors.n_held
        fill_from_lists(
            self._keys,
            self._listed,
            n_wanted,
            self.keys[n_trees:],
            self.points[n_trees:],
            self.n_filled[n_trees:],
            self.has_more[n_trees:],
        )

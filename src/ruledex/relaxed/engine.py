"""The best rules of an event if not all of their conjuncts need hold: the engine behind `top(mode="relaxed")`.

Three ways give the same answer, to the last bit. `scan` scores every rule. `count` adds up, for each rule, the points
of all keys that the event meets, and scores those whose sum may be enough. `threshold` reads the keys with the most
points first, and stops once what is left cannot be enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.inputs import check_k, freeze_alive, freeze_batch, freeze_static_score, rank_code
from ruledex.engines.protocol import Alive, Matches, Rank
from ruledex.engines.ranking import sort_heap
from ruledex.errors import RuledexError, quoted
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program
from ruledex.program.scores.run import EPSILON, ScoreStack
from ruledex.ranked.threshold import N_HELD, N_READ, N_SCORED
from ruledex.ranked.tree import ScoredTree
from ruledex.relaxed.candidates import (
    UNTOUCHED,
    CandidateScratch,
    CellRows,
    OneEvent,
    best_of_candidates,
    find_candidates,
)
from ruledex.relaxed.layout import IntervalKeys, RelaxedLayout, build_relaxed_layout
from ruledex.relaxed.threshold import ThresholdRows, fill_from_lists, forget_rules, read_rows

Floats = NDArray[np.float64]
Method = Literal["auto", "scan", "count", "threshold"]
METHODS: tuple[Method, ...] = ("auto", "scan", "count", "threshold")
FEWEST_WANTED = 8  # keys that each row is asked for at first; then four times as many each time
FEWEST_OF_WHOLE = 128  # the same where rows are read to their end
ADDITIONS_A_READ = 40  # keys that are added up in the time that it takes to read one and to score its rule
PATIENCE = 16  # where the threshold was in vain for an event, it is tried again for the 16th after it
MakeTrees = Callable[[IntervalKeys, int], ScoredTree]


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
        self, layout: RelaxedLayout, trees: ScoredTree, event: EventCells, n_room: int, with_lists: bool
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


class RelaxedReport(NamedTuple):
    """How an answer was found."""

    method: Method
    n_keys: int  # read or added up
    n_scored: int  # rules, or those that might have to be


class Best(NamedTuple):
    """Rules with their ranks, the best first; while they are looked for, a heap of them."""

    rule: NDArray[np.int32]
    rank: NDArray[np.float64]


class _Call(NamedTuple):
    """What one event's search works on."""

    cells: EventCells
    event: OneEvent
    given_static: NDArray[np.float64] | None  # static scores as the caller has them
    alive: NDArray[np.uint8]
    stack: ScoreStack
    best: Best


class RelaxedEngine:
    """Rules taken apart over one Program. Safe to use from several threads at once."""

    name = "relaxed"

    def __init__(self, program: Program, layout: RelaxedLayout, trees: ScoredTree) -> None:
        self.program = program
        self.layout = layout
        self._trees = trees
        self._pool: list[tuple[CandidateScratch, NDArray[np.uint64]]] = []
        self._static_order: tuple[NDArray[np.float64] | None, NDArray[np.int32]] | None = None
        self._n_in_vain = 0  # events in a row, of those that came last, for which the threshold was or would have been
        self._n_in_tree = np.bincount(layout.intervals.tree, minlength=len(layout.tree_first))

    @classmethod
    def build(cls, program: Program, make_trees: MakeTrees) -> Self:
        """Take the rules apart; `make_trees` makes the trees over keys of several cells."""
        layout = build_relaxed_layout(program)
        return cls(program, layout, make_trees(layout.intervals, len(layout.tree_first)))

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
        method: Method = "auto",
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        n_events = len(batch.offsets) - 1
        offsets, rules, ranks = np.zeros(n_events + 1, np.int64), [np.zeros(0, np.int32)], [np.zeros(0)]
        for event in range(n_events):
            answer, _ = self.top_reported(batch, event, k, rank, alive, static_score, method)
            offsets[event + 1] = offsets[event] + len(answer.rule)
            rules.append(answer.rule)
            ranks.append(answer.rank)
        return Matches(offsets, np.concatenate(rules), np.concatenate(ranks))

    def top_reported(
        self,
        batch: EventBatch,
        event: int,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
        method: Method = "auto",
    ) -> tuple[Best, RelaxedReport]:
        """Return the best k rules of one event of a batch, and how they were found."""
        if method not in METHODS:
            raise RuledexError(f"method must be one of {', '.join(METHODS)}, not {quoted(method)}")
        batch, most = freeze_batch(batch), min(check_k(k), self.program.n_rules)
        static = freeze_static_score(static_score, self.program)
        kind, living = rank_code(rank), freeze_alive(alive, self.program.n_rules)
        best = Best(np.empty(most, np.int32), np.empty(most))
        if most == 0:  # the heap has no worst entry then, which the kernels compare with
            return best, RelaxedReport(method, 0, 0)
        cells = event_cells(self.layout, batch, event)
        one = OneEvent(batch.cells, batch.weights, cells.begin, cells.end, kind, static)
        with self.layout.scorer.stack() as stack:
            call = _Call(cells, one, static_score, living, stack, best)
            if method == "scan":
                n_found, report = self._scan(call)
            elif method == "count":
                n_found, report = self._count(call)
            else:
                n_found, report = self._threshold(call, may_stop=method == "auto")
        return Best(best.rule[:n_found], best.rank[:n_found]), report

    def _scan(self, call: _Call) -> tuple[int, RelaxedReport]:
        """Score every rule."""
        candidates = np.flatnonzero(call.alive) if len(call.alive) else np.arange(self.program.n_rules)
        bounds = np.full(len(candidates), np.inf)
        n_found = self._best(call, candidates.astype(np.int32), bounds)
        return n_found, RelaxedReport("scan", 0, len(candidates))

    def _count(self, call: _Call) -> tuple[int, RelaxedReport]:
        """Add up the points of all keys that are met."""
        cells = call.cells
        n_wanted = FEWEST_OF_WHOLE
        reader = Reader(self.layout, self._trees, cells, n_wanted, with_lists=False)
        while reader.has_more.any():
            reader.fill(n_wanted)
            n_wanted *= 4
        scratch, seen = self._take()
        candidates, bounds = np.empty(self.program.n_rules, np.int32), np.empty(self.program.n_rules)
        rows = CellRows(reader.keys, reader.n_filled, reader.weight)
        event = call.event, cells.weight, self._slack(call), call.alive
        n_candidates = find_candidates(self.layout.keys, rows, *event, scratch, candidates, bounds)
        self._pool.append((scratch, seen))
        n_found = self._best(call, candidates[:n_candidates], bounds[:n_candidates])
        n_keys = cells.n_listed + int(reader.n_filled.sum())
        return n_found, RelaxedReport("count", n_keys, n_candidates)

    def _best(self, call: _Call, candidates: NDArray[np.int32], bounds: NDArray[np.float64]) -> int:
        given = frozen(candidates, np.int32), frozen(bounds, np.float64)
        return best_of_candidates(self.layout.rules, call.event, *given, call.stack, call.best.rank, call.best.rule)

    def _threshold(self, call: _Call, may_stop: bool) -> tuple[int, RelaxedReport]:
        """Read the rows in step. If `may_stop`, only as long as it can take less time than to add up."""
        cells, event, best = call.cells, call.event, call.best
        n_wanted = FEWEST_WANTED
        n_most = len(self.layout.keys.branch) + 1  # more than any row has, so that each is read to its end
        if may_stop:
            n_met = cells.n_listed + int(self._n_in_tree[cells.tree].sum())
            n_most = n_met // ADDITIONS_A_READ // (len(cells.cells) + len(cells.tree))
            self._n_in_vain += 1
            if n_wanted > n_most or self._n_in_vain % PATIENCE != 1:
                return self._count(call)
        reader = Reader(self.layout, self._trees, cells, n_wanted, with_lists=True)
        scratch, seen = self._take()
        state, is_done = np.zeros(3, np.int64), False
        most = self.layout.most * max(float(cells.weight.max(initial=1.0)), 1.0)
        index, limits = (self.layout.rules, self.layout.keys, event), (most, self._slack(call), call.alive)
        n_filled = 0
        while not is_done and n_filled < n_most:
            n_filled = min(n_wanted, n_most)
            reader.fill(n_filled)
            read = reader.keys, reader.points, reader.n_filled, reader.has_more
            rows = ThresholdRows(*read, reader.weight * reader.repeats, self._by_static(call))
            is_done = read_rows(*index, rows, *limits, seen, call.stack, state, best.rank, best.rule)
            n_wanted *= 4
        forget_rules(self.layout.keys, rows, int(state[N_READ]), seen)
        self._pool.append((scratch, seen))
        if not is_done:
            return self._count(call)
        self._n_in_vain = 0
        n_found = int(state[N_HELD])
        sort_heap(best.rank, best.rule, n_found)
        n_keys = int(np.minimum(reader.n_filled, state[N_READ]).sum())
        return n_found, RelaxedReport("threshold", n_keys, int(state[N_SCORED]))

    def _slack(self, call: _Call) -> float:
        """Return how much larger a rank may be than its bound, for sums are rounded in another order; a factor."""
        if self.layout.is_exact and len(call.event.weights) == 0:
            return 1.0
        n_additions = (self.layout.most_keys + 1) * len(call.cells.cells)
        return 1.0 + 8.0 * EPSILON * (n_additions + 8)

    def _by_static(self, call: _Call) -> NDArray[np.int32]:
        """Return all rules by static score, or none where all are equal; the last answer is remembered."""
        known = self._static_order
        if known is None or known[0] is not call.given_static:
            static = call.event.static_score
            order = np.argsort(-static, kind="stable").astype(np.int32)
            if static[order[0]] == static[order[-1]]:
                order = order[:0]
            known = self._static_order = call.given_static, frozen(order, np.int32)
        return known[1]

    def _take(self) -> tuple[CandidateScratch, NDArray[np.uint64]]:
        """Return scratch that no other call uses, from the pool. A call that fails does not give it back."""
        try:
            return self._pool.pop()
        except IndexError:
            n_rules, n_branches = self.program.n_rules, len(self.layout.keys.rule)
            scratch = CandidateScratch(
                np.full(n_branches, UNTOUCHED), np.full(n_rules, UNTOUCHED), np.empty(n_branches, np.int32)
            )
            return scratch, np.zeros(n_rules // 64 + 1, np.uint64)

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
        layout = self.layout
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "n_branches": len(layout.keys.rule),
            "n_conjuncts": len(layout.rules.kind),
            "n_interval_keys": len(layout.intervals.low),
            "n_cell_keys": len(layout.keys.branch) - len(layout.intervals.low),
            "n_trees": len(layout.tree_first),
            "bytes": layout.n_bytes + self._trees.n_bytes,
        }

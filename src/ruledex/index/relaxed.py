"""Relaxed matching of an index: made at the first call for it, and kept as long as the rules are the same."""

from __future__ import annotations

from typing import Literal, cast, get_args

import numpy as np

from ruledex.encode.program import Program
from ruledex.engines.inputs import frozen
from ruledex.engines.protocol import Engine
from ruledex.engines.relaxed import RelaxedEngine
from ruledex.engines.relaxed_layout import IntervalKeys
from ruledex.index.arguments import checked_choice
from ruledex.index.live import LiveState, Snapshot
from ruledex.index.relaxed_delta import RelaxedDelta, RelaxedPieces
from ruledex.index.state import State, matcher_of
from ruledex.ranked.intervals import Intervals, entries_of
from ruledex.ranked.sopt import SOPTRTree

Mode = Literal["exact", "relaxed"]


class RelaxedViews:
    """What an index reads, with engines that answer `top`, and nothing else, for rules that need not be true.

    Engines belong to Programs, so that a change of a few rules makes an engine of these anew, and none of the base.
    Safe to use from several threads at once: two that come first may both make an engine, and one of them stays.
    """

    def __init__(self) -> None:
        self._engines: dict[int, RelaxedEngine] = {}  # by the id of the Program, which the engine keeps alive
        self._pieces = RelaxedPieces(lambda built: relaxed_engine(built.program))
        self._last: tuple[Snapshot, Snapshot] | None = None

    def of(self, state: Snapshot, mode: Mode) -> Snapshot:
        """What answers in a mode: the state itself, or a view of it."""
        if checked_choice("mode", mode, get_args(Mode)) == "exact":
            return state
        last = self._last
        if last is None or last[0] is not state:
            used: dict[int, RelaxedEngine] = {}
            last = state, self._view(state, used)
            self._engines, self._last = used, last
        return last[1]

    def _view(self, state: Snapshot, used: dict[int, RelaxedEngine]) -> Snapshot:
        if isinstance(state, LiveState):
            delta = RelaxedDelta(state.delta, self._pieces.of(state.delta, state.dictionary.schema))
            return LiveState(self._base(state.base, used), state.dead, state.alive, state.scores, delta)
        return self._base(state, used)

    def _base(self, state: State, used: dict[int, RelaxedEngine]) -> State:
        shards = tuple(shard._replace(engine=self._engine(shard.program, used)) for shard in state.shards)
        return state._replace(shards=shards, engine=matcher_of(shards))

    def _engine(self, program: Program, used: dict[int, RelaxedEngine]) -> Engine:
        known = self._engines.get(id(program)) or relaxed_engine(program)
        used[id(program)] = known
        return cast(Engine, known)  # whoever asks a view asks it for `top` alone


def relaxed_engine(program: Program) -> RelaxedEngine:
    """The engine of a Program, with SOPT-R-trees over what its rules ask of stretches of cells."""
    return RelaxedEngine.build(program, interval_trees)


def interval_trees(keys: IntervalKeys, n_trees: int) -> SOPTRTree:
    """Trees over intervals of cells, which are exact as doubles."""
    ends = np.empty(2 * len(keys.low))
    ends[0::2], ends[1::2] = keys.low, keys.high
    intervals = Intervals(frozen(ends, np.float64), frozen(keys.points, np.float64))
    return SOPTRTree.from_entries(entries_of(intervals, keys.tree, n_trees))

"""A delta that answers in the relaxed mode: its rules compiled in pieces of its log, each piece once.

Relaxed matching of an index: made at the first call for it, and kept as long as the rules are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Final, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.protocol import Engine, Matches, Rank
from ruledex.engines.sharded import merged_top
from ruledex.events.mappings import EventEncoder
from ruledex.index.arguments import checked_choice
from ruledex.index.build import BuiltRules, build_program
from ruledex.index.inputs import Events, encode_events
from ruledex.index.live.delta import Delta, Log
from ruledex.index.live.state import LiveState, Snapshot
from ruledex.index.state import State, matcher_of
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema
from ruledex.program.program import Program
from ruledex.ranked.intervals import Intervals, entries_of
from ruledex.ranked.sopt_rtree import SOPTRTree
from ruledex.relaxed.engine import RelaxedEngine
from ruledex.relaxed.layout import IntervalKeys

ENTRIES_A_PIECE: Final = 1024  # what a change makes anew is the last piece, as far as it goes

Make = Callable[[BuiltRules], RelaxedEngine]


class Piece(NamedTuple):
    """Some entries of a log in the order of their ids, so that ties are broken as they are elsewhere."""

    log: Log  # which is kept, so that no other one is taken for it
    entries: NDArray[np.int64]
    encoder: EventEncoder
    engine: RelaxedEngine


class RelaxedPieces:
    """The pieces of the log that was asked for last. Safe to use from several threads, which may make one twice."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._pieces: dict[tuple[int, int], Piece] = {}

    def of(self, delta: Delta, schema: Schema) -> list[Piece]:
        """Pieces that have all rules of a delta, and others that it has no longer."""
        log, n_entries = delta.log, int(delta.rules.entries.max(initial=-1)) + 1
        found: dict[tuple[int, int], Piece] = {}
        for start in range(0, n_entries, ENTRIES_A_PIECE):
            bounds = start, min(start + ENTRIES_A_PIECE, n_entries)
            known = self._pieces.get(bounds)
            found[bounds] = known if known is not None and known.log is log else self._made(log, bounds, schema)
        self._pieces = found
        return list(found.values())

    def _made(self, log: Log, bounds: tuple[int, int], schema: Schema) -> Piece:
        entries = np.array(sorted(range(*bounds), key=lambda entry: log[entry][0]), np.int64)
        texts = [log[entry][1] for entry in entries.tolist()]
        built = build_program(texts, np.zeros(len(texts)), schema)
        assert not built.faults  # they have been compiled before
        return Piece(log, entries, EventEncoder(built.dictionary), self._make(built))


class RelaxedDelta(Delta):
    """Answers `top`, and nothing else, for rules that need not be true."""

    def __init__(self, delta: Delta, pieces: list[Piece]) -> None:
        super().__init__(delta.tree, delta.rules, delta.log)
        self._pieces = [(piece, self._numbers(piece)) for piece in pieces]

    def _numbers(self, piece: Piece) -> NDArray[np.int64]:
        """Of each rule of a piece its number here, -1 where it is gone."""
        order = np.argsort(self.rules.entries)
        at = np.searchsorted(self.rules.entries, piece.entries, sorter=order)
        numbers = order[np.minimum(at, len(order) - 1)]
        return np.where(self.rules.entries[numbers] == piece.entries, numbers, -1)

    @contextmanager
    def reading(self) -> Iterator[RelaxedDelta]:  # type: ignore[override]  # it answers as a reader does
        """Itself: nothing of it is ever changed."""
        yield self

    def top(self, events: Events, k: int, rank: Rank, weights: Sequence[Weights | None] | None) -> Matches:
        """The numbers of the best k rules of each event, with their ranks."""

        def best(piece: Piece, numbers: NDArray[np.int64]) -> Matches:
            alive = (numbers >= 0).astype(np.uint8)
            scores = np.where(numbers >= 0, self.rules.scores[numbers], 0.0)
            batch = encode_events(piece.encoder, events, weights)
            found = piece.engine.top(batch, k, rank, alive, scores)
            return found._replace(rule=numbers[found.rule].astype(np.int32))

        return reduce(lambda left, right: merged_top(left, right, k), (best(*piece) for piece in self._pieces))


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

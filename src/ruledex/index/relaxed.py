"""Relaxed matching of an index: engines made at the first call, and kept as long as the rules are the same.

The rules of a delta are compiled in pieces of its log, each piece once.
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
from ruledex.engines.sharded import combine_top
from ruledex.events.mappings import EventEncoder
from ruledex.index.build import BuiltRules, build_program
from ruledex.index.inputs import Events, check_choice, encode_events
from ruledex.index.live.delta import Delta, Log
from ruledex.index.live.state import LiveState
from ruledex.index.state import BuiltState, Snapshot, matcher_of
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema
from ruledex.program.program import Program
from ruledex.ranked.intervals import Intervals, entries_of
from ruledex.ranked.sopt_rtree import SOPTRTree
from ruledex.relaxed.engine import RelaxedEngine
from ruledex.relaxed.layout import IntervalKeys

Mode = Literal["exact", "relaxed"]

ENTRIES_PER_PIECE: Final = 1024  # a change compiles at most the last piece again

Make = Callable[[BuiltRules], RelaxedEngine]


class RelaxedViews:
    """Snapshots with engines that answer only `top`, for rules that need not be true.

    Engines belong to Programs, so that a change of a few rules makes no new engine for the base. Safe to use from
    several threads: two may both make the same engine, and one of these is kept.
    """

    def __init__(self) -> None:
        self._engines: dict[int, RelaxedEngine] = {}  # by id() of the Program, which the engine keeps alive
        self._pieces = RelaxedPieces(lambda built: relaxed_engine(built.program))
        self._last: tuple[Snapshot, Snapshot] | None = None

    def of(self, state: Snapshot, mode: Mode) -> Snapshot:
        """Return what answers in a mode: the snapshot itself, or a view of it."""
        if check_choice("mode", mode, get_args(Mode)) == "exact":
            return state
        last = self._last
        if last is None or last[0] is not state:
            used: dict[int, RelaxedEngine] = {}
            last = state, self._view(state, used)
            self._engines, self._last = used, last
        return last[1]

    def _view(self, state: Snapshot, used: dict[int, RelaxedEngine]) -> Snapshot:
        base = self._base(state.base, used)
        if not state.is_changed:
            return base
        live = LiveState.of(state)
        delta = RelaxedDelta(live.delta, self._pieces.of(live.delta, live.schema))
        return LiveState(base, live.removed, live.alive, live.scores, delta, live.schema)

    def _base(self, state: BuiltState, used: dict[int, RelaxedEngine]) -> BuiltState:
        shards = tuple(shard._replace(engine=self._engine(shard.program, used)) for shard in state.shards)
        return state._replace(shards=shards, engine=matcher_of(shards))

    def _engine(self, program: Program, used: dict[int, RelaxedEngine]) -> Engine:
        known = self._engines.get(id(program)) or relaxed_engine(program)
        used[id(program)] = known
        return cast(Engine, known)  # only `top` of a view is called


def relaxed_engine(program: Program) -> RelaxedEngine:
    """Build the engine of a Program, with SOPT-R-trees over the intervals of cells that its rules name."""
    return RelaxedEngine.build(program, interval_trees)


def interval_trees(keys: IntervalKeys, n_trees: int) -> SOPTRTree:
    """Build trees over intervals of cells, which are exact as doubles."""
    ends = np.empty(2 * len(keys.low))
    ends[0::2], ends[1::2] = keys.low, keys.high
    intervals = Intervals(frozen(ends, np.float64), frozen(keys.points, np.float64))
    return SOPTRTree.from_entries(entries_of(intervals, keys.tree, n_trees))


# The delta.


class LogPiece(NamedTuple):
    """Some entries of a log in the order of ids, so that ties are broken as elsewhere."""

    log: Log  # kept alive, so that no other log is mistaken for it
    schema: Schema
    entries: NDArray[np.int64]
    encoder: EventEncoder
    engine: RelaxedEngine


class RelaxedPieces:
    """The pieces of the last log. Safe to use from several threads, which may make a piece twice."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._pieces: dict[tuple[int, int], LogPiece] = {}

    def of(self, delta: Delta, schema: Schema) -> list[LogPiece]:
        """Return pieces that have all rules of a delta, and others that have been removed from it."""
        log, n_entries = delta.log, int(delta.rules.entries.max(initial=-1)) + 1
        found: dict[tuple[int, int], LogPiece] = {}
        for start in range(0, n_entries, ENTRIES_PER_PIECE):
            bounds = start, min(start + ENTRIES_PER_PIECE, n_entries)
            known = self._pieces.get(bounds)
            is_same = known is not None and known.log is log and known.schema.definitions == schema.definitions
            found[bounds] = known if known is not None and is_same else self._make_piece(log, bounds, schema)
        self._pieces = found
        return list(found.values())

    def _make_piece(self, log: Log, bounds: tuple[int, int], schema: Schema) -> LogPiece:
        entries = np.array(sorted(range(*bounds), key=lambda entry: log[entry][0]), np.int64)
        texts = [log[entry][1] for entry in entries.tolist()]
        built = build_program(texts, np.zeros(len(texts)), schema)
        if built.faults:
            # All have been compiled before. These were replaced or removed since, and so was a definition of theirs.
            for at, _ in built.faults:
                texts[at] = "FALSE"
            built = build_program(texts, np.zeros(len(texts)), schema)
        return LogPiece(log, schema, entries, EventEncoder(built.dictionary), self._make(built))


class RelaxedDelta(Delta):
    """A delta that answers only `top`, for rules that need not be true."""

    def __init__(self, delta: Delta, pieces: list[LogPiece]) -> None:
        super().__init__(delta.tree, delta.rules, delta.log, delta.plain, delta.functions)
        self._pieces = [(piece, self._positions(piece)) for piece in pieces]

    def _positions(self, piece: LogPiece) -> NDArray[np.int64]:
        """Return for each rule of a piece its position in the delta, -1 if it has been removed."""
        order = np.argsort(self.rules.entries)
        at = np.searchsorted(self.rules.entries, piece.entries, sorter=order)
        positions = order[np.minimum(at, len(order) - 1)]
        return np.where(self.rules.entries[positions] == piece.entries, positions, -1)

    @contextmanager
    def reading(self) -> Iterator[RelaxedDelta]:  # type: ignore[override]  # it answers as a reader does
        """Give the delta itself, which never changes."""
        yield self

    def top(self, events: Events, k: int, rank: Rank, weights: Sequence[Weights | None] | None) -> Matches:
        """Return the positions of the best k rules of each event, with their ranks."""

        def best(piece: LogPiece, positions: NDArray[np.int64]) -> Matches:
            alive = (positions >= 0).astype(np.uint8)
            if self.admitted is not None:
                alive &= self.admitted[positions]  # of a rule that has been removed, the last one's
            scores = np.where(positions >= 0, self.rules.scores[positions], 0.0)
            batch = encode_events(piece.encoder, events, weights)
            found = piece.engine.top(batch, k, rank, alive, scores)
            return found._replace(rule=positions[found.rule].astype(np.int32))

        return reduce(lambda left, right: combine_top(left, right, k), (best(*piece) for piece in self._pieces))

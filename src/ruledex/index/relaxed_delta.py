"""A delta that answers in the relaxed mode: its rules compiled in pieces of its log, each piece once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.events import EventEncoder
from ruledex.engines.protocol import Matches, Rank
from ruledex.engines.relaxed import RelaxedEngine
from ruledex.engines.sharded import merged_top
from ruledex.index.delta import Delta
from ruledex.index.delta_rules import Log
from ruledex.index.events_in import Events, encode_events
from ruledex.index.program_of import BuiltRules, build_program
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema

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

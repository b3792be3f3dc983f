"""`auto`: the default. Small batches go event by event, large ones 512 at a time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.encode.program import Program
from ruledex.engines.batch import BatchEngine
from ruledex.engines.protocol import Alive, Arrays, Engine, Matches, Rank, Statistics
from ruledex.engines.sparse import SparseEngine

BATCH_FROM = 128


class AutoEngine:
    """`sparse` and `batch` over the same Program."""

    name = "auto"

    def __init__(self, program: Program, sparse: SparseEngine, batch: BatchEngine) -> None:
        self.program = program
        self.sparse = sparse
        self.batch = batch

    @classmethod
    def build(cls, program: Program, statistics: Statistics | None = None, threads: int = 1) -> Self:
        """Build both."""
        return cls(
            program, SparseEngine.build(program, statistics), BatchEngine.build(program, statistics, threads=threads)
        )

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Both engines over stored arrays, which are used as they lie."""
        parts: dict[str, Arrays] = {SparseEngine.name: {}, BatchEngine.name: {}}
        for name, array in arrays.items():
            engine, _, field = name.partition(".")
            parts.setdefault(engine, {})[field] = array
        return cls(
            program,
            SparseEngine.from_arrays(program, parts[SparseEngine.name]),
            BatchEngine.from_arrays(program, parts[BatchEngine.name]),
        )

    def arrays(self) -> Arrays:
        """The arrays of both, each name after its engine's."""
        return {
            f"{engine.name}.{field}": array
            for engine in (self.sparse, self.batch)
            for field, array in engine.arrays().items()
        }

    def choose(self, n_events: int) -> tuple[Engine, str]:
        """The engine for a batch of that many events, and why."""
        if n_events < BATCH_FROM:
            return self.sparse, f"fewer than {BATCH_FROM} events"
        return self.batch, f"{BATCH_FROM} events or more"

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """All rules that are true, ascending within an event."""
        return self.choose(batch.n_events)[0].match(batch, alive)

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """For each event, how many rules are true."""
        return self.choose(batch.n_events)[0].count(batch, alive)

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """The best k rules of each event with their ranks as scores, the best first, ties by position."""
        return self.choose(batch.n_events)[0].top(batch, k, rank, alive, static_score)

    def describe(self) -> dict[str, Any]:
        """What was built, and which of it answers what."""
        return {"engine": self.name, "n_rules": self.program.n_rules}

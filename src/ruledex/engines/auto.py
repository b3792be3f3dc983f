"""`auto`: the default. Small batches go event by event, large ones 512 at a time.

A block of `batch` costs nearly the same for one event as for 512, so there is a number of events from which on it is
the cheaper way. It grows with the number of rules, because `sparse` visits what an event makes true and `batch` visits
all. `benchmarks/engine_kernels.py` measures it; on rules like a-tree2021's, of which 2.2% match an event, both ways
cost the same at

    some 130 events    1,000 and 10,000 rules
    some 180 events    100,000 rules
    some 300 events    1,000,000 rules
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.encode.program import Program
from ruledex.engines.batch import BatchEngine
from ruledex.engines.protocol import Alive, Arrays, Matches, Rank, Statistics
from ruledex.engines.sparse import SparseEngine

CROSSOVERS = ((30_000, 128), (300_000, 192), (None, 320))  # up to that many rules, from that many events on


class AutoEngine:
    """`sparse` and `batch` over the same Program."""

    name = "auto"

    def __init__(self, program: Program, sparse: SparseEngine, batch: BatchEngine) -> None:
        self.program = program
        self.sparse = sparse
        self.batch = batch
        self.batch_from = next(events for rules, events in CROSSOVERS if rules is None or program.n_rules <= rules)

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

    def choose(self, n_events: int) -> SparseEngine | BatchEngine:
        """The engine for a batch of that many events."""
        return self.sparse if n_events < self.batch_from else self.batch

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """All rules that are true, ascending within an event."""
        return self.choose(batch.n_events).match(batch, alive)

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """For each event, how many rules are true."""
        return self.choose(batch.n_events).count(batch, alive)

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """The best k rules of each event with their ranks as scores, the best first, ties by position."""
        return self.choose(batch.n_events).top(batch, k, rank, alive, static_score)

    def describe(self) -> dict[str, Any]:
        """What was built, and which of it answers what."""
        sparse, batch = self.sparse.describe(), self.batch.describe()
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "batch_from_events": self.batch_from,
            "why": f"with {self.program.n_rules:,} rules, {self.batch_from} events or more cost less in blocks of "
            f"{batch['events_a_block']} than one by one; fewer go to sparse",
            "bytes": sparse["bytes"] + batch["bytes"],
            "sparse": sparse,
            "batch": batch,
        }

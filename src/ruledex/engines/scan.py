"""`scan`: every rule against every event. The baseline, and enough for small rule sets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.encode.program import Program
from ruledex.engines.inputs import frozen, frozen_alive, frozen_batch, literals_of
from ruledex.engines.protocol import Alive, Arrays, Matches, Rank, Statistics
from ruledex.engines.ranking import Ranker
from ruledex.engines.work import Work, averages
from ruledex.kernels.scan import Nodes, scan
from ruledex.kernels.scan_work import count_evaluated


class ScanEngine:
    """Has no structure of its own: a Program is all that it needs."""

    name = "scan"

    def __init__(self, program: Program) -> None:
        self.program = program
        self._ranker = Ranker(program)
        self._literals = literals_of(program)
        self._nodes = Nodes(
            frozen(program.node_op, np.uint8),
            frozen(program.child_offsets, np.int32),
            frozen(program.children, np.int32),
        )
        self._root = frozen(program.root, np.int32)

    @classmethod
    def build(cls, program: Program, statistics: Statistics | None = None) -> Self:  # noqa: ARG003 - see the docstring
        """Nothing is computed; statistics would change nothing."""
        return cls(program)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:  # noqa: ARG003 - there are none
        """The engine over `program`; it has no arrays of its own."""
        return cls(program)

    def arrays(self) -> Arrays:
        """None."""
        return {}

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """All rules that are true, ascending within an event."""
        found = list(self._found(batch, alive))
        offsets = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(rules) for rules in found], out=offsets[1:])
        return Matches(offsets, np.concatenate([np.zeros(0, np.int32), *found]))

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """For each event, how many rules are true."""
        return np.array([len(rules) for rules in self._found(batch, alive)], np.int64)

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """The best k rules of each event with their ranks as scores, the best first, ties by position."""
        return self._ranker.top(batch, self.match(batch, alive), k, rank, static_score)

    def describe(self) -> dict[str, Any]:
        """What the engine is made of."""
        return {"engine": self.name, "n_rules": self.program.n_rules, "n_nodes": self.program.n_nodes, "bytes": 0}

    def work(self, batch: EventBatch) -> Work:
        """What an event makes the engine evaluate, on average."""
        counts = np.zeros(2, np.int64)
        n_evaluated = np.zeros((2, self.program.n_nodes), np.int64)
        for event in range(batch.n_events):
            is_true = np.zeros(self.program.n_nodes, np.bool_)
            is_true[: self.program.n_literals] = self._true_literals(
                batch.cells[batch.offsets[event] : batch.offsets[event + 1]]
            )
            count_evaluated(self._nodes, self._root, is_true, n_evaluated, counts)
        return averages(dict(zip(("literals evaluated", "nodes evaluated"), counts.tolist(), strict=True)), batch)

    def _true_literals(self, cells: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which literals an event of these cells makes true."""
        literals = self._literals
        before = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=self.program.n_cells))])
        n_intervals = np.diff(literals.interval_offsets)
        is_hit = before[literals.interval_low] != before[literals.interval_high + 1]
        is_true = (
            np.bincount(np.repeat(np.arange(len(n_intervals)), n_intervals)[is_hit], minlength=len(n_intervals)) > 0
        )
        is_there = before[literals.negative_presence] != before[literals.negative_presence + 1]
        return np.concatenate([is_true, is_there & ~is_true[literals.negative_of]])

    def _found(self, batch: EventBatch, alive: Alive | None) -> list[NDArray[np.int32]]:
        batch = frozen_batch(batch)
        alive_bytes = frozen_alive(alive, self.program.n_rules)
        path = np.zeros((2, len(self.program.level_offsets) + 1), np.int64)
        before = np.zeros(self.program.n_cells + 1, np.int32)
        out = np.zeros(self.program.n_rules, np.int32)
        found = []
        literals = self._literals
        for event in range(batch.n_events):
            begin, end = batch.offsets[event], batch.offsets[event + 1]
            n_found = scan(literals, self._nodes, self._root, alive_bytes, batch.cells, begin, end, path, before, out)
            found.append(out[:n_found].copy())
        return found

"""`auto`: the default engine. Small batches go event by event, large ones 512 events at a time.

Single events of few rules need no compiled code (`word.py`).

A block of `batch` costs nearly the same for one event as for 512, so from some number of events on it is the cheaper
way. That number grows with the number of rules, because `sparse` visits what an event makes true and `batch` visits
all rules. `benchmarks/engine_kernels.py` measures it. On rules like a-tree2021's, of which 2.2% match an event, both
ways cost the same at

    some 130 events    1,000 and 10,000 rules
    some 180 events    100,000 rules
    some 300 events    1,000,000 rules

`batch` is built when the first large batch comes, which takes some two seconds for a million rules, and is not stored:
a process that answers one event at a time has neither its memory nor its bytes on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.protocol import Alive, Arrays, Matches, OneEventMatcher, Rank, Statistics
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.engines.word import MOST_RULES, RuleWord
from ruledex.events.batch import EventBatch
from ruledex.forks import ForkSafeLock, cached_property
from ruledex.program.program import Program

if TYPE_CHECKING:
    from ruledex.engines.batch.engine import BatchEngine

FREQUENCY = "cell_frequency"
CROSSOVERS = ((30_000, 128), (300_000, 192), (None, 320))  # up to that many rules, from that many events on


@dataclass(frozen=True)
class AutoOptions:
    """The options of `auto`. `threads` are those of `batch`."""

    threads: int = 1


class AutoEngine(OneEventMatcher):
    """The engine `auto`: `sparse` and, once it is needed, `batch` over the same Program."""

    name = "auto"
    options_type = AutoOptions

    def __init__(
        self, program: Program, sparse: SparseEngine | None, statistics: Statistics | None = None, threads: int = 1
    ) -> None:
        self.program = program
        self.threads = threads
        self._sparse = sparse
        self._statistics = statistics
        self._batch: BatchEngine | None = None
        self._building = ForkSafeLock()
        self.batch_from = next(events for rules, events in CROSSOVERS if rules is None or program.n_rules <= rules)

    @classmethod
    def build(cls, program: Program, statistics: Statistics | None = None, options: AutoOptions | None = None) -> Self:
        """Build `sparse`, unless single events of so few rules hardly need it, and keep the statistics for `batch`."""
        threads = (options or AutoOptions()).threads
        is_later = statistics is None and len(program.root) <= MOST_RULES
        return cls(program, None if is_later else SparseEngine.build(program, statistics), statistics, threads)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """`sparse` over stored arrays, which are used as they lie."""
        arrays = dict(arrays)
        frequency = arrays.pop(FREQUENCY, None)
        statistics = None if frequency is None else Statistics(frozen(frequency, np.float64))
        return cls(program, SparseEngine.from_arrays(program, arrays), statistics)

    def with_threads(self, threads: int) -> AutoEngine:
        """Return the same engine for this many threads."""
        return AutoEngine(self.program, self._sparse, self._statistics, threads)

    def arrays(self) -> Arrays:
        """Return the arrays of `sparse`, and the statistics if there are any."""
        known = {} if self._statistics is None else {FREQUENCY: self._statistics.cell_frequency}
        return {**self.sparse.arrays(), **known}

    @property
    def sparse(self) -> SparseEngine:
        """The engine for small batches. That of few rules is made by whoever asks first."""
        made = self._sparse
        if made is None:
            with self._building:
                made = self._sparse
                if made is None:
                    made = self._sparse = SparseEngine.build(self.program, self._statistics)
        return made

    @property
    def batch(self) -> BatchEngine:
        """The engine for large batches, made by whoever asks first."""
        with self._building:
            if self._batch is None:
                from ruledex.engines.batch.engine import BatchEngine, BatchOptions

                self._batch = BatchEngine.build(self.program, self._statistics, BatchOptions(self.threads))
            return self._batch

    def choose(self, n_events: int) -> SparseEngine | BatchEngine:
        """Return the engine for a batch of that many events."""
        return self.sparse if n_events < self.batch_from else self.batch

    @cached_property
    def word(self) -> RuleWord | None:
        """What answers for single events if there are few rules, made for the first one; None if there are many."""
        return RuleWord.of(self.program)

    def match_one(self, cells: list[int]) -> NDArray[np.int32]:
        """Return the rules that are true of an event, ascending."""
        word = self.word
        return self.sparse.match_one(cells) if word is None else np.array(word.match(cells), np.int32)

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        return self.choose(len(batch.offsets) - 1).match(batch, alive)

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        return self.choose(batch.n_events).count(batch, alive)

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        return self.choose(batch.n_events).top(batch, k, rank, alive, static_score)

    def describe(self) -> dict[str, Any]:
        """Describe what was built, and which part answers what.

        `batch` is None before it is needed, and `word`, for single events, if there are too many rules for one.
        """
        from ruledex.engines.batch.rows import N_EVENTS

        sparse, batch = self.sparse.describe(), self._batch.describe() if self._batch else None
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "batch_from_events": self.batch_from,
            "why": f"with {self.program.n_rules:,} rules, {self.batch_from} events or more cost less in blocks of "
            f"{N_EVENTS} than one by one; fewer go to sparse",
            "bytes": sparse["bytes"] + (batch["bytes"] if batch else 0),
            "word": None if self.word is None else {"bits": self.word.n_bits, "heights": len(self.word.stages)},
            "sparse": sparse,
            "batch": batch,
        }

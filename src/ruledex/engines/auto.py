"""`auto`: the default engine. Small batches go event by event, large ones 512 events at a time, whichever takes less.

Single events of few rules need no compiled code (`word.py`).

A block of `batch` costs nearly the same for one event as for 512, so from some number of events on it may be the
cheaper road. Where nothing was measured yet, the number of rules decides, because `sparse` visits what an event makes
true and `batch` visits all rules; later calls go by what earlier ones took (`road_costs.py`). On rules like
a-tree2021's, of which 2.2% match an event, both roads cost the same (`benchmarks/engine_kernels.py`) at

    some 130 events    1,000 and 10,000 rules
    some 180 events    100,000 rules
    some 300 events    1,000,000 rules

`batch` is built when the first large batch comes, or when smaller ones have cost more without it than building it,
which takes some two seconds for a million rules. It is not stored: a process that answers one event at a time has
neither its memory nor its bytes on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.scheduler import scheduler
from ruledex.engines.protocol import Alive, Arrays, Matches, OneEventMatcher, Rank, Statistics
from ruledex.engines.road_costs import BLOCK, FEWEST, LINK_SECONDS, RoadCosts
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.engines.word import MOST_RULES, RuleWord
from ruledex.events.batch import EventBatch
from ruledex.forks import ForkSafeLock
from ruledex.program.program import Program

if TYPE_CHECKING:
    from ruledex.engines.batch.engine import BatchEngine

FREQUENCY = "cell_frequency"
CROSSOVERS = ((30_000, 128), (300_000, 192), (None, 320))  # up to that many rules, from that many events on
N_TRIED = 16  # events that are timed one by one where a batch may go in blocks

Answer = TypeVar("Answer", Matches, NDArray[np.int64])


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
        self._word: RuleWord | Literal[False] | None = None  # False if there are too many rules for one
        self._building = ForkSafeLock()
        self._costs: dict[tuple[str, int], RoadCosts] = {}
        self._clock = time.thread_time if threads == 1 else time.perf_counter
        n_rules = len(program.root)
        self._block_seconds = LINK_SECONDS * (len(program.children) + n_rules + program.n_literals)
        self.batch_from = next(events for rules, events in CROSSOVERS if rules is None or n_rules <= rules)

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
        """The engine for small batches. If there are few rules, the first call that needs it makes it."""
        made = self._sparse
        if made is None:
            with self._building:
                made = self._sparse
                if made is None:
                    made = self._sparse = SparseEngine.build(self.program, self._statistics)
        return made

    @property
    def batch(self) -> BatchEngine:
        """The engine for large batches. The first call that needs it makes it."""
        made = self._batch
        if made is None:
            with self._building:
                made = self._batch
                if made is None:
                    from ruledex.engines.batch.engine import BatchEngine, BatchOptions

                    made = BatchEngine.build(self.program, self._statistics, BatchOptions(self.threads))
                    self._batch = made
        return made

    def choose(self, n_events: int) -> SparseEngine | BatchEngine:
        """Return the engine for a batch of that many events, if nothing was measured yet."""
        return self.sparse if n_events < self.batch_from else self.batch

    def _answer(
        self, question: str, batch: EventBatch, ask: Callable[[SparseEngine | BatchEngine, EventBatch], Answer]
    ) -> Answer:
        """Ask the engine for which such a question is expected to take less, and note what it took."""
        n_events = len(batch.offsets) - 1
        if n_events < FEWEST:
            return ask(self.sparse, batch)
        if not scheduler.is_compiled:  # nothing that plain Python takes says anything about compiled code
            return ask(self.choose(n_events), batch)
        key = question, min(n_events, BLOCK).bit_length()
        costs = self._costs.get(key)
        if costs is None:
            costs = self._costs.setdefault(key, RoadCosts())
        is_by_blocks = costs.settled(n_events)
        if is_by_blocks is not None:
            return ask(self.batch if is_by_blocks else self.sparse, batch)
        clock, n_tried = self._clock, min(n_events, N_TRIED)

        def note_call(engine: SparseEngine | BatchEngine, part: EventBatch, n_asked: int) -> Answer:
            start = clock()
            found = ask(engine, part)
            costs.note(engine is not self._sparse, n_asked, clock() - start)
            return found

        def try_events() -> None:
            few = batch.part(0, n_tried)
            # The first may wait for compiled code, and the next still takes twice as long as later ones.
            for _ in range(3 if costs.by_events is None else 2):
                note_call(self.sparse, few, n_tried)

        is_built = self._batch is not None
        is_by_blocks = costs.is_by_blocks(n_events, self.batch_from, self._block_seconds, is_built, try_events)
        return note_call(self.batch if is_by_blocks else self.sparse, batch, n_events)

    @property
    def word(self) -> RuleWord | None:
        """The rules as one integer, which answers for single events; None if there are too many rules."""
        made = self._word
        if made is None:
            made = self._word = RuleWord.of(self.program) or False
        return made or None

    def match_one(self, cells: list[int]) -> NDArray[np.int32]:
        """Return the rules that are true of an event, ascending."""
        word = self._word
        if word is None:
            word = self.word
        return np.array(word.match(cells), np.int32) if word else self.sparse.match_one(cells)

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        return self._answer("match", batch, lambda engine, part: engine.match(part, alive))

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        return self._answer("count", batch, lambda engine, part: engine.count(part, alive))

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        if batch.n_events < FEWEST:
            return self.sparse.top(batch, k, rank, alive, static_score)
        return self._answer(
            f"top by {rank}", batch, lambda engine, part: engine.top(part, k, rank, alive, static_score)
        )

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
            "why": f"with {self.program.n_rules:,} rules, {self.batch_from} events or more usually cost less in "
            f"blocks of {N_EVENTS} than one by one; calls that were timed decide otherwise where they took less",
            "bytes": sparse["bytes"] + (batch["bytes"] if batch else 0),
            "word": None if self.word is None else {"bits": self.word.n_bits, "heights": len(self.word.stages)},
            "sparse": sparse,
            "batch": batch,
        }

"""`batch`: 512 events at a time through all rules, one bit per event. It is for throughput."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.batch.block import BlockScratch, BlockWork
from ruledex.engines.batch.kernels import BatchIndex, Block
from ruledex.engines.batch.layout import build_batch_index
from ruledex.engines.batch.rows import N_EVENTS, empty_rows
from ruledex.engines.inputs import array_of, check_k, freeze_alive, freeze_batch, rank_code
from ruledex.engines.protocol import Alive, Arrays, Matches, Rank, Statistics
from ruledex.engines.ranking import Ranker
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

_SPARE = 1.125  # times what the events so far suggest
Result = TypeVar("Result")
MAX_ROWS = 1 << 22  # rows of a tile, of 64 bytes each
MAX_HEAP = 1 << 10  # the largest k that is kept in heaps while rules are found


class RuleBuffer:
    """One array for the rules of all blocks, as long as the blocks so far suggest.

    Memory that is new to a process costs more than writing to it. One array per block, all copied into one at the end,
    would need it twice. What is reserved and never written to is not taken from the system.
    """

    def __init__(self, n_events: int) -> None:
        self._n_events = n_events
        self._n_seen = 0
        self._rules: NDArray[np.int32] = np.empty(0, np.int32)
        self._n_rules = 0

    def room(self, counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return room for the rules of the next events, which have so many each; fill it before asking for more."""
        end = self._n_rules + int(counts.sum())
        self._n_seen += len(counts)
        if end > len(self._rules):
            self._grow(end)
        place = self._rules[self._n_rules : end]
        self._n_rules = end
        return place

    def rules(self) -> NDArray[np.int32]:
        """Return all rules; the buffer must not be used after."""
        if len(self._rules) > self._n_rules:
            # No place that was given out is written to any longer, and to make an array smaller moves nothing.
            self._rules.resize(self._n_rules, refcheck=False)
        return self._rules

    def _grow(self, least: int) -> None:
        expected = least
        if self._n_seen < self._n_events:
            expected = int(least * (self._n_events / self._n_seen) * _SPARE)
        try:
            larger = np.empty(expected, np.int32)
        except MemoryError:  # The first events may have far more rules than the rest.
            larger = np.empty(min(expected, 2 * least), np.int32)
        larger[: self._n_rules] = self._rules[: self._n_rules]
        self._rules = larger


@dataclass(frozen=True)
class BatchOptions:
    """The options of `batch`. No tile of rules stores more than `max_rows` rows."""

    threads: int = 1
    max_rows: int = MAX_ROWS


class BatchEngine:
    """The engine `batch`. It is read-only, and each block takes scratch from a pool: calls may run side by side.

    Its threads share the blocks of events where a batch has enough of them, else the rules.
    """

    name = "batch"
    options_type = BatchOptions

    def __init__(self, program: Program, index: BatchIndex, threads: int = 1) -> None:
        self.program = program
        self.index = index
        self.threads = threads
        self._ranker = Ranker(program)
        self._pool: list[BlockScratch] = []

    @classmethod
    def build(cls, program: Program, statistics: Statistics | None = None, options: BatchOptions | None = None) -> Self:
        """Order children by `statistics`, and lay out rows in tiles of rules."""
        options = options or BatchOptions()
        return cls(program, build_batch_index(program, statistics, options.max_rows), options.threads)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the engine over stored arrays, which are not copied."""
        wide, narrow = ("tile_rows", "tile_rules"), ("row_operation", "rule_operation")
        types: dict[str, type[np.generic]] = dict.fromkeys(BatchIndex._fields, np.int32)
        types.update(dict.fromkeys(wide, np.int64))
        types.update(dict.fromkeys(narrow, np.uint8))
        return cls(program, BatchIndex(**{name: array_of(arrays, name, types[name]) for name in BatchIndex._fields}))

    def with_threads(self, threads: int) -> BatchEngine:
        """Return the same engine for this many threads."""
        return BatchEngine(self.program, self.index, threads)

    def arrays(self) -> Arrays:
        """Return the fields of the index."""
        return self.index._asdict()

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        buffer = RuleBuffer(batch.n_events)
        counts = [np.zeros(1, np.int64)]
        if self._is_by_events(batch):
            for found, rules in self._for_blocks(batch, alive, lambda work: work.match(_room_alone)):
                buffer.room(found)[:] = rules
                counts.append(found)
        else:
            counts += [found for found, _ in self._for_blocks(batch, alive, lambda work: work.match(buffer.room))]
        return Matches(np.cumsum(np.concatenate(counts)), buffer.rules())

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        return np.concatenate([np.zeros(0, np.int64), *self._for_blocks(batch, alive, BlockWork.count)])

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        kind, k = rank_code(rank), min(check_k(k), self.program.n_rules)
        if k > MAX_HEAP:
            return self._ranker.top(batch, self.match(batch, alive), k, rank, static_score)
        ranking = self._ranker.ranking(static_score)
        results = list(self._for_blocks(batch, alive, lambda work: work.top(self._ranker, ranking, kind, k)))
        counts = np.concatenate([np.zeros(1, np.int64), *(held for held, _, _ in results)])
        rules = np.concatenate([np.zeros(0, np.int32), *(rules for _, rules, _ in results)])
        return Matches(np.cumsum(counts), rules, np.concatenate([np.zeros(0), *(ranks for _, _, ranks in results)]))

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
        index = self.index
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "n_rows": len(index.row_operation),
            "n_links": len(index.row_children) + len(index.rule_children),
            "n_tiles": len(index.tile_rules) - 1,
            "events_a_block": N_EVENTS,
            "threads": self.threads,
            "bytes": sum(array.nbytes for array in index),
        }

    def _for_blocks(
        self, batch: EventBatch, alive: Alive | None, answer: Callable[[BlockWork], Result]
    ) -> Iterator[Result]:
        """The answers of all blocks in order, each as soon as it is there."""
        batch = freeze_batch(batch)
        alive_bytes = freeze_alive(alive, self.program.n_rules)
        firsts = range(0, batch.n_events, N_EVENTS)
        is_by_events = self._is_by_events(batch)
        n_over_rules = 1 if is_by_events else self.threads
        n_pairs = int(
            np.max(
                batch.offsets[[min(i + N_EVENTS, batch.n_events) for i in firsts]] - batch.offsets[firsts], initial=0
            )
        )

        def run(first: int) -> Result:
            scratch = self._scratch(n_pairs, batch.single)
            result = answer(BlockWork(self.index, scratch, batch, first, alive_bytes, n_over_rules))
            self._pool.append(scratch)
            return result

        if is_by_events:
            with ThreadPoolExecutor(self.threads) as pool:
                yield from pool.map(run, firsts)
        else:
            yield from map(run, firsts)

    def _is_by_events(self, batch: EventBatch) -> bool:
        """Return whether threads share the blocks, rather than the rules of each block."""
        return 1 < self.threads <= -(-batch.n_events // N_EVENTS)

    def _scratch(self, n_pairs: int, single: bool) -> BlockScratch:
        """Scratch that no other block uses, taken from those that are left from earlier ones."""
        try:
            block, chunks = self._pool.pop()
        except IndexError:
            n_rows = int(np.max(np.diff(self.index.tile_rows)))
            chunks = []
            block = Block(
                start=np.zeros(self.program.n_cells + 2, np.int32),
                event=np.zeros(0, np.uint16),
                prefix=empty_rows(0),
                repeated=np.zeros(0, np.int32),
                spans=np.zeros(len(self.index.intervals), np.int32),
                rows=empty_rows(n_rows),
                marks=np.zeros(n_rows // 64 + 1, np.uint64),
            )
        if len(block.event) < n_pairs:
            block = block._replace(event=np.zeros(n_pairs, np.uint16), prefix=empty_rows(n_pairs + 1))
        return BlockScratch(block._replace(repeated=np.zeros(0 if single else n_pairs + 1, np.int32)), chunks)


def _room_alone(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return room of its own for a block, before it is known how much comes before it."""
    return np.empty(counts.sum(), np.int32)

"""`batch`: 512 events at a time through all rules, a bit an event. For throughput."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.encode.program import Program
from ruledex.engines.batch_block import BlockWork, Scratch
from ruledex.engines.batch_layout import build_layout
from ruledex.engines.inputs import array_of, frozen_alive, frozen_batch, rank_code
from ruledex.engines.protocol import Alive, Arrays, Matches, Rank, Statistics
from ruledex.engines.ranking import Ranker, checked_k
from ruledex.kernels.batch import BatchIndex, Block
from ruledex.kernels.words import N_EVENTS, N_WORDS

Result = TypeVar("Result")

MAX_ROWS = 1 << 22  # rows of a tile, of 64 bytes each
MAX_HEAP = 1 << 10  # the largest k that is kept in heaps while rules are found


class BatchEngine:
    """The index is read-only; each block takes scratch from a pool, so that calls may run side by side.

    `threads` work on blocks of events where a batch has enough of them, else on parts of the rules.
    """

    name = "batch"

    def __init__(self, program: Program, index: BatchIndex, threads: int = 1) -> None:
        self.program = program
        self.index = index
        self.threads = threads
        self._ranker = Ranker(program)
        self._pool: list[Scratch] = []

    @classmethod
    def build(
        cls, program: Program, statistics: Statistics | None = None, threads: int = 1, max_rows: int = MAX_ROWS
    ) -> Self:
        """Order children by `statistics`, and lay out rows, in tiles of rules that store `max_rows` at the most."""
        return cls(program, build_layout(program, statistics, max_rows), threads)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """The engine over stored arrays, which are used as they lie."""
        wide, narrow = ("tile_rows", "tile_rules"), ("row_operation", "rule_operation")
        types: dict[str, type[np.generic]] = dict.fromkeys(BatchIndex._fields, np.int32)
        types.update(dict.fromkeys(wide, np.int64))
        types.update(dict.fromkeys(narrow, np.uint8))
        return cls(program, BatchIndex(**{name: array_of(arrays, name, types[name]) for name in BatchIndex._fields}))

    def arrays(self) -> Arrays:
        """The fields of the index."""
        return self.index._asdict()

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """All rules that are true, ascending within an event."""
        results = self._for_blocks(batch, alive, BlockWork.match)
        counts = np.concatenate([np.zeros(1, np.int64), *(counts for counts, _ in results)])
        rules = [rules for _, rules in results]
        return Matches(
            np.cumsum(counts), rules[0] if len(rules) == 1 else np.concatenate([np.zeros(0, np.int32), *rules])
        )

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """For each event, how many rules are true."""
        return np.concatenate([np.zeros(0, np.int64), *self._for_blocks(batch, alive, BlockWork.count)])

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """The best k rules of each event with their ranks as scores, the best first, ties by position."""
        kind, k = rank_code(rank), min(checked_k(k), self.program.n_rules)
        if k > MAX_HEAP:
            return self._ranker.top(batch, self.match(batch, alive), k, rank, static_score)
        ranking = self._ranker.ranking(static_score)
        results = self._for_blocks(batch, alive, lambda work: work.top(self._ranker, ranking, kind, k))
        counts = np.concatenate([np.zeros(1, np.int64), *(held for held, _, _ in results)])
        rules = np.concatenate([np.zeros(0, np.int32), *(rules for _, rules, _ in results)])
        return Matches(np.cumsum(counts), rules, np.concatenate([np.zeros(0), *(ranks for _, _, ranks in results)]))

    def describe(self) -> dict[str, Any]:
        """What the engine is made of."""
        index = self.index
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "n_rows": len(index.row_operation),
            "n_tiles": len(index.tile_rules) - 1,
            "events_a_block": N_EVENTS,
            "threads": self.threads,
            "bytes": sum(array.nbytes for array in index),
        }

    def _for_blocks(
        self, batch: EventBatch, alive: Alive | None, answer: Callable[[BlockWork], Result]
    ) -> list[Result]:
        batch = frozen_batch(batch)
        alive_bytes = frozen_alive(alive, self.program.n_rules)
        firsts = range(0, batch.n_events, N_EVENTS)
        n_over_rules = self.threads if len(firsts) < self.threads else 1
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

        if self.threads == 1 or n_over_rules > 1:
            return [run(first) for first in firsts]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(run, firsts))

    def _scratch(self, n_pairs: int, single: bool) -> Scratch:
        """Scratch that no other block uses, taken from those that are left from earlier ones."""
        try:
            block, chunks = self._pool.pop()
        except IndexError:
            n_rows = int(np.max(np.diff(self.index.tile_rows)))
            chunks = []
            block = Block(
                start=np.zeros(self.program.n_cells + 2, np.int32),
                event=np.zeros(0, np.uint16),
                prefix=np.zeros(0, np.uint64),
                repeated=np.zeros(0, np.int32),
                rows=np.zeros(n_rows * N_WORDS, np.uint64),
                has_bits=np.zeros(n_rows, np.uint8),
            )
        if len(block.event) < n_pairs:
            prefix = np.zeros((n_pairs + 1) * N_WORDS, np.uint64)
            block = block._replace(event=np.zeros(n_pairs, np.uint16), prefix=prefix)
        return Scratch(block._replace(repeated=np.zeros(0 if single else n_pairs + 1, np.int32)), chunks)

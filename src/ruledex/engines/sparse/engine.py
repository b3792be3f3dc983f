"""`sparse`: one event at a time, upwards from what it makes true. For low latency, and for events that match little."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.inputs import ALL_ALIVE, freeze_alive, freeze_batch, stored_fields
from ruledex.engines.protocol import Alive, Arrays, Matches, NoOptions, Statistics
from ruledex.engines.ranking import Ranker, RanksFound
from ruledex.engines.sparse.kernels import SparseArrays, SparseIndex, sparse_count, sparse_match
from ruledex.engines.sparse.layout import build_sparse_index
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

RANGES_PER_CELL = 36  # two runs for a domain, and one for each of 32 levels of an interval tree
SparseBuffers = tuple[SparseArrays, NDArray[np.int32]]  # of the kernel, and its output

CHUNK = 1 << 18  # rules written by one call into the kernel, at the least


class SparseEngine(RanksFound):
    """The engine `sparse`. It is read-only, and each call takes scratch from a pool: calls may run side by side."""

    name = "sparse"
    options_type = NoOptions

    def __init__(self, program: Program, index: SparseIndex) -> None:
        self.program = program
        self.index = index
        self._n_rules = program.n_rules
        # Numba tells the type of a plain tuple faster than that of a named one; a match may take but microseconds.
        self._index: SparseArrays = tuple(index)
        self._ranker = Ranker(program)
        self._pool: list[SparseBuffers] = []

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,
        options: NoOptions | None = None,  # noqa: ARG003 - there are none
    ) -> Self:
        """Choose access children by `statistics`, and lay out places and edges."""
        return cls(program, build_sparse_index(program, statistics))

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the engine over stored arrays, which are not copied."""
        return cls(program, stored_fields(SparseIndex, arrays))

    def arrays(self) -> Arrays:
        """Return the fields of the index."""
        return self.index._asdict()

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        batch = freeze_batch(batch)
        alive_bytes = ALL_ALIVE if alive is None else freeze_alive(alive, self._n_rules)
        scratch, out = self._scratch(batch)
        n_events = len(batch.offsets) - 1
        offsets = np.zeros(n_events + 1, np.int64)
        chunks = []
        event = 0
        while event < n_events:
            event, n_written = sparse_match(
                self._index, scratch, alive_bytes, batch.offsets, batch.cells, event, offsets, out
            )
            chunks.append(out[:n_written].copy())
        self._pool.append((scratch, out))
        return Matches(offsets, chunks[0] if len(chunks) == 1 else np.concatenate([np.zeros(0, np.int32), *chunks]))

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        batch = freeze_batch(batch)
        alive_bytes = freeze_alive(alive, self._n_rules)
        scratch, out = self._scratch(batch)
        counts = np.zeros(batch.n_events, np.int64)
        sparse_count(self._index, scratch, alive_bytes, batch.offsets, batch.cells, counts)
        self._pool.append((scratch, out))
        return counts

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
        index = self.index
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "n_atoms": len(index.atom_low),
            "n_or_edges": len(index.or_edges),
            "n_and_edges": len(index.and_edges) // 3,
            "n_verified_late": len(index.verify_offsets) - 1,
            "n_levels": len(index.level_slots),
            "bytes": sum(array.nbytes for array in index),
        }

    def _scratch(self, batch: EventBatch) -> SparseBuffers:
        """Scratch that no other call uses: from the pool, which a call that fails does not give it back to."""
        largest = len(batch.cells) if len(batch.offsets) == 2 else int(np.max(np.diff(batch.offsets), initial=1))
        try:
            scratch, out = self._pool.pop()
        except IndexError:
            n_places = int(self.index.places[3]) + self._n_rules
            n_words = n_places // 64 + 1
            bits, touched = np.zeros(n_words, np.uint64), np.zeros(n_words // 64 + 1, np.uint64)
            scratch = bits, touched, np.zeros(0, np.int32), np.empty(n_places, np.int32)
            out = np.empty(max(self._n_rules, CHUNK), np.int32)
        bits, touched, ranges, singles = scratch
        if len(ranges) < 2 * RANGES_PER_CELL * largest:
            scratch = bits, touched, np.empty(2 * RANGES_PER_CELL * largest, np.int32), singles
        return scratch, out

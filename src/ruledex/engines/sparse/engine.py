"""`sparse`: one event at a time, upwards from what it makes true. For low latency, and for events that match little."""

from __future__ import annotations

from array import array
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.handles import Handle
from ruledex.engines.inputs import ALL_ALIVE, freeze_alive, freeze_batch, stored_fields
from ruledex.engines.protocol import Alive, Arrays, Matches, NoOptions, OneEventMatcher, Statistics
from ruledex.engines.ranking import Ranker, RanksFound
from ruledex.engines.sparse.kernels import N_PASSED, SparseIndex, sparse_count, sparse_match, sparse_match_one
from ruledex.engines.sparse.layout import build_sparse_index
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

RANGES_PER_CELL = 36  # two runs for a domain, and one for each of 32 levels of an interval tree
CHUNK = 1 << 18  # rules written by one call into the kernel, at the least


class SparseBuffers:
    """What one call needs: the scratch of the kernels, room for the cells of one event, and their output."""

    __slots__ = ("_cells", "_fixed", "cells", "handle", "n_cells", "out")

    def __init__(self, n_places: int, n_rules: int) -> None:
        n_words = n_places // 64 + 1
        bits, touched = np.zeros(n_words, np.uint64), np.zeros(n_words // 64 + 1, np.uint64)
        self._fixed = bits, touched, np.empty(n_places, np.int32), np.empty(N_PASSED, np.int32)
        self.out = np.empty(n_rules, np.int32)  # of one event; a call for many brings its own
        self.grow(64)

    def grow(self, n_cells: int) -> None:
        """Make room for the cells of a larger event."""
        bits, touched, singles, passed = self._fixed
        ranges = np.empty(2 * RANGES_PER_CELL * n_cells, np.int32)
        self._cells = np.empty(n_cells, np.int32)
        self.cells = memoryview(self._cells)  # type: ignore[arg-type]  # an array is one
        self.handle = Handle((bits, touched, ranges, singles, passed, self._cells, self.out))
        self.n_cells = n_cells


class SparseEngine(RanksFound, OneEventMatcher):
    """The engine `sparse`. It is read-only, and each call takes scratch from a pool: calls may run side by side."""

    name = "sparse"
    options_type = NoOptions

    def __init__(self, program: Program, index: SparseIndex) -> None:
        self.program = program
        self.index = index
        self._n_rules = program.n_rules
        self.handle = Handle([each.reshape(-1) for each in index])
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
        if "others" in arrays:  # its name while no OR was on demand; a release of then refuses an index without it
            arrays = {**arrays, "and_rest": arrays["others"]}
        return cls(program, stored_fields(SparseIndex, arrays))

    def arrays(self) -> Arrays:
        """Return the fields of the index."""
        return self.index._asdict()

    def match_one(self, cells: list[int]) -> NDArray[np.int32]:
        """Return the rules that are true of an event, ascending."""
        n_cells = len(cells)
        buffers = self.buffers(n_cells)
        buffers.cells[:n_cells] = array("i", cells)
        n_found = sparse_match_one(self.handle.address, buffers.handle.address, n_cells)
        found = buffers.out[:n_found].copy()
        self._pool.append(buffers)
        return found

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        batch = freeze_batch(batch)
        alive_bytes = ALL_ALIVE if alive is None else freeze_alive(alive, self._n_rules)
        buffers = self.buffers(_largest(batch))
        n_events = len(batch.offsets) - 1
        offsets = np.zeros(n_events + 1, np.int64)
        out = buffers.out if n_events == 1 else np.empty(max(self._n_rules, CHUNK), np.int32)
        chunks = []
        event = 0
        while event < n_events:
            event, n_written = sparse_match(
                self.handle.address,
                buffers.handle.address,
                alive_bytes,
                batch.offsets,
                batch.cells,
                event,
                offsets,
                out,
            )
            chunks.append(out[:n_written].copy())
        self._pool.append(buffers)
        return Matches(offsets, chunks[0] if len(chunks) == 1 else np.concatenate([np.zeros(0, np.int32), *chunks]))

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        batch = freeze_batch(batch)
        alive_bytes = freeze_alive(alive, self._n_rules)
        buffers = self.buffers(_largest(batch))
        counts = np.zeros(batch.n_events, np.int64)
        sparse_count(self.handle.address, buffers.handle.address, alive_bytes, batch.offsets, batch.cells, counts)
        self._pool.append(buffers)
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
            "bytes": sum(each.nbytes for each in index),
        }

    def buffers(self, n_cells: int) -> SparseBuffers:
        """Take scratch for events of so many cells, which no other call uses. A call that fails does not return it."""
        try:
            buffers = self._pool.pop()
        except IndexError:
            buffers = SparseBuffers(int(self.index.places[3]) + self._n_rules, self._n_rules)
        if buffers.n_cells < n_cells:
            buffers.grow(n_cells)
        return buffers

    def give_back(self, buffers: SparseBuffers) -> None:
        """Let other calls use the scratch."""
        self._pool.append(buffers)


def _largest(batch: EventBatch) -> int:
    """Return the number of cells of the largest event."""
    return len(batch.cells) if len(batch.offsets) == 2 else int(np.max(np.diff(batch.offsets), initial=1))

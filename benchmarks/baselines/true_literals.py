"""Which literals of a Program an event makes true, and which of its WEAK ∉ it violates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import EVERY
from ruledex.engines.kindex.hierarchy import make_sources
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

from .true_literals_kernel import Facts, LiteralLists, find_facts

CHUNK = 1 << 20  # facts found by one call into the kernel, at the least


class TrueLiterals:
    """The lists from cells to literals."""

    def __init__(self, program: Program) -> None:
        n_positive, n_negative = program.n_positive, len(program.negative_of)
        self.n_literals = n_positive + n_negative
        sources = make_sources(program, None)
        n_keys = int(sources.key_offsets[n_positive])
        owner = np.repeat(np.arange(n_positive), np.diff(sources.key_offsets[: n_positive + 1]))
        self.is_weak = np.zeros(self.n_literals, np.bool_)
        self.is_weak[n_positive:] = program.negative_presence == EVERY
        weak, strong = (np.flatnonzero(chosen) for chosen in (self.is_weak, ~self.is_weak))
        strong = strong[strong >= n_positive]
        self.lists = LiteralLists(
            *sources.hierarchy,
            *grouped(sources.keys[:n_keys], owner, sources.n_nodes),
            *grouped(program.negative_of[weak - n_positive], weak, n_positive),
            *grouped(program.negative_presence[strong - n_positive], strong, program.n_cells),
            frozen(program.negative_of, np.int32),
        )
        self._n_positive = n_positive

    def new_facts(self, batch: EventBatch) -> tuple[NDArray[np.uint8], Facts]:
        """Scratch for `find`, and its output."""
        room = np.empty(max(CHUNK, self.n_literals), np.int32)
        return np.zeros(self._n_positive, np.uint8), Facts(np.zeros(batch.n_events + 1, np.int64), room)

    def find(self, batch: EventBatch, first_event: int, holds: NDArray[np.uint8], facts: Facts) -> int:
        """Write the facts of some events of a frozen batch; return the event that comes next."""
        return find_facts(self.lists, batch.offsets, batch.cells, first_event, holds, facts)

    @property
    def n_bytes(self) -> int:
        """Of all lists."""
        return sum(array.nbytes for array in self.lists)


def grouped(
    group: NDArray[np.integer], member: NDArray[np.integer], n_groups: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The members of each group in CSR form, in the order in which they are given."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
    return frozen(offsets, np.int32), frozen(member[np.argsort(group, kind="stable")], np.int32)

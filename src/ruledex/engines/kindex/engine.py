"""What `dnf` and `cnf` share: the owners of what was found, rules past the budget, and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.inputs import array_of, check_k, freeze_alive, freeze_batch, rank_code
from ruledex.engines.kindex.matching import Disjunctions, Owners
from ruledex.engines.kindex.normal_forms import Form, NormalFormOptions
from ruledex.engines.kindex.overflow import OverflowRules
from ruledex.engines.kindex.postings import Postings
from ruledex.engines.kindex.ranking import FormRanker
from ruledex.engines.protocol import Alive, Arrays, Matches, Rank
from ruledex.engines.ranking import Ranker
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

CHUNK = 1 << 18  # rules written by one call into the kernel, at the least


class NormalFormEngine(ABC):
    """The base of `dnf` and `cnf`. It is read-only, and each call has its own scratch: calls may run side by side."""

    name = ""
    options_type = NormalFormOptions
    form: Form

    def __init__(
        self,
        program: Program,
        index: Postings,
        disjunctions: Disjunctions,
        owners: Owners,
        overflow: OverflowRules | None,
    ) -> None:
        self.program = program
        self.index = index
        self.disjunctions = disjunctions
        self.owners = owners
        self.overflow = overflow
        self._ranker = Ranker(program)
        self._form_ranker = FormRanker(self._ranker, self.form, index, disjunctions, owners)

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        batch = freeze_batch(batch)
        found = self._matches(batch, freeze_alive(alive, self.program.n_rules))
        return found if self.overflow is None else self.overflow.add_to(found, batch, alive)

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        return np.diff(self.match(batch, alive).offsets)

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        kind = rank_code(rank)
        check_k(k)
        batch = freeze_batch(batch)
        best = self._form_ranker.top(batch, k, kind, freeze_alive(alive, self.program.n_rules), static_score)
        if self.overflow is None:
            return best
        return self._ranker.top(batch, self.overflow.add_to(best, batch, alive), k, rank, static_score)

    def arrays(self) -> Arrays:
        """Return what the build computed: the index, the owners, and what is past the budget."""
        own = {**self._index_arrays(), "owner_offsets": self.owners.offsets, "owner_rules": self.owners.rules}
        return own if self.overflow is None else {**own, **self.overflow.arrays()}

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
        index = self.index
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "n_overflow": 0 if self.overflow is None else len(self.overflow.rules),
            "n_indexed": len(self.owners.offsets) - 1,
            "n_partitions": len(index.partition_size),
            "largest_k": int(index.partition_size.max(initial=0)),
            "n_lists": len(index.list_partition),
            "n_entries": len(index.entries),
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }

    def _index_arrays(self) -> Arrays:
        return self.index._asdict()

    def _matches(self, batch: EventBatch, alive: NDArray[np.uint8]) -> Matches:
        marks = np.zeros((self.program.n_rules + 63) >> 6, np.uint64)
        out = np.empty(max(64 * len(marks), CHUNK), np.int32)
        found = np.empty(len(self.owners.offsets) - 1, np.int32)
        offsets = np.zeros(batch.n_events + 1, np.int64)
        chunks = [np.zeros(0, np.int32)]
        event = 0
        scratch = self._new_scratch(batch)
        while event < batch.n_events:
            event, n_written = self._match_some(batch, alive, event, scratch, found, marks, offsets, out)
            chunks.append(out[:n_written].copy())
        return Matches(offsets, np.concatenate(chunks))

    @abstractmethod
    def _new_scratch(self, batch: EventBatch) -> Any:
        """Return what `_match_some` needs for any event of the batch."""

    @abstractmethod
    def _match_some(
        self, batch: EventBatch, alive: NDArray[np.uint8], first_event: int, scratch: Any, *buffers: Any
    ) -> tuple[int, int]:
        """Match events from `first_event` on; give the event that comes next, and how many rules were written."""


def make_owners(thing: NDArray[np.integer], rule: NDArray[np.integer], n_things: int) -> Owners:
    """Return the rules of each thing from pairs of both, none of them twice."""
    order = np.lexsort((rule, thing))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(thing, minlength=n_things))])
    return Owners(frozen(offsets, np.int32), frozen(rule[order], np.int32))


def stored_owners(arrays: Arrays) -> Owners:
    """Return the owners among stored arrays."""
    return Owners(array_of(arrays, "owner_offsets", np.int32), array_of(arrays, "owner_rules", np.int32))


def stored_overflow(program: Program, arrays: Arrays) -> OverflowRules | None:
    """Return the rules past the budget among stored arrays, if there were any."""
    return OverflowRules.from_arrays(program, arrays) if "overflow_rules" in arrays else None

"""SIFT: an inverted list a predicate, and a counter a conjunction (whang2009, Section 7, "Algorithms").

The paper's lists are by attribute and value. Here they are by predicate, and an event's predicates are found first, so
that a predicate that two values of an event satisfy counts once, and an entry stands for a whole set of values.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.protocol import Statistics
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program
from ruledex.rewrite.normal_form import DEFAULT_BUDGET

from .baseline import Answer, Baseline
from .conjunctions import conjunctions_of
from .sift_kernel import CountingIndex, sift_match
from .true_literals import grouped
from .true_literals_kernel import Facts

NARROW, WIDE = np.uint8, np.int32  # counters, where no conjunction has more predicates than half the first can count


class Sift(Baseline):
    """`deduplicate=False` gives each rule conjunctions of its own, as the paper's SIFT has them."""

    name = "sift"
    counted = ("entries", "conjunctions found")

    def __init__(self, program: Program, budget: int, deduplicate: bool) -> None:
        super().__init__(program)
        conjunctions = conjunctions_of(program, budget, deduplicate)
        n_conjunctions, n_literals = conjunctions.n_conjunctions, self.truth.n_literals
        conjunction = np.repeat(np.arange(n_conjunctions), np.diff(conjunctions.offsets))
        needed = np.bincount(conjunction[~self.truth.is_weak[conjunctions.literals]], minlength=n_conjunctions)
        nothing_needed = np.flatnonzero(needed == 0)
        literals = np.concatenate([conjunctions.literals, np.full(len(nothing_needed), n_literals)])
        conjunction = np.concatenate([conjunction, nothing_needed])
        list_offsets, entries = grouped(literals, conjunction, n_literals + 1)
        narrow = needed.max(initial=0) <= np.iinfo(NARROW).max // 2
        self.index = CountingIndex(
            frozen(list_offsets, np.int64),
            entries,
            frozen(np.maximum(needed, 1), NARROW if narrow else WIDE),
            *conjunctions.owners(np.arange(n_conjunctions)),
        )

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,  # noqa: ARG003 - counting knows no order
        *,
        budget: int = DEFAULT_BUDGET,
        deduplicate: bool = True,
    ) -> Self:
        """Index the conjunctions of all rules."""
        return cls(program, budget, deduplicate)

    def describe(self) -> dict[str, Any]:
        """What the baseline is made of."""
        made = {"n_conjunctions": len(self.index.needed), "n_entries": len(self.index.entries)}
        return {**super().describe(), **made}

    def _arrays(self) -> list[NDArray[Any]]:
        return list(self.index)

    def _new_scratch(self, batch: EventBatch) -> Any:  # noqa: ARG002 - the same for all
        needed = self.index.needed
        return np.empty(len(needed), needed.dtype), np.empty(len(needed), np.int32)

    def _match_some(
        self,
        batch: EventBatch,  # noqa: ARG002 - its facts say it all
        scratch: Any,
        facts: Facts,
        first_event: int,
        last_event: int,
        alive: NDArray[np.uint8],
        answer: Answer,
    ) -> tuple[int, int]:
        counters, found = scratch
        return sift_match(self.index, facts, alive, first_event, last_event, counters, found, answer)

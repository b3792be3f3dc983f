"""Le Subscribe's Propagation: each conjunction is clustered on its most selective predicate (whang2009, Section 7).

The most selective is the one that is true least often, by the statistics of events, or else by the rules themselves.
Within a conjunction the others are looked at in the same order.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.access import node_probabilities
from ruledex.engines.protocol import Statistics
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program
from ruledex.rewrite.normal_form import DEFAULT_BUDGET

from .baseline import Answer, Baseline
from .conjunctions import Conjunctions, conjunctions_of
from .lookup_kernels import Clusters, propagate
from .true_literals_kernel import Facts

LAST = 2.0  # the place of a predicate that cannot lead to a conjunction, behind all probabilities


class Propagation(Baseline):
    """`deduplicate=False` gives each rule conjunctions of its own, as the paper's Le Subscribe has them."""

    name = "le subscribe"
    counted = ("conjunctions checked", "conjunctions found")

    def __init__(self, program: Program, statistics: Statistics | None, budget: int, deduplicate: bool) -> None:
        super().__init__(program)
        conjunctions = conjunctions_of(program, budget, deduplicate)
        probability = node_probabilities(program, statistics)[: program.n_literals]
        # An event does not tell which WEAK ∉ it satisfies, only which it violates: none leads to a conjunction.
        self.index = _clusters(conjunctions, np.where(self.truth.is_weak, LAST, probability), self.truth.is_weak)

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,
        *,
        budget: int = DEFAULT_BUDGET,
        deduplicate: bool = True,
    ) -> Self:
        """Index the conjunctions of all rules."""
        return cls(program, statistics, budget, deduplicate)

    def describe(self) -> dict[str, Any]:
        """What the baseline is made of."""
        n_conjunctions = len(self.index.owner_offsets) - 1
        made = {"n_conjunctions": n_conjunctions, "n_clusters": len(self.index.first_place) - 1}
        return {**super().describe(), **made}

    def _arrays(self) -> list[NDArray[Any]]:
        return list(self.index)

    def _new_scratch(self, batch: EventBatch) -> Any:  # noqa: ARG002 - the same for all
        n_conjunctions = len(self.index.owner_offsets) - 1
        return self.truth.is_weak.astype(np.uint8), np.empty(n_conjunctions, np.int32)

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
        holds, found = scratch
        return propagate(self.index, facts, alive, first_event, last_event, holds, found, answer)


def _clusters(conjunctions: Conjunctions, rank: NDArray[np.float64], is_weak: NDArray[np.bool_]) -> Clusters:
    n_conjunctions, n_literals = conjunctions.n_conjunctions, len(rank)
    lengths = np.diff(conjunctions.offsets)
    owner = np.repeat(np.arange(n_conjunctions), lengths)
    literals = conjunctions.literals[np.lexsort((conjunctions.literals, rank[conjunctions.literals], owner))]
    leading = np.append(literals, 0)[conjunctions.offsets[:-1]]
    access = np.where((lengths > 0) & ~np.append(is_weak, False)[leading], leading, n_literals)
    is_led = access < n_literals
    width = lengths - is_led
    # Rows of one cluster that begin with the same predicate are neighbours: the processor foresees their end.
    begin = conjunctions.offsets[:-1] + is_led
    second = np.where(width > 0, np.append(literals, 0)[np.minimum(begin, len(literals))], -1)
    order = np.lexsort((second, width, access))
    number = np.empty(n_conjunctions, np.int64)
    number[order] = np.arange(n_conjunctions)
    access, width, begin = access[order], width[order], begin[order]
    row_offsets = np.concatenate([[0], np.cumsum(width)])
    place = np.arange(row_offsets[-1]) + np.repeat(begin - row_offsets[:-1], width)
    starts = np.flatnonzero((np.diff(access, prepend=-1) != 0) | (np.diff(width, prepend=-1) != 0))
    n_clusters = np.bincount(access[starts], minlength=n_literals + 1)
    return Clusters(
        frozen(np.concatenate([[0], np.cumsum(n_clusters)]), np.int32),
        frozen(np.append(starts, n_conjunctions), np.int32),
        frozen(row_offsets[np.append(starts, n_conjunctions)], np.int64),
        frozen(literals[place], np.int32),
        *conjunctions.owners(number),
    )

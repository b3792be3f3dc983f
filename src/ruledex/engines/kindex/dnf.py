"""`dnf`: rules as ORs of conjunctions, each distinct conjunction once in posting lists (whang2009, Section 3)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.kindex.conjunctions import NO_DISJUNCTIONS, ConjunctionIndex
from ruledex.engines.kindex.engine import NormalFormEngine, make_owners, stored_overflow, stored_owners
from ruledex.engines.kindex.matching import dnf_match
from ruledex.engines.kindex.normal_forms import (
    NormalFormOptions,
    clauses_of,
    distinct_clauses,
    expressions_of,
)
from ruledex.engines.kindex.overflow import OverflowRules
from ruledex.engines.kindex.postings import PostingCursors
from ruledex.engines.protocol import Arrays, Statistics
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program


class DnfEngine(NormalFormEngine):
    """The engine `dnf`. It indexes the distinct conjunctions; the owners of one are the rules that have it."""

    name = "dnf"
    form = "DNF"

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,
        options: NormalFormOptions | None = None,
    ) -> Self:
        """Convert each rule to its normal form, and index the conjunctions."""
        options = options or NormalFormOptions()
        expressions = expressions_of(program, "DNF", options.budget, options.overflow)
        clauses, distinct = distinct_clauses(clauses_of(program, "DNF", expressions))
        conjunctions = ConjunctionIndex.build(program, clauses.offsets, clauses.literals, statistics)
        # Owners go by the index's own numbers, so that the ids that the conjunctions were given need not be kept.
        number = np.empty(conjunctions.n_conjunctions, np.int32)
        number[conjunctions.index.item] = np.arange(len(number), dtype=np.int32)
        root = np.repeat(np.arange(len(clauses.n_clauses)), clauses.n_clauses)
        # A root may have a conjunction twice, and then owns it once.
        pairs = np.unique(number[distinct].astype(np.int64) << 32 | root)
        conjunction, root = pairs >> 32, pairs & 0xFFFFFFFF
        n_rules = np.diff(expressions.rule_offsets)[root]
        before = np.cumsum(n_rules) - n_rules
        place = np.arange(int(n_rules.sum())) + np.repeat(expressions.rule_offsets[root] - before, n_rules)
        owners = make_owners(np.repeat(conjunction, n_rules), expressions.rules[place], len(number))
        left = expressions.overflow
        return cls(
            program,
            conjunctions.index._replace(item=conjunctions.index.item[:0]),
            NO_DISJUNCTIONS,
            owners,
            OverflowRules.build(program, left, statistics) if len(left) else None,
        )

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the engine over stored arrays, which are not copied."""
        index = ConjunctionIndex.from_arrays(program, arrays).index
        return cls(program, index, NO_DISJUNCTIONS, stored_owners(arrays), stored_overflow(program, arrays))

    def _new_scratch(self, batch: EventBatch) -> PostingCursors:
        return ConjunctionIndex(self.index).new_scratch(batch)

    def _match_some(
        self, batch: EventBatch, alive: NDArray[np.uint8], first_event: int, scratch: Any, *buffers: Any
    ) -> tuple[int, int]:
        return dnf_match(self.index, scratch, self.owners, alive, batch.offsets, batch.cells, first_event, *buffers)

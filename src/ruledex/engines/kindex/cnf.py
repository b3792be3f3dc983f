"""`cnf`: rules as conjunctions of disjunctions, each one whole in posting lists (whang2009, Section 4)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.kindex.disjunctions import DisjunctionIndex
from ruledex.engines.kindex.engine import NormalFormEngine, make_owners, stored_overflow, stored_owners
from ruledex.engines.kindex.matching import cnf_match
from ruledex.engines.kindex.normal_forms import NormalFormOptions, clauses_of, expressions_of, join_clauses
from ruledex.engines.kindex.overflow import OverflowRules
from ruledex.engines.protocol import Arrays, Statistics
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program


class CnfEngine(NormalFormEngine):
    """The engine `cnf`. It indexes the distinct expressions; the owners of one are the rules that have it."""

    name = "cnf"
    form = "CNF"

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,
        options: NormalFormOptions | None = None,
    ) -> Self:
        """Convert each rule to its normal form, and index the expressions."""
        options = options or NormalFormOptions()
        expressions = expressions_of(program, "CNF", options.budget, options.overflow)
        clauses = join_clauses(clauses_of(program, "CNF", expressions))
        offsets = np.concatenate([[0], np.cumsum(clauses.n_clauses)])
        found = DisjunctionIndex.build(program, offsets, clauses.offsets, clauses.literals, statistics)
        number = np.empty(len(expressions.roots), np.int32)
        number[found.index.item] = np.arange(len(number), dtype=np.int32)
        of_rule = np.repeat(number, np.diff(expressions.rule_offsets))
        left = expressions.overflow
        return cls(
            program,
            found.index._replace(item=found.index.item[:0]),
            found.disjunctions,
            make_owners(of_rule, expressions.rules, len(number)),
            OverflowRules.build(program, left, statistics) if len(left) else None,
        )

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the engine over stored arrays, which are not copied."""
        found = DisjunctionIndex.from_arrays(arrays)
        return cls(program, found.index, found.disjunctions, stored_owners(arrays), stored_overflow(program, arrays))

    def _index_arrays(self) -> Arrays:
        return DisjunctionIndex(self.index, self.disjunctions).arrays()

    def _new_scratch(self, batch: EventBatch) -> Any:
        return DisjunctionIndex(self.index, self.disjunctions).new_scratch(batch)

    def _match_some(
        self, batch: EventBatch, alive: NDArray[np.uint8], first_event: int, scratch: Any, *buffers: Any
    ) -> tuple[int, int]:
        cursors, counters = scratch
        return cnf_match(
            self.index,
            self.disjunctions,
            cursors,
            counters,
            self.owners,
            alive,
            batch.offsets,
            batch.cells,
            first_event,
            *buffers,
        )

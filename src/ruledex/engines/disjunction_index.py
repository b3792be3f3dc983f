"""The index of CNF expressions (whang2009, Section 4)."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.encode.program import EVERY, Program
from ruledex.engines.conjunction_index_partitions import choose_leads, make_partitions
from ruledex.engines.conjunction_index_postings import make_postings, new_cursors, stored_postings
from ruledex.engines.hierarchy import make_sources
from ruledex.engines.inputs import array_of, frozen, frozen_batch
from ruledex.engines.protocol import Arrays, Statistics
from ruledex.kernels.conjunctions_build import NO_SOURCE
from ruledex.kernels.disjunctions import Disjunctions
from ruledex.kernels.disjunctions_build import CnfExpressions, measure_expressions, write_cnf_uses
from ruledex.kernels.postings import Cursors, Postings
from ruledex.kernels.postings_leads import NO_LEAD


class DisjunctionIndex:
    """CNF expressions, partitioned by size, in posting lists by key.

    `index` and `disjunctions` are for the kernel `expression_numbers`.
    """

    def __init__(self, index: Postings, disjunctions: Disjunctions) -> None:
        self.index = index
        self.disjunctions = disjunctions

    @classmethod
    def build(
        cls,
        program: Program,
        offsets: NDArray[np.int64],
        clause_offsets: NDArray[np.int64],
        literals: NDArray[np.int32],
        statistics: Statistics | None = None,
    ) -> Self:
        """Index the expressions whose disjunctions are `offsets[e]` to `offsets[e + 1]`; ids are positions.

        Literals are node ids of the Program. An expression without disjunctions is always true.
        """
        sources = make_sources(program, statistics)
        n_expressions, n_clauses = len(offsets) - 1, len(clause_offsets) - 1
        expressions = CnfExpressions(
            frozen(offsets, np.int64),
            frozen(clause_offsets, np.int64),
            frozen(literals, np.int32),
            program.n_positive,
            frozen(np.where(program.negative_presence == EVERY, NO_SOURCE, sources.presence), np.int32),
        )
        sizes, n_negative = np.zeros(n_expressions, np.int64), np.zeros(n_expressions, np.int64)
        lead_offsets, candidates = np.zeros(n_expressions + 1, np.int64), np.zeros(n_clauses, np.int32)
        measure_expressions(expressions, sizes, n_negative, lead_offsets, candidates)
        lead = choose_leads(sizes, lead_offsets, candidates[: lead_offsets[-1]], sources.probability)
        n_codes = 2 * n_negative + np.diff(offsets) + 1
        order = np.lexsort((n_codes, lead, -sizes)).astype(np.int32)
        partitions = make_partitions(sizes[order], lead[order], n_codes[order])
        n_disjunctions = np.zeros(n_expressions, np.int32)
        negative_offsets = np.zeros(n_expressions + 1, np.int32)
        negative_disjunction = np.zeros(int(n_negative.sum()), np.int32)
        n_room = len(literals) + int(n_negative.sum()) + n_expressions
        use_offsets = np.zeros(n_expressions + 1, np.int64)
        use_source, use_code = np.zeros(n_room, np.int32), np.zeros(n_room, np.int32)
        n_uses = write_cnf_uses(
            expressions,
            frozen(program.negative_of, np.int32),
            order,
            lead,
            sizes - (lead != NO_LEAD),
            sources.every,
            n_disjunctions,
            negative_offsets,
            negative_disjunction,
            use_offsets,
            use_source,
            use_code,
        )
        postings = make_postings(sources, partitions, use_offsets, use_source[:n_uses], use_code[:n_uses], order)
        disjunctions = Disjunctions(
            frozen(n_disjunctions, np.int32),
            frozen(negative_offsets, np.int32),
            frozen(negative_disjunction, np.int32),
        )
        return cls(postings, disjunctions)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The index whose build gave `arrays`, which are used as they lie."""
        disjunctions = Disjunctions(**{name: array_of(arrays, name, np.int32) for name in Disjunctions._fields})
        return cls(stored_postings(arrays), disjunctions)

    def arrays(self) -> Arrays:
        """The fields of both parts."""
        return self.index._asdict() | self.disjunctions._asdict()

    def new_scratch(self, batch: EventBatch) -> tuple[Cursors, NDArray[np.int64]]:
        """Cursors and counters for one thread, for any event of the batch."""
        counters = np.zeros(int(self.disjunctions.n_disjunctions.max(initial=0)), np.int64)
        return new_cursors(self.index, frozen_batch(batch)), counters

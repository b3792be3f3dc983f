"""The index of CNF expressions (whang2009, Section 4): their predicates as uses of posting lists.

The codes of uses are those of matching.py.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import EVERY
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import freeze_batch
from ruledex.engines.kindex.conjunctions import NO_SOURCE
from ruledex.engines.kindex.hierarchy import make_sources
from ruledex.engines.kindex.matching import Disjunctions
from ruledex.engines.kindex.posting_lists import (
    NO_LEAD,
    choose_leads,
    make_partitions,
    make_postings,
    new_cursors,
)
from ruledex.engines.kindex.postings import PostingCursors, Postings
from ruledex.engines.protocol import Statistics
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program


class CnfExpressions(NamedTuple):
    """Expression e has the disjunctions `offsets[e]` to `offsets[e + 1]`, whose literals are ids of a Program."""

    offsets: NDArray[np.int64]  # [n_expressions + 1]
    clause_offsets: NDArray[np.int64]  # [n_clauses + 1]
    literals: NDArray[np.int32]
    n_positive: int
    presence_source: NDArray[np.int32]  # by negative literal; NO_SOURCE where it is WEAK


@jit
def measure_expressions(
    expressions: CnfExpressions,
    sizes: NDArray[np.int64],
    n_negative: NDArray[np.int64],
    lead_offsets: NDArray[np.int64],
    leads: NDArray[np.int32],
) -> None:
    """Write each expression's K and number of ∉ predicates, and the literals that are a disjunction by themselves.

    `leads` has room for as many as there are disjunctions.
    """
    offsets, clause_offsets, literals = expressions.offsets, expressions.clause_offsets, expressions.literals
    n_positive, presence_source = expressions.n_positive, expressions.presence_source
    n_leads = 0
    for expression in range(offsets.size - 1):
        for clause in range(offsets[expression], offsets[expression + 1]):
            n_weak = 0
            for place in range(clause_offsets[clause], clause_offsets[clause + 1]):
                if literals[place] >= n_positive:
                    n_negative[expression] += 1
                    n_weak += 1 if presence_source[literals[place] - n_positive] == NO_SOURCE else 0
            sizes[expression] += 1 if n_weak == 0 else 0
            begin = clause_offsets[clause]
            if clause_offsets[clause + 1] - begin == 1 and literals[begin] < n_positive:
                leads[n_leads] = literals[begin]
                n_leads += 1
        lead_offsets[expression + 1] = n_leads


@jit
def write_cnf_uses(
    expressions: CnfExpressions,
    negative_of: NDArray[np.int32],
    order: NDArray[np.int32],
    lead: NDArray[np.int32],
    size: NDArray[np.int64],
    every: int,
    n_disjunctions: NDArray[np.int32],
    negative_offsets: NDArray[np.int32],
    negative_disjunction: NDArray[np.int32],
    use_offsets: NDArray[np.int64],
    use_source: NDArray[np.int32],
    use_code: NDArray[np.int32],
) -> int:
    """Write the uses of the expressions in `order`, and what their counters begin with; return how many uses.

    The disjunction that is an expression's `lead` is left out. `size` is K without it; where it is 0 the expression
    has one use of the source `every`: the list Z.
    """
    offsets, clause_offsets, literals = expressions.offsets, expressions.clause_offsets, expressions.literals
    n_positive, presence_source = expressions.n_positive, expressions.presence_source
    n_uses, n_negative = 0, 0
    for number in range(order.size):
        expression = order[number]
        first_negative = n_negative
        # ∉ predicates first, then ∈, so that codes ascend.
        for is_second in range(2):
            n_clauses, is_led = 0, False
            for clause in range(offsets[expression], offsets[expression + 1]):
                begin, end = clause_offsets[clause], clause_offsets[clause + 1]
                if end - begin == 1 and literals[begin] == lead[expression] and not is_led:
                    is_led = True
                    continue
                for place in range(begin, end):
                    literal = literals[place]
                    if literal >= n_positive and is_second == 0:
                        present = presence_source[literal - n_positive]
                        code = 2 * (n_negative - first_negative)
                        if present != NO_SOURCE:
                            use_source[n_uses], use_code[n_uses] = present, code
                            n_uses += 1
                        use_source[n_uses], use_code[n_uses] = negative_of[literal - n_positive], code + 1
                        n_uses += 1
                        negative_disjunction[n_negative] = n_clauses << 1 | (1 if present == NO_SOURCE else 0)
                        n_negative += 1
                    elif literal < n_positive and is_second == 1:
                        use_source[n_uses] = literal
                        use_code[n_uses] = 2 * (n_negative - first_negative) + n_clauses
                        n_uses += 1
                n_clauses += 1
            n_disjunctions[number] = n_clauses
        if size[expression] == 0:
            use_source[n_uses] = every
            use_code[n_uses] = 2 * (n_negative - first_negative) + n_disjunctions[number]
            n_uses += 1
        use_offsets[number + 1], negative_offsets[number + 1] = n_uses, n_negative
    return n_uses


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

    def new_scratch(self, batch: EventBatch) -> tuple[PostingCursors, NDArray[np.int64]]:
        """Return cursors and counters for one thread, for any event of the batch."""
        counters = np.zeros(int(self.disjunctions.n_disjunctions.max(initial=0)), np.int64)
        return new_cursors(self.index, freeze_batch(batch)), counters

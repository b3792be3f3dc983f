"""The index of distinct conjunctions that `dnf`, `dewey` and `interval` share (whang2009, Section 3).

A positive literal is an ∈ predicate over its source, the set of its cells. A negative one is a ∉ predicate and, unless
it holds without its attribute (the paper's WEAK form), also an ∈ predicate over the presence of the attribute, which is
counted once for all that name the same source. Predicates become uses of posting lists ("Inverted List Construction").
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import EVERY
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import freeze_batch, stored_fields
from ruledex.engines.kindex.hierarchy import Sources, make_sources
from ruledex.engines.kindex.matching import Disjunctions
from ruledex.engines.kindex.posting_lists import (
    NO_LEAD,
    choose_leads,
    make_partitions,
    make_postings,
    new_cursors,
)
from ruledex.engines.kindex.postings import PostingCursors, Postings
from ruledex.engines.protocol import Arrays, Statistics
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

NO_SOURCE = -1
N_LEADING = 3  # predicates of a conjunction that say where it stands among its like
N_CLUSTERED = 256  # conjunctions from which on their order is worth while
RANK_BITS = 21  # of a place by frequency; three of them fit into 64 bits
NOTHING = frozen(np.zeros(0), np.int32)
NO_DISJUNCTIONS = Disjunctions(NOTHING, NOTHING, NOTHING)  # for kernels that take conjunctions and CNF expressions


@jit
def write_predicates(
    literal_offsets: NDArray[np.int64],
    literals: NDArray[np.int32],
    n_positive: int,
    negative_of: NDArray[np.int32],
    presence_source: NDArray[np.int32],
    in_offsets: NDArray[np.int64],
    in_sources: NDArray[np.int32],
    out_offsets: NDArray[np.int64],
    out_sources: NDArray[np.int32],
) -> None:
    """Write each conjunction's ∈ sources, ascending and each once, and its ∉ sources.

    The source of a positive literal has the literal's id. `presence_source` is by negative literal, and `NO_SOURCE`
    where that is weak. `in_sources` has room for each literal, `out_sources` for each negative one.
    """
    n_in, n_out = 0, 0
    for conjunction in range(literal_offsets.size - 1):
        first = n_in
        for place in range(literal_offsets[conjunction], literal_offsets[conjunction + 1]):
            literal = literals[place]
            if literal < n_positive:
                source = literal
            else:
                out_sources[n_out] = negative_of[literal - n_positive]
                n_out += 1
                source = presence_source[literal - n_positive]
                if source == NO_SOURCE:
                    continue
            target = n_in
            while target > first and in_sources[target - 1] > source:
                target -= 1
            if target > first and in_sources[target - 1] == source:
                continue
            for moved in range(n_in, target, -1):
                in_sources[moved] = in_sources[moved - 1]
            in_sources[target] = source
            n_in += 1
        in_offsets[conjunction + 1], out_offsets[conjunction + 1] = n_in, n_out


@jit
def write_leading_ranks(
    offsets: NDArray[np.int64], sources: NDArray[np.int32], rank: NDArray[np.int32], out: NDArray[np.int32]
) -> None:
    """Write the smallest ranks of each conjunction's sources, ascending, as many as a row of `out` has room for."""
    width = out.shape[1]
    for conjunction in range(offsets.size - 1):
        n_held = 0
        for place in range(offsets[conjunction], offsets[conjunction + 1]):
            mine = rank[sources[place]]
            target = min(n_held, width - 1)
            if n_held == width and out[conjunction, target] <= mine:
                continue
            while target > 0 and out[conjunction, target - 1] > mine:
                out[conjunction, target] = out[conjunction, target - 1]
                target -= 1
            out[conjunction, target] = mine
            n_held = min(n_held + 1, width)


@jit
def write_uses(
    order: NDArray[np.int32],
    in_offsets: NDArray[np.int64],
    in_sources: NDArray[np.int32],
    out_offsets: NDArray[np.int64],
    out_sources: NDArray[np.int32],
    lead: NDArray[np.int32],
    every: int,
    offsets: NDArray[np.int64],
    source: NDArray[np.int32],
    code: NDArray[np.int32],
) -> int:
    """Write the uses of the conjunctions in `order`; return how many.

    ∉ is 0, and ∈ the ordinal from 1, where the predicate that opens the conjunction's partition, its `lead`, is left
    out. A conjunction without any other ∈ predicate has one use of the source `every`: the list Z.
    """
    n_uses = 0
    for number in range(order.size):
        conjunction = order[number]
        for place in range(out_offsets[conjunction], out_offsets[conjunction + 1]):
            source[n_uses], code[n_uses] = out_sources[place], 0
            n_uses += 1
        ordinal = 0
        for place in range(in_offsets[conjunction], in_offsets[conjunction + 1]):
            if in_sources[place] != lead[conjunction]:
                ordinal += 1
                source[n_uses], code[n_uses] = in_sources[place], ordinal
                n_uses += 1
        if ordinal == 0:
            source[n_uses], code[n_uses] = every, 1
            n_uses += 1
        offsets[number + 1] = n_uses
    return n_uses


class ConjunctionSources(NamedTuple):
    """The ∈ and the ∉ sources of each conjunction."""

    in_offsets: NDArray[np.int64]
    in_sources: NDArray[np.int32]
    out_offsets: NDArray[np.int64]
    out_sources: NDArray[np.int32]


class ConjunctionIndex:
    """Conjunctions of literals, partitioned by size, in posting lists by key.

    `index` is for the kernel `matching_conjunctions`, together with scratch of its own for each thread.
    """

    def __init__(self, index: Postings) -> None:
        self.index = index

    @classmethod
    def build(
        cls,
        program: Program,
        literal_offsets: NDArray[np.int64],
        literals: NDArray[np.int32],
        statistics: Statistics | None = None,
    ) -> Self:
        """Index the conjunctions whose literals are `literals[literal_offsets[c]:literal_offsets[c + 1]]`.

        Literals are node ids of the Program, ascending and each once within a conjunction. An empty conjunction is
        always true. A conjunction's id is its position.
        """
        sources = make_sources(program, statistics)
        predicates = _predicates(program, sources, literal_offsets, literals)
        sizes = np.diff(predicates.in_offsets)
        lead = choose_leads(sizes, predicates.in_offsets, predicates.in_sources, sources.probability)
        order = _order(sizes, lead, predicates, sources.n_sources)
        n_ordinals = np.maximum(sizes - (lead != NO_LEAD), 1)
        partitions = make_partitions(sizes[order], lead[order], n_ordinals[order] + 1)
        n_uses = int(n_ordinals.sum()) + len(predicates.out_sources)
        use_offsets = np.zeros(len(order) + 1, np.int64)
        use_source, use_code = np.zeros(n_uses, np.int32), np.zeros(n_uses, np.int32)
        write_uses(order, *predicates, lead, sources.every, use_offsets, use_source, use_code)
        return cls(make_postings(sources, partitions, use_offsets, use_source, use_code, order))

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:  # noqa: ARG003 - the arrays say it all
        """Return the index whose build gave `arrays`, which are used as they lie."""
        return cls(stored_fields(Postings, arrays))

    def arrays(self) -> Arrays:
        """Return the fields of the index."""
        return self.index._asdict()

    @property
    def n_conjunctions(self) -> int:
        """How many conjunctions were given."""
        return len(self.index.item)

    def new_scratch(self, batch: EventBatch) -> PostingCursors:
        """Return scratch for one thread, for any event of the batch."""
        return new_cursors(self.index, freeze_batch(batch))


def _predicates(
    program: Program, sources: Sources, literal_offsets: NDArray[np.int64], literals: NDArray[np.int32]
) -> ConjunctionSources:
    n_conjunctions = len(literal_offsets) - 1
    in_offsets, out_offsets = np.zeros(n_conjunctions + 1, np.int64), np.zeros(n_conjunctions + 1, np.int64)
    in_sources = np.zeros(len(literals), np.int32)
    out_sources = np.zeros(int(np.sum(literals >= program.n_positive)), np.int32)
    write_predicates(
        frozen(literal_offsets, np.int64),
        frozen(literals, np.int32),
        program.n_positive,
        frozen(program.negative_of, np.int32),
        frozen(np.where(program.negative_presence == EVERY, NO_SOURCE, sources.presence), np.int32),
        in_offsets,
        in_sources,
        out_offsets,
        out_sources,
    )
    return ConjunctionSources(in_offsets, in_sources[: in_offsets[-1]], out_offsets, out_sources)


def _order(
    sizes: NDArray[np.int64], lead: NDArray[np.int32], predicates: ConjunctionSources, n_sources: int
) -> NDArray[np.int32]:
    """Order conjunctions by size, descending, then by lead, then so that those of the same predicates are neighbours.

    A list then holds runs of neighbours, and lists that must agree skip over whole runs. Few conjunctions stay in the
    order in which they were given.
    """
    if len(sizes) < N_CLUSTERED:
        return np.argsort(-sizes, kind="stable").astype(np.int32)
    by_frequency = np.argsort(-np.bincount(predicates.in_sources, minlength=n_sources), kind="stable")
    rank = np.empty(n_sources, np.int32)
    rank[by_frequency] = np.minimum(np.arange(n_sources), (1 << RANK_BITS) - 1)
    leading = np.zeros((len(sizes), N_LEADING), np.int32)
    write_leading_ranks(predicates.in_offsets, predicates.in_sources, rank, leading)
    key = np.zeros(len(sizes), np.int64)
    for column in range(N_LEADING):
        key = key << RANK_BITS | leading[:, column]
    return np.lexsort((key, lead, -sizes)).astype(np.int32)

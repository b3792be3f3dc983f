"""The index of distinct conjunctions that `dnf`, `dewey` and `interval` share (whang2009, Section 3)."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.encode.program import EVERY, Program
from ruledex.engines.conjunction_index_partitions import choose_leads, make_partitions
from ruledex.engines.conjunction_index_postings import make_postings, new_cursors, stored_postings
from ruledex.engines.hierarchy import Sources, make_sources
from ruledex.engines.inputs import frozen, frozen_batch
from ruledex.engines.protocol import Arrays, Statistics
from ruledex.kernels.conjunctions_build import NO_SOURCE, write_leading_ranks, write_predicates, write_uses
from ruledex.kernels.disjunctions import Disjunctions
from ruledex.kernels.postings import Cursors, Postings
from ruledex.kernels.postings_leads import NO_LEAD

N_LEADING = 3  # predicates of a conjunction that say where it stands among its like
N_CLUSTERED = 256  # conjunctions from which on their order is worth while
RANK_BITS = 21  # of a place by frequency; three of them fit into 64 bits
NOTHING = frozen(np.zeros(0), np.int32)
NO_DISJUNCTIONS = Disjunctions(NOTHING, NOTHING, NOTHING)  # for kernels that take conjunctions and CNF expressions


class Predicates(NamedTuple):
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
        """The index whose build gave `arrays`, which are used as they lie."""
        return cls(stored_postings(arrays))

    def arrays(self) -> Arrays:
        """The fields of the index."""
        return self.index._asdict()

    @property
    def n_conjunctions(self) -> int:
        """How many conjunctions were given."""
        return len(self.index.item)

    def new_scratch(self, batch: EventBatch) -> Cursors:
        """Scratch for one thread, for any event of the batch."""
        return new_cursors(self.index, frozen_batch(batch))


def _predicates(
    program: Program, sources: Sources, literal_offsets: NDArray[np.int64], literals: NDArray[np.int32]
) -> Predicates:
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
    return Predicates(in_offsets, in_sources[: in_offsets[-1]], out_offsets, out_sources)


def _order(
    sizes: NDArray[np.int64], lead: NDArray[np.int32], predicates: Predicates, n_sources: int
) -> NDArray[np.int32]:
    """The conjunctions by size descending and by lead, and then so that those with the same predicates are neighbours.

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

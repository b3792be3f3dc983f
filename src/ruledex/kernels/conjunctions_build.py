"""The predicates of conjunctions as the uses of posting lists (whang2009, Section 3, "Inverted List Construction").

A positive literal is an ∈ predicate over its source, the set of its cells. A negative one is a ∉ predicate, and, unless
it holds without its attribute (the paper's WEAK form), an ∈ predicate over the presence of the attribute, which is
counted once for all that name the same source.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit

NO_SOURCE = -1


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
            slot = n_in
            while slot > first and in_sources[slot - 1] > source:
                slot -= 1
            if slot > first and in_sources[slot - 1] == source:
                continue
            for moved in range(n_in, slot, -1):
                in_sources[moved] = in_sources[moved - 1]
            in_sources[slot] = source
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
            slot = min(n_held, width - 1)
            if n_held == width and out[conjunction, slot] <= mine:
                continue
            while slot > 0 and out[conjunction, slot - 1] > mine:
                out[conjunction, slot] = out[conjunction, slot - 1]
                slot -= 1
            out[conjunction, slot] = mine
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

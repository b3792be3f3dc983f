"""How much an event makes `sparse` touch, counted apart from matching from the bits that an event leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import ZERO, n_bits
from ruledex.compiled.decorator import jit
from ruledex.engines.sparse.kernels import (
    SparseArrays,
    SparseIndex,
    SparseScratch,
    clear,
    collect_set,
    is_set,
    propagate_event,
)

COUNTED = (
    "atoms and literals true",
    "OR edges followed",
    "AND edges followed",
    "children looked at",
    "verified late",
    "nodes true",
    "words cleared",
    "rules true",
)
N_LITERALS, N_OR, N_AND, N_LOOKED_AT, N_LATE, N_TRUE, N_CLEARED, N_RULES = range(8)


@jit
def _look(bits: NDArray[np.uint64], slots: NDArray[np.int32], begin: int, end: int, counts: NDArray[np.int64]) -> None:
    """Count the slots that are looked at until one is not true."""
    while begin < end:
        counts[N_LOOKED_AT] += 1
        begin = begin + 1 if is_set(bits, slots[begin]) else end


@jit
def _late_number(index: SparseIndex, slot: int) -> int:
    """Return the number of a node among those that are verified late, or -1."""
    number = -1
    for level in range(index.level_slots.shape[0]):
        first_to_verify, first_other = index.level_slots[level, 0], index.level_slots[level, 1]
        if first_to_verify <= slot and slot < first_other:
            number = index.level_slots[level, 3] + slot - first_to_verify
    return int(number)


@jit
def _count_edges(index: SparseIndex, bits: NDArray[np.uint64], slot: int, counts: NDArray[np.int64]) -> None:
    """Count what a true slot leads to."""
    offsets, and_edges, others = index.edge_offsets, index.and_edges, index.others
    for edge in range(offsets[2 * slot], offsets[2 * slot + 2]):
        counts[N_OR] += 1
        number = _late_number(index, index.or_edges[edge])
        if number >= 0:
            counts[N_LATE] += 1
            _look(bits, index.verify_slots, index.verify_offsets[number], index.verify_offsets[number + 1], counts)
    for edge in range(offsets[2 * slot + 1], offsets[2 * slot + 3]):
        counts[N_AND] += 1
        counts[N_LOOKED_AT] += 1
        if is_set(bits, and_edges[3 * edge + 1]):
            other = and_edges[3 * edge + 2]
            _look(bits, others, other + 1, other + 1 + others[other], counts)


@jit
def sparse_count_touched(
    index_arrays: SparseArrays,
    scratch_arrays: SparseArrays,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Match all events, and add up what that touches in the order of `COUNTED`; `counts` is all zero before."""
    index, scratch = SparseIndex(*index_arrays), SparseScratch(*scratch_arrays)
    end_of_literals, first_sink, n_rules = index.places[2], index.places[3], index.places[4]
    for event in range(event_offsets.size - 1):
        propagate_event(index, scratch, cells, event_offsets[event], event_offsets[event + 1])
        for place in range(collect_set(scratch.bits, scratch.touched, 0, first_sink, scratch.singles)):
            slot = scratch.singles[place]
            counts[N_LITERALS if slot < end_of_literals else N_TRUE] += 1
            _count_edges(index, scratch.bits, slot, counts)
        counts[N_RULES] += collect_set(scratch.bits, scratch.touched, first_sink, first_sink + n_rules, scratch.singles)
        for words in scratch.touched:
            if words != ZERO:
                counts[N_CLEARED] += n_bits(words)
        clear(scratch.bits, scratch.touched)

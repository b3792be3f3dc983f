"""Distinct clauses: each is found by a hash of its literals, and compared with them on a hit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.growing import FREE, HASH_FACTOR, HASH_MASK
from ruledex.kernels.jit import jit


class ClauseTable(NamedTuple):
    """Clauses by id, and a table of `slots`, a power of two of them, that leads from a hash to an id."""

    slots: NDArray[np.int32]
    hashes: NDArray[np.int64]
    offsets: NDArray[np.int64]  # one entry more than clauses
    literals: NDArray[np.int32]


@jit
def intern_clauses(
    table: ClauseTable, n_held: int, clause_ends: NDArray[np.int64], literals: NDArray[np.int32], ids: NDArray[np.int32]
) -> int:
    """Write the id of each clause, new ones behind the `n_held` that the table has; return how many it has then.

    Clause c is `literals[clause_ends[c - 1]:clause_ends[c]]`. The table has room for all of them.
    """
    slots, hashes, offsets, held = table.slots, table.hashes, table.offsets, table.literals
    mask = slots.size - 1
    begin = 0
    for clause in range(clause_ends.size):
        end = clause_ends[clause]
        mixed = np.int64(end - begin)
        for place in range(begin, end):
            mixed = ((mixed ^ np.int64(literals[place])) * HASH_FACTOR) & HASH_MASK
            mixed ^= mixed >> 15
        slot = mixed & mask
        while slots[slot] != FREE:
            other = slots[slot]
            if hashes[other] == mixed and offsets[other + 1] - offsets[other] == end - begin:
                place = begin
                shift = offsets[other] - begin
                while place < end and literals[place] == held[place + shift]:
                    place += 1
                if place == end:
                    break
            slot = (slot + 1) & mask
        if slots[slot] == FREE:
            slots[slot], hashes[n_held] = n_held, mixed
            first = offsets[n_held]
            for place in range(begin, end):
                held[first + place - begin] = literals[place]
            n_held += 1
            offsets[n_held] = first + end - begin
        ids[clause] = slots[slot]
        begin = int(end)
    return n_held

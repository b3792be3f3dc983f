"""The Conjunction algorithm (whang2009, Section 3, Algorithm 1), also for events with several values an attribute.

The code of an entry is 0 for ∉, and for ∈ the predicate's ordinal within its conjunction, counted from 1. The paper
accepts a conjunction that K lists agree on. Two values of one attribute, or one value in two domains, may put one
predicate into two lists, so K lists are necessary here and not sufficient: the ordinals, which ascend as the entries
do, are counted, and all K must be there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.postings import Cursors, ListBounds, Postings, get_posting_lists
from ruledex.kernels.postings_cursors import NONE, agreed_codes, initialize_current_entries, next_agreement

NOTHING_LEAST = -np.inf


@jit
def conjunction_numbers(
    index: Postings, scratch: Cursors, cells: NDArray[np.int32], begin: int, end: int, out: NDArray[np.int32]
) -> int:
    """Write the numbers of the conjunctions that are true of the event `cells[begin:end]`, each once; return how many.

    They come partition by partition, and ascend. `out` has room for all conjunctions.
    """
    none = scratch.bounds
    get_posting_lists(index, scratch, ListBounds(none, none), cells, none, begin, end, 1.0)
    entries, partition_first = index.entries, index.partition_first
    partition_size, partition_shift = index.partition_size, index.partition_shift
    partition_lists, place_of, end_of = scratch.partition_lists, scratch.place, scratch.end
    following, p_lists, codes = scratch.following, scratch.p_lists, scratch.codes
    first_on, occupied, bounds = scratch.first_on, scratch.occupied, scratch.bounds
    n_found = 0
    for partition in range(partition_size.size):
        first, last = partition_lists[partition], partition_lists[partition + 1]
        k = max(partition_size[partition], 1)  # processing K = 0 and K = 1 is identical
        if last - first < k:
            continue  # too few posting lists for any conjunction to be satisfied
        code_bits = partition_shift[partition]
        initialize_current_entries(first, last, code_bits, entries, place_of, following, first_on, occupied)
        n_lists, n_taken, current_id = last - first, 0, NONE
        while True:
            n_lists, current_id, n_taken = next_agreement(
                k,
                n_lists,
                n_taken,
                current_id + 1,
                code_bits,
                entries,
                place_of,
                end_of,
                p_lists,
                following,
                first_on,
                occupied,
                bounds,
                NOTHING_LEAST,
            )
            if current_id == NONE:
                break
            n_codes = agreed_codes(n_taken, code_bits, entries, place_of, p_lists, codes)
            # The first code is 0 if a ∉ predicate is violated.
            if n_codes == k and codes[0] != 0:
                out[n_found] = partition_first[partition] + current_id
                n_found += 1
    return n_found


@jit
def matching_conjunctions(
    index: Postings, scratch: Cursors, cells: NDArray[np.int32], begin: int, end: int, out: NDArray[np.int32]
) -> int:
    """Write the ids of the conjunctions that are true of the event `cells[begin:end]`, each once; return how many.

    They come in the index's own order, so they neither ascend nor descend. `out` has room for all conjunctions.
    """
    item = index.item
    n_found = conjunction_numbers(index, scratch, cells, begin, end, out)
    for place in range(n_found):
        out[place] = item[out[place]]
    return n_found

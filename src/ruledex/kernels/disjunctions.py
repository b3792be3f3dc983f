"""The CNF algorithm (whang2009, Section 4, Algorithm 2), also for events with several values an attribute.

An expression with m ∉ predicates, numbered over all its disjunctions, and D disjunctions has the codes

    2j        the attribute of the ∉ predicate j is there; only where the predicate needs that (the STRONG form)
    2j + 1    the ∉ predicate j is violated
    2m + d    an ∈ predicate of the disjunction d is satisfied
    2m + D    the list Z, which says nothing

so that in the order of entries the counter of a disjunction is settled by its ∉ predicates before an ∈ predicate may
decide it. K counts the disjunctions that no absence can satisfy: those without a WEAK ∉. Several values may put one
entry into several lists; such entries stand side by side in `PLists`, and count once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import ONE, ZERO, lowest_bit
from ruledex.kernels.jit import inlined, jit
from ruledex.kernels.postings import Cursors, ListBounds, Postings, get_posting_lists
from ruledex.kernels.postings_cursors import NONE, agreed_codes, initialize_current_entries, next_agreement
from ruledex.kernels.postings_states import are_noted, forget_entries, note_entries, noted_codes

NOTHING_LEAST = -np.inf


class Disjunctions(NamedTuple):
    """What `Counters.Initialize` needs, by the expressions' numbers. Bit 0 of a ∉ predicate says that it is WEAK."""

    n_disjunctions: NDArray[np.int32]  # [n_items]
    negative_offsets: NDArray[np.int32]  # [n_items + 1]
    negative_disjunction: NDArray[np.int32]  # of each ∉ predicate its disjunction << 1 | whether it is WEAK


@inlined
def is_satisfied(
    number: int,
    n_codes: int,
    codes: NDArray[np.int32],
    n_disjunctions: NDArray[np.int32],
    negative_offsets: NDArray[np.int32],
    negative_disjunction: NDArray[np.int32],
    counters: NDArray[np.int64],
) -> bool:
    """Steps 3 to 20 of Algorithm 2: whether an expression is true, by the codes that lists have for it, ascending."""
    negative, n_counters = negative_offsets[number], n_disjunctions[number]
    n_negative = negative_offsets[number + 1] - negative
    # Counters.Initialize: the negative number of a disjunction's WEAK ∉ predicates.
    for counter in range(n_counters):
        counters[counter] = 0
    for place in range(negative, negative + n_negative):
        counters[negative_disjunction[place] >> 1] -= negative_disjunction[place] & 1
    present = NONE
    for place in range(n_codes):
        code = codes[place]
        if code >= 2 * n_negative:
            if code < 2 * n_negative + n_counters:  # else the list Z
                counters[code - 2 * n_negative] = 1
            continue
        predicate = negative_disjunction[negative + (code >> 1)]
        if code & 1 == 0:
            counters[predicate >> 1] -= 1
            present = code
        elif predicate & 1 == 1 or present == code - 1:
            counters[predicate >> 1] += 1
    holds = True
    for counter in range(n_counters):
        holds = holds and counters[counter] != 0  # 0: no ∈ or ∉ predicate was satisfied
    return holds


@inlined
def is_accepted(
    number: int,
    k: int,
    n_codes: int,
    codes: NDArray[np.int32],
    n_disjunctions: NDArray[np.int32],
    negative_offsets: NDArray[np.int32],
    negative_disjunction: NDArray[np.int32],
    counters: NDArray[np.int64],
) -> bool:
    """Whether an item is true, by the codes that lists have for it, ascending; `n_disjunctions` says of which form."""
    if n_disjunctions.size != 0:
        return is_satisfied(number, n_codes, codes, n_disjunctions, negative_offsets, negative_disjunction, counters)
    # All ordinals of a conjunction, and not the first code 0 of a ∉ predicate that is violated.
    return n_codes == k and codes[0] != 0


@jit
def expression_numbers(
    index: Postings,
    disjunctions: Disjunctions,
    scratch: Cursors,
    counters: NDArray[np.int64],
    cells: NDArray[np.int32],
    begin: int,
    end: int,
    out: NDArray[np.int32],
) -> int:
    """Write the numbers of the CNF expressions that are true of the event `cells[begin:end]`; return how many.

    They come partition by partition, and ascend. `out` has room for all expressions, `counters` for the disjunctions
    of any. Without `disjunctions` the items are conjunctions: but for what accepts an item, both algorithms are one.
    """
    none = scratch.bounds
    get_posting_lists(index, scratch, ListBounds(none, none), cells, none, begin, end, 1.0)
    entries, partition_first = index.entries, index.partition_first
    partition_size, partition_shift = index.partition_size, index.partition_shift
    n_disjunctions, negative_offsets = disjunctions.n_disjunctions, disjunctions.negative_offsets
    negative_disjunction = disjunctions.negative_disjunction
    partition_lists, place_of, end_of = scratch.partition_lists, scratch.place, scratch.end
    following, p_lists, codes = scratch.following, scratch.p_lists, scratch.codes
    first_on, states, occupied, bounds = scratch.first_on, scratch.states, scratch.occupied, scratch.bounds
    n_found = 0
    for partition in range(partition_size.size):
        first, last = partition_lists[partition], partition_lists[partition + 1]
        k = max(partition_size[partition], 1)  # processing K = 0 and K = 1 is identical
        if last - first < k:
            continue  # too few posting lists for any item to be satisfied
        code_bits, first_item = partition_shift[partition], partition_first[partition]
        if are_noted(first, last, k, code_bits, place_of, end_of):
            note_entries(first, last, k, code_bits, entries, place_of, end_of, states, occupied)
            for word in range(((partition_first[partition + 1] - first_item) >> 6) + 1):
                left = occupied[word]
                occupied[word] = ZERO
                while left != ZERO:
                    item = (word << 6) + lowest_bit(left)
                    left &= left - ONE
                    n_codes = noted_codes(states[item], codes)
                    out[n_found] = first_item + item
                    n_found += is_accepted(
                        first_item + item,
                        k,
                        n_codes,
                        codes,
                        n_disjunctions,
                        negative_offsets,
                        negative_disjunction,
                        counters,
                    )
            forget_entries(first, last, code_bits, entries, place_of, end_of, states)
            continue
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
            number = first_item + current_id
            out[n_found] = number
            n_found += is_accepted(
                number, k, n_codes, codes, n_disjunctions, negative_offsets, negative_disjunction, counters
            )
    return n_found

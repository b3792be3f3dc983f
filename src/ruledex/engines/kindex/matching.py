"""The Conjunction and the CNF algorithm of whang2009, also for events with several values per attribute.

**Conjunctions** (Section 3, Algorithm 1). The code of an entry is 0 for ∉, and for ∈ the predicate's ordinal within its
conjunction, counted from 1. The paper accepts a conjunction that K lists agree on. Two values of one attribute, or one
value in two domains, may put one predicate into two lists, so K lists are necessary here and not sufficient: the
ordinals, which ascend as the entries do, are counted, and all K must be there.

**CNF** (Section 4, Algorithm 2). An expression with m ∉ predicates, numbered over all its disjunctions, and D
disjunctions has the codes

    2j        the attribute of the ∉ predicate j is there; only where the predicate needs that (the STRONG form)
    2j + 1    the ∉ predicate j is violated
    2m + d    an ∈ predicate of the disjunction d is satisfied
    2m + D    the list Z, which says nothing

so that in the order of entries, the counter of a disjunction is settled by its ∉ predicates before an ∈ predicate may
decide it. K counts the disjunctions that no absence can satisfy: those without a WEAK ∉. Several values may put one
entry into several lists; such entries stand side by side in `PLists`, and count once.

What was found true leads to the rules that own it: each rule once, in ascending order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit, prefetch
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.kindex.cursors import NONE, agreed_codes, initialize_current_entries, next_agreement
from ruledex.engines.kindex.postings import (
    ListBounds,
    PostingCursors,
    Postings,
    are_noted,
    forget_entries,
    get_posting_lists,
    note_entries,
    noted_codes,
)

NOTHING_LEAST = -np.inf
AHEAD = 8  # how far before its use a line of memory is asked for


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
    """Return whether an expression is true, by the ascending codes of its lists (Algorithm 2, steps 3 to 20)."""
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
    """Return whether an item is true, by the ascending codes of its lists; `n_disjunctions` says of which form."""
    if n_disjunctions.size != 0:
        return is_satisfied(number, n_codes, codes, n_disjunctions, negative_offsets, negative_disjunction, counters)
    # All ordinals of a conjunction, and not the first code 0 of a ∉ predicate that is violated.
    return n_codes == k and codes[0] != 0


@jit
def expression_numbers(
    index: Postings,
    disjunctions: Disjunctions,
    scratch: PostingCursors,
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


@jit
def matching_conjunctions(
    index: Postings, scratch: PostingCursors, cells: NDArray[np.int32], begin: int, end: int, out: NDArray[np.int32]
) -> int:
    """Write the ids of the conjunctions that are true of the event `cells[begin:end]`, each once; return how many.

    They come in the index's own order, so they neither ascend nor descend. `out` has room for all conjunctions.
    """
    item, none = index.item, index.item[:0]
    no_disjunctions, no_counters = Disjunctions(none, none, none), scratch.place[:0]
    n_found = expression_numbers(index, no_disjunctions, scratch, no_counters, cells, begin, end, out)
    for place in range(n_found):
        out[place] = item[out[place]]
    return n_found


class Owners(NamedTuple):
    """The rules that each found thing makes true."""

    offsets: NDArray[np.int32]  # [n_things + 1]
    rules: NDArray[np.int32]


@jit
def count_owners(owners: Owners, found: NDArray[np.int32]) -> int:
    """Return how many rules all that was found makes true, those counted twice that two of them do."""
    offsets, n_rules = owners.offsets, 0
    for place in range(found.size):
        if place + AHEAD < found.size:
            prefetch(offsets, np.int64(found[place + AHEAD]))
        n_rules += offsets[found[place] + 1] - offsets[found[place]]
    return n_rules


@jit
def mark_rules(
    owners: Owners, found: NDArray[np.int32], n_found: int, alive: NDArray[np.uint8], marks: NDArray[np.uint64]
) -> None:
    """Set the bits of all living rules of `found[:n_found]`; `alive` is empty where all live."""
    offsets, rules = owners.offsets, owners.rules
    for place in range(n_found):
        if place + 2 * AHEAD < n_found:
            prefetch(offsets, np.int64(found[place + 2 * AHEAD]))
            prefetch(rules, np.int64(offsets[found[place + AHEAD]]))
        for owner in range(offsets[found[place]], offsets[found[place] + 1]):
            rule = rules[owner]
            if alive.size == 0 or alive[rule] != 0:
                marks[np.uint64(rule) >> SIX] |= ONE << (np.uint64(rule) & LOW_SIX)


@jit
def collect_rules(marks: NDArray[np.uint64], out: NDArray[np.int32]) -> int:
    """Write the rules whose bits are set, ascending, and clear them; return how many."""
    n_found = 0
    for word in range(marks.size):
        left = marks[word]
        while left != ZERO:
            out[n_found] = (word << 6) + lowest_bit(left)
            n_found += 1
            left &= left - ONE
        marks[word] = ZERO
    return n_found


@jit
def match_forms(
    index: Postings,
    disjunctions: Disjunctions,
    scratch: PostingCursors,
    counters: NDArray[np.int64],
    owners: Owners,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    found: NDArray[np.int32],
    marks: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Match events from `first_event` on, as long as `out` has room for all rules once more.

    Write where each event's rules end to `offsets`, counted from the first event of all, and the positions to `out`,
    ascending within an event; return the event that comes next, and how much of `out` was written. `marks` has one bit
    per rule, none of them set.
    """
    event, n_written, n_rules = first_event, 0, 64 * marks.size
    while event < event_offsets.size - 1 and n_written + n_rules <= out.size:
        n_found = expression_numbers(
            index, disjunctions, scratch, counters, cells, event_offsets[event], event_offsets[event + 1], found
        )
        mark_rules(owners, found, n_found, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        event += 1
        offsets[event] = offsets[first_event] + n_written
    return event, n_written

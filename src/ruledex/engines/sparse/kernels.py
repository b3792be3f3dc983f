"""The kernels of `sparse`: one event at a time, upwards from the literals that it makes true.

Truth is one bit per *place* in one bitmap over

    atoms         the distinct intervals of positive literals
    unions        positive literals of several intervals: true with one of their atoms
    negatives     negative literals
    levels        AND and OR nodes from the bottom up; within a level, those that are to be verified come first
    sinks         one per rule, in the order of positions

With one bitmap for all, every test of a child is the same. A second bitmap has one bit per word of the first, so that
what an event touched is found in order, and cleared, without looking at the rest. (Stored
arrays whose names end in `_slots` hold places; the slots of the dictionary are something else.)

A true place sets the bits of its OR parents. It has an edge to an AND parent only if it is the parent's access child,
and with the edge goes a second child, whose bit decides most cases at once. Where a child of an AND node lies above the
level of the access child, its truth is not yet known then: the bit of such a node says that it is to be verified, which
is done when its level comes.

Most ORs below ANDs have no place and nobody tells them anything: they are evaluated on demand, when such an AND is
checked (demand.py says which).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit, n_bits, prefetch
from ruledex.compiled.decorator import jit
from ruledex.compiled.handles import int32_at, int64_at, scratch32_at, words_at
from ruledex.compiled.lists import first_at_least, sort_distinct

AHEAD = 12  # how far before its use a line of memory is asked for
TWO = np.uint64(2)
N_PASSED = 32  # edges whose further conditions are asked for together
CELLS, OUT = 5, 6  # in the handle of the scratch, behind its fields


class SparseIndex(NamedTuple):
    """The arrays of an index, all flat in the kernels.

    Offsets into edges are interleaved, OR and AND, so that a place's lie in one line.
    """

    domain_offsets: NDArray[np.int32]  # [n_domains + 1] cells
    atom_low: NDArray[np.int32]  # [n_atoms] cells
    atom_high: NDArray[np.int32]
    at_most_offsets: NDArray[np.int32]  # [n_domains + 1] atoms that begin where their domain does, by their high end
    at_least_offsets: NDArray[np.int32]  # [n_domains + 1] atoms that end where their domain does, by their low end
    tree_levels: NDArray[np.int64]  # [n_domains] bit t: some node of the interval tree with t trailing zeros is used
    tree_offsets: NDArray[np.int32]  # [n_cells + 1] all other atoms by the node that they hang on, then their low end
    tree_by_high: NDArray[np.int32]  # the same atoms, within a node by their high end, descending
    union_offsets: NDArray[np.int32]  # [n_atoms + 1] into union_slots; empty where there are no unions
    union_slots: NDArray[np.int32]
    presence_cells: NDArray[np.int32]  # ascending
    presence_offsets: NDArray[np.int32]  # [n_presence_cells + 1] negatives, counted from the first
    negative_slots: NDArray[np.int32]  # [n_negatives] the place of the positive literal
    edge_offsets: NDArray[np.int32]  # [2 * (first sink + 1)]
    or_edges: NDArray[np.int32]  # places
    and_edges: NDArray[np.int32]  # triples: place, place of the second child, where the rest begins in `and_rest`
    and_rest: NDArray[np.int32]  # how many numbers the further conditions take, and these; `hold` reads them
    verify_offsets: NDArray[np.int32]  # [n_to_verify + 1]
    verify_slots: NDArray[np.int32]  # conditions of the nodes that are to be verified
    level_slots: NDArray[np.int32]  # [n_levels, 4]: first to verify, first other, end, the first's number among all
    places: NDArray[np.int64]  # first union, first negative, end of negatives, first sink, number of rules


class SparseScratch(NamedTuple):
    """What one thread needs while it matches. Both bitmaps are all zero between events."""

    bits: NDArray[np.uint64]
    touched: NDArray[np.uint64]  # a bit for each word of `bits`
    ranges: NDArray[np.int32]  # pairs: runs of true atoms; 36 pairs for each cell of the largest event
    singles: NDArray[np.int32]  # [n_places] true ones, one by one
    passed: NDArray[np.int32]  # [N_PASSED] edges whose second child is true


@jit
def sparse_index(handle: int) -> SparseIndex:
    """Return the arrays of an index, which the handle has in the order of the fields."""
    return SparseIndex(
        int32_at(handle, 0),
        int32_at(handle, 1),
        int32_at(handle, 2),
        int32_at(handle, 3),
        int32_at(handle, 4),
        int64_at(handle, 5),
        int32_at(handle, 6),
        int32_at(handle, 7),
        int32_at(handle, 8),
        int32_at(handle, 9),
        int32_at(handle, 10),
        int32_at(handle, 11),
        int32_at(handle, 12),
        int32_at(handle, 13),
        int32_at(handle, 14),
        int32_at(handle, 15),
        int32_at(handle, 16),
        int32_at(handle, 17),
        int32_at(handle, 18),
        int32_at(handle, 19),
        int64_at(handle, 20),
    )


@jit
def sparse_scratch(handle: int) -> SparseScratch:
    """Return the arrays of scratch, which the handle has in the order of the fields."""
    return SparseScratch(
        words_at(handle, 0),
        words_at(handle, 1),
        scratch32_at(handle, 2),
        scratch32_at(handle, 3),
        scratch32_at(handle, 4),
    )


@jit
def is_set(bits: NDArray[np.uint64], place: int) -> bool:
    """Return whether a place is true."""
    bit = np.uint64(place)
    return bool((bits[bit >> SIX] >> (bit & LOW_SIX)) & ONE)


@jit
def _set(bits: NDArray[np.uint64], touched: NDArray[np.uint64], place: int) -> None:
    bit = np.uint64(place)
    word = bit >> SIX
    bits[word] |= ONE << (bit & LOW_SIX)
    touched[word >> SIX] |= ONE << (word & LOW_SIX)


@jit
def _set_range(bits: NDArray[np.uint64], touched: NDArray[np.uint64], first: int, last: int) -> None:
    """Set the bits from `first` up to but without `last`, which is larger."""
    begin, end = first >> 6, (last - 1) >> 6
    ones = ~ZERO
    for word in range(begin, end + 1):
        mask = ones
        if word == begin:
            mask = mask << np.uint64(first & 63)
        if word == end:
            mask = mask & (ones >> np.uint64(63 - ((last - 1) & 63)))
        bits[word] |= mask
        touched[word >> 6] |= ONE << np.uint64(word & 63)


@jit
def collect_set(
    bits: NDArray[np.uint64], touched: NDArray[np.uint64], first: int, last: int, out: NDArray[np.int32]
) -> int:
    """Write the set places of a region that begins at a word, ascending; return their number."""
    n_found = 0
    if first >= last:
        return n_found
    begin, end = first >> 6, (last + 63) >> 6
    for group in range(begin >> 6, ((end - 1) >> 6) + 1):
        words = touched[group]
        while words != ZERO:
            word = (group << 6) + lowest_bit(words)
            words &= words - ONE
            if word < begin or word >= end:
                continue
            left = bits[word]
            while left != ZERO:
                out[n_found] = (word << 6) + lowest_bit(left)
                n_found += 1
                left &= left - ONE
    return n_found


@jit
def _true_atoms(
    index: SparseIndex, scratch: SparseScratch, cells: NDArray[np.int32], begin: int, end: int
) -> tuple[int, int]:
    """Set the bits of the atoms that the event hits; return the numbers of runs and of single ones."""
    bits, touched, ranges, singles = scratch.bits, scratch.touched, scratch.ranges, scratch.singles
    domain_offsets, tree_levels, tree_offsets = index.domain_offsets, index.tree_levels, index.tree_offsets
    atom_low, atom_high, tree_by_high = index.atom_low, index.atom_high, index.tree_by_high
    at_most_offsets, at_least_offsets = index.at_most_offsets, index.at_least_offsets
    n_ranges, n_singles, place = 0, 0, begin
    n_domains = domain_offsets.size - 1
    domain = 0
    while place < end:
        # A domain has a cell at least, so the next one is no further than its cell is. Lambdas have a domain each.
        furthest = min(n_domains + 1, domain + 1 + cells[place] - domain_offsets[domain])
        domain = first_at_least(domain_offsets, domain, furthest, cells[place] + 1) - 1
        domain_begin, domain_end = domain_offsets[domain], domain_offsets[domain + 1]
        if domain_end - domain_begin == 1:  # its only atom, if any, begins where it does
            place += 1
            first, last = at_most_offsets[domain], at_most_offsets[domain + 1]
            if first < last:
                ranges[2 * n_ranges], ranges[2 * n_ranges + 1] = first, last
                n_ranges += 1
            continue
        smallest = cells[place]
        levels = tree_levels[domain]
        while place < end and cells[place] < domain_end:
            cell = cells[place]
            place += 1
            first, last = tree_offsets[cell], tree_offsets[cell + 1]
            if first < last:
                ranges[2 * n_ranges], ranges[2 * n_ranges + 1] = first, last
                n_ranges += 1
            rest = np.uint64(levels)
            position = cell - domain_begin + 1
            while rest != ZERO:
                level = lowest_bit(rest)
                rest &= rest - ONE
                center = ((position >> (level + 1)) << (level + 1)) | (1 << level)
                node = domain_begin + center - 1
                if node == cell or node >= domain_end:
                    continue
                first, last = tree_offsets[node], tree_offsets[node + 1]
                if cell < node:
                    if first < last:
                        last = first_at_least(atom_low, first, last, cell + 1)
                    if first < last:
                        ranges[2 * n_ranges], ranges[2 * n_ranges + 1] = first, last
                        n_ranges += 1
                    continue
                tree_begin = tree_offsets[0]
                while first < last:
                    atom = tree_by_high[first - tree_begin]
                    if atom_high[atom] < cell:
                        break
                    if not is_set(bits, atom):
                        _set(bits, touched, atom)
                        singles[n_singles] = atom
                        n_singles += 1
                    first += 1
        largest = cells[place - 1]
        first, last = at_most_offsets[domain], at_most_offsets[domain + 1]
        if first < last:
            first = first_at_least(atom_high, first, last, smallest)
        if first < last:
            ranges[2 * n_ranges], ranges[2 * n_ranges + 1] = first, last
            n_ranges += 1
        first, last = at_least_offsets[domain], at_least_offsets[domain + 1]
        if first < last:
            last = first_at_least(atom_low, first, last, largest + 1)
        if first < last:
            ranges[2 * n_ranges], ranges[2 * n_ranges + 1] = first, last
            n_ranges += 1
    for run in range(n_ranges):
        _set_range(bits, touched, ranges[2 * run], ranges[2 * run + 1])
    return n_ranges, n_singles


@jit
def _true_unions(index: SparseIndex, scratch: SparseScratch, n_ranges: int, n_singles: int) -> None:
    bits, touched, ranges, singles = scratch.bits, scratch.touched, scratch.ranges, scratch.singles
    offsets, places = index.union_offsets, index.union_slots
    if offsets.size != 0:
        for run in range(n_ranges):
            for edge in range(offsets[ranges[2 * run]], offsets[ranges[2 * run + 1]]):
                _set(bits, touched, places[edge])
        for single in range(n_singles):
            for edge in range(offsets[singles[single]], offsets[singles[single] + 1]):
                _set(bits, touched, places[edge])


@jit
def _true_negatives(index: SparseIndex, scratch: SparseScratch, cells: NDArray[np.int32], begin: int, end: int) -> None:
    bits, touched = scratch.bits, scratch.touched
    presence_cells, offsets, positive = index.presence_cells, index.presence_offsets, index.negative_slots
    n_presences, first_negative = presence_cells.size, index.places[1]
    presence, place = 0, begin
    while place < end and presence < n_presences:
        presence = first_at_least(presence_cells, presence, n_presences, cells[place])
        if presence < n_presences and presence_cells[presence] == cells[place]:
            for negative in range(offsets[presence], offsets[presence + 1]):
                if not is_set(bits, positive[negative]):
                    _set(bits, touched, first_negative + negative)
        place += 1


@jit
def hold(bits: NDArray[np.uint64], conditions: NDArray[np.int32], place: int, end: int) -> bool:
    """Return whether all conditions from `place` on are met.

    Each is a place that must be true, or minus a number of places that follow, of which one must be.
    """
    while place < end:
        condition = conditions[place]
        place += 1
        if condition >= 0:
            if not is_set(bits, condition):
                return False
        else:
            last = place - condition
            while place < last and not is_set(bits, conditions[place]):
                place += 1
            if place == last:
                return False
            place = last
    return True


@jit
def _check(index: SparseIndex, scratch: SparseScratch, n_passed: int) -> None:
    """Set the bits of the ANDs behind passed edges whose further conditions are met."""
    bits, and_edges, rest = scratch.bits, index.and_edges, index.and_rest
    for at in range(n_passed):
        edge = scratch.passed[at]
        other = and_edges[3 * edge + 2]
        if hold(bits, rest, other + 1, other + 1 + rest[other]):
            _set(bits, scratch.touched, and_edges[3 * edge])


@jit
def _fire(index: SparseIndex, scratch: SparseScratch, runs: NDArray[np.int32], n_runs: int, width: int) -> None:
    """Follow the edges of true places upwards: of runs of places if `width` is 2, of single ones if it is 1.

    Places lie apart, so their lines of memory are asked for ahead. So do the further conditions of edges whose second
    child is true; the order of edges does not matter, since all conditions lie below this level.
    """
    bits, touched, offsets = scratch.bits, scratch.touched, index.edge_offsets
    or_edges, and_edges, rest, passed = index.or_edges, index.and_edges, index.and_rest, scratch.passed
    n_passed = 0
    for run in range(n_runs):
        if run + 2 * AHEAD < n_runs:
            prefetch(offsets, 2 * np.int64(runs[width * (run + 2 * AHEAD)]))
        if run + AHEAD < n_runs:
            coming = 2 * np.int64(runs[width * (run + AHEAD)])
            prefetch(or_edges, np.int64(offsets[coming]))
            prefetch(and_edges, 3 * np.int64(offsets[coming + 1]))
        first = np.uint64(2 * runs[width * run])
        last = first + TWO if width == 1 else np.uint64(2 * runs[width * run + 1])
        for edge in range(offsets[first], offsets[last]):
            _set(bits, touched, or_edges[edge])
        for edge in range(offsets[first + ONE], offsets[last + ONE]):
            if is_set(bits, and_edges[3 * edge + 1]):
                prefetch(rest, np.int64(and_edges[3 * edge + 2]))
                passed[n_passed] = edge
                n_passed += 1
                if n_passed == N_PASSED:
                    _check(index, scratch, n_passed)
                    n_passed = 0
    _check(index, scratch, n_passed)


@jit
def _verify(index: SparseIndex, scratch: SparseScratch, first: int, last: int, first_number: int) -> None:
    """Clear the bits of those nodes of a level whose conditions are not all met."""
    bits, waiting = scratch.bits, scratch.singles
    offsets, conditions = index.verify_offsets, index.verify_slots
    for at in range(collect_set(bits, scratch.touched, first, last, waiting)):
        place = waiting[at]
        number = first_number + place - first
        if not hold(bits, conditions, offsets[number], offsets[number + 1]):
            bits[place >> 6] &= ~(ONE << np.uint64(place & 63))


@jit
def propagate_event(index: SparseIndex, scratch: SparseScratch, cells: NDArray[np.int32], begin: int, end: int) -> None:
    """Set the bits of all sinks whose rules are true of the event."""
    bits, touched, singles = scratch.bits, scratch.touched, scratch.singles
    n_ranges, n_singles = _true_atoms(index, scratch, cells, begin, end)
    _true_unions(index, scratch, n_ranges, n_singles)
    _true_negatives(index, scratch, cells, begin, end)
    _fire(index, scratch, scratch.ranges, n_ranges, 2)
    _fire(index, scratch, singles, n_singles, 1)
    _fire(index, scratch, singles, collect_set(bits, touched, index.places[0], index.places[2], singles), 1)
    levels = index.level_slots
    for level in range(0, levels.size, 4):
        _verify(index, scratch, levels[level], levels[level + 1], levels[level + 3])
        n_true = collect_set(bits, touched, levels[level], levels[level + 2], singles)
        _fire(index, scratch, singles, n_true, 1)


@jit
def clear(bits: NDArray[np.uint64], touched: NDArray[np.uint64]) -> None:
    """Let both bitmaps be all zero again."""
    for group in range(touched.size):
        words = touched[group]
        while words != ZERO:
            bits[(group << 6) + lowest_bit(words)] = ZERO
            words &= words - ONE
        touched[group] = ZERO


@jit
def sparse_match_one(index_handle: int, scratch_handle: int, n_cells: int) -> int:
    """Match the event whose cells, in any order and perhaps twice, lie in the handle of the scratch behind its fields.

    Write the positions of its rules behind that, ascending; return their number.
    """
    index, scratch = sparse_index(index_handle), sparse_scratch(scratch_handle)
    out = scratch32_at(scratch_handle, OUT)
    first_sink, n_rules = index.places[3], index.places[4]
    n_distinct = sort_distinct(scratch32_at(scratch_handle, CELLS), n_cells)
    propagate_event(index, scratch, int32_at(scratch_handle, CELLS), 0, n_distinct)
    n_found = collect_set(scratch.bits, scratch.touched, first_sink, first_sink + n_rules, out)
    for place in range(n_found):
        out[place] -= first_sink
    clear(scratch.bits, scratch.touched)
    return n_found


@jit
def sparse_match(
    index_handle: int,
    scratch_handle: int,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Match events from `first_event` on, as long as `out` has room for all rules once more.

    Write where each event's rules end to `offsets`, counted from the first event of all, and the positions to `out`,
    ascending within an event; return the event that comes next, and how much of `out` was written.
    """
    index, scratch = sparse_index(index_handle), sparse_scratch(scratch_handle)
    first_sink, n_rules = index.places[3], index.places[4]
    event, n_written = first_event, 0
    while event < event_offsets.size - 1 and n_written + n_rules <= out.size:
        propagate_event(index, scratch, cells, event_offsets[event], event_offsets[event + 1])
        n_found = collect_set(scratch.bits, scratch.touched, first_sink, first_sink + n_rules, out[n_written:])
        n_kept = 0
        for place in range(n_written, n_written + n_found):
            rule = out[place] - first_sink
            out[n_written + n_kept] = rule
            n_kept += 1 if alive.size == 0 or alive[rule] != 0 else 0
        offsets[event + 1] = offsets[event] + n_kept
        n_written += n_kept
        event += 1
        clear(scratch.bits, scratch.touched)
    return event, n_written


@jit
def sparse_count(
    index_handle: int,
    scratch_handle: int,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Write each event's number of rules; no rule is written."""
    index, scratch = sparse_index(index_handle), sparse_scratch(scratch_handle)
    first_sink, n_rules = index.places[3], index.places[4]
    for event in range(event_offsets.size - 1):
        propagate_event(index, scratch, cells, event_offsets[event], event_offsets[event + 1])
        n_found = 0
        for word in range(first_sink >> 6, (first_sink + n_rules + 63) >> 6):
            left = scratch.bits[word]
            if alive.size == 0:
                n_found += n_bits(left)
                continue
            while left != ZERO:
                n_found += 1 if alive[(word << 6) + lowest_bit(left) - first_sink] != 0 else 0
                left &= left - ONE
        counts[event] = n_found
        clear(scratch.bits, scratch.touched)

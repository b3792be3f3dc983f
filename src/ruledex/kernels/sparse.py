"""One event at a time, upwards from the literals that it makes true.

Truth is a bit a *slot*, in one bitmap over all of

    atoms         the distinct intervals of positive literals
    unions        positive literals of several intervals: true with one of their atoms
    negatives     negative literals
    levels        AND and OR nodes from the bottom up; within a level those come first that are to be verified
    sinks         one a rule, in the order of positions

Sharing one bitmap makes every test of a child the same. A second bitmap has a bit for each word of the first, so that
what an event touched is found in order, and cleared, without looking at the rest.

A true slot sets the bits of its OR parents; of AND parents only those have an edge from it that it is the access child of,
and with the edge goes a second child, whose bit decides most cases at once. Where a child of an AND node lies above the level
of the access child, its truth is not yet known then: such a node's bit says that it is to be verified, which is done when its
level comes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import ONE, ZERO, lowest_bit, n_bits, prefetch
from ruledex.kernels.jit import jit
from ruledex.kernels.literals import first_at_least

AHEAD = 12  # how far before its use a line of memory is asked for


class SparseIndex(NamedTuple):
    """The arrays of an index. Offsets into edges are interleaved, OR and AND, so that a slot's lie in one line."""

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
    negative_slots: NDArray[np.int32]  # [n_negatives] the slot of the positive literal
    edge_offsets: NDArray[np.int32]  # [2 * (first sink + 1)]
    or_edges: NDArray[np.int32]  # slots
    and_edges: NDArray[np.int32]  # triples: slot, slot of the second child, place in `others`
    others: NDArray[np.int32]  # how many further children, and their slots
    verify_offsets: NDArray[np.int32]  # [n_to_verify + 1]
    verify_slots: NDArray[np.int32]  # children of the nodes that are to be verified
    level_slots: NDArray[np.int32]  # [n_levels, 4]: first to verify, first other, end, the first's number among all
    places: NDArray[np.int64]  # first union, first negative, end of negatives, first sink, number of rules


class SparseScratch(NamedTuple):
    """What one thread needs while it matches. Both bitmaps are all zero between events."""

    bits: NDArray[np.uint64]
    touched: NDArray[np.uint64]  # a bit for each word of `bits`
    ranges: NDArray[np.int32]  # pairs: runs of true atoms; 36 pairs for each cell of the largest event
    singles: NDArray[np.int32]  # [n_slots] true slots, one by one


@jit
def _is_set(bits: NDArray[np.uint64], slot: int) -> bool:
    return (bits[slot >> 6] >> np.uint64(slot & 63)) & ONE != ZERO


@jit
def _set(bits: NDArray[np.uint64], touched: NDArray[np.uint64], slot: int) -> None:
    word = slot >> 6
    bits[word] |= ONE << np.uint64(slot & 63)
    touched[word >> 6] |= ONE << np.uint64(word & 63)


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
def _collect(bits: NDArray[np.uint64], touched: NDArray[np.uint64], first: int, last: int, out: NDArray[np.int32]) -> int:
    """Write the set slots of a region that begins at a word, ascending; return their number."""
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
def _true_atoms(index: SparseIndex, scratch: SparseScratch, cells: NDArray[np.int32], begin: int, end: int) -> tuple[int, int]:
    """Set the bits of the atoms that the event hits; return the numbers of runs and of single ones."""
    bits, touched, ranges, singles = scratch.bits, scratch.touched, scratch.ranges, scratch.singles
    n_ranges, n_singles, place = 0, 0, begin
    n_domains = index.domain_offsets.size - 1
    domain = 0
    while place < end:
        domain = first_at_least(index.domain_offsets, domain, n_domains + 1, cells[place] + 1) - 1
        domain_begin, domain_end = index.domain_offsets[domain], index.domain_offsets[domain + 1]
        smallest = cells[place]
        levels = index.tree_levels[domain]
        while place < end and cells[place] < domain_end:
            cell = cells[place]
            place += 1
            first, last = index.tree_offsets[cell], index.tree_offsets[cell + 1]
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
                first, last = index.tree_offsets[node], index.tree_offsets[node + 1]
                if cell < node:
                    last = first_at_least(index.atom_low, first, last, cell + 1)
                    if first < last:
                        ranges[2 * n_ranges], ranges[2 * n_ranges + 1] = first, last
                        n_ranges += 1
                    continue
                tree_begin = index.tree_offsets[0]
                while first < last:
                    atom = index.tree_by_high[first - tree_begin]
                    if index.atom_high[atom] < cell:
                        break
                    if not _is_set(bits, atom):
                        _set(bits, touched, atom)
                        singles[n_singles] = atom
                        n_singles += 1
                    first += 1
        largest = cells[place - 1]
        last = index.at_most_offsets[domain + 1]
        first = first_at_least(index.atom_high, index.at_most_offsets[domain], last, smallest)
        if first < last:
            ranges[2 * n_ranges], ranges[2 * n_ranges + 1] = first, last
            n_ranges += 1
        first = index.at_least_offsets[domain]
        last = first_at_least(index.atom_low, first, index.at_least_offsets[domain + 1], largest + 1)
        if first < last:
            ranges[2 * n_ranges], ranges[2 * n_ranges + 1] = first, last
            n_ranges += 1
    for run in range(n_ranges):
        _set_range(bits, touched, ranges[2 * run], ranges[2 * run + 1])
    return n_ranges, n_singles


@jit
def _true_unions(index: SparseIndex, scratch: SparseScratch, n_ranges: int, n_singles: int) -> None:
    if index.union_offsets.size == 0:
        return
    for run in range(n_ranges):
        first, last = index.union_offsets[scratch.ranges[2 * run]], index.union_offsets[scratch.ranges[2 * run + 1]]
        for edge in range(first, last):
            _set(scratch.bits, scratch.touched, index.union_slots[edge])
    for single in range(n_singles):
        atom = scratch.singles[single]
        for edge in range(index.union_offsets[atom], index.union_offsets[atom + 1]):
            _set(scratch.bits, scratch.touched, index.union_slots[edge])


@jit
def _true_negatives(index: SparseIndex, scratch: SparseScratch, cells: NDArray[np.int32], begin: int, end: int) -> None:
    n_presences = index.presence_cells.size
    first_negative = index.places[1]
    presence = 0
    for place in range(begin, end):
        presence = first_at_least(index.presence_cells, presence, n_presences, cells[place])
        if presence == n_presences:
            return
        if index.presence_cells[presence] != cells[place]:
            continue
        for negative in range(index.presence_offsets[presence], index.presence_offsets[presence + 1]):
            if not _is_set(scratch.bits, index.negative_slots[negative]):
                _set(scratch.bits, scratch.touched, first_negative + negative)


@jit
def _fire(index: SparseIndex, scratch: SparseScratch, or_first: int, or_last: int, and_first: int, and_last: int) -> None:
    """Follow the edges of true slots upwards."""
    bits, touched = scratch.bits, scratch.touched
    for edge in range(or_first, or_last):
        _set(bits, touched, index.or_edges[edge])
    for edge in range(and_first, and_last):
        if not _is_set(bits, index.and_edges[3 * edge + 1]):
            continue
        other = index.and_edges[3 * edge + 2]
        last = other + index.others[other]
        while other < last and _is_set(bits, index.others[other + 1]):
            other += 1
        if other == last:
            _set(bits, touched, index.and_edges[3 * edge])


@jit
def _fire_singles(index: SparseIndex, scratch: SparseScratch, n_singles: int) -> None:
    """Follow the edges of slots one by one: their lines of memory are asked for ahead, since they lie apart."""
    singles, offsets = scratch.singles, index.edge_offsets
    for single in range(n_singles):
        if single + 2 * AHEAD < n_singles:
            prefetch(offsets, 2 * singles[single + 2 * AHEAD])
        if single + AHEAD < n_singles:
            coming = 2 * singles[single + AHEAD]
            prefetch(index.or_edges, offsets[coming])
            prefetch(index.and_edges, 3 * offsets[coming + 1])
        slot = 2 * singles[single]
        _fire(index, scratch, offsets[slot], offsets[slot + 2], offsets[slot + 1], offsets[slot + 3])


@jit
def _verify(index: SparseIndex, scratch: SparseScratch, first: int, last: int, first_number: int) -> None:
    """Clear the bits of those nodes of a level that not all children are true of."""
    bits = scratch.bits
    n_waiting = _collect(bits, scratch.touched, first, last, scratch.singles)
    for waiting in range(n_waiting):
        slot = scratch.singles[waiting]
        number = first_number + slot - first
        for edge in range(index.verify_offsets[number], index.verify_offsets[number + 1]):
            if not _is_set(bits, index.verify_slots[edge]):
                bits[slot >> 6] &= ~(ONE << np.uint64(slot & 63))
                break


@jit
def _propagate(index: SparseIndex, scratch: SparseScratch, cells: NDArray[np.int32], begin: int, end: int) -> None:
    """Set the bits of all sinks whose rules are true of the event."""
    bits, touched, ranges, singles, offsets = (
        scratch.bits,
        scratch.touched,
        scratch.ranges,
        scratch.singles,
        index.edge_offsets,
    )
    n_ranges, n_singles = _true_atoms(index, scratch, cells, begin, end)
    _true_unions(index, scratch, n_ranges, n_singles)
    _true_negatives(index, scratch, cells, begin, end)
    for run in range(n_ranges):
        first, last = 2 * ranges[2 * run], 2 * ranges[2 * run + 1]
        _fire(index, scratch, offsets[first], offsets[last], offsets[first + 1], offsets[last + 1])
    _fire_singles(index, scratch, n_singles)
    _fire_singles(index, scratch, _collect(bits, touched, index.places[0], index.places[2], singles))
    for level in range(index.level_slots.shape[0]):
        first_to_verify, first_other, last = (
            index.level_slots[level, 0],
            index.level_slots[level, 1],
            index.level_slots[level, 2],
        )
        _verify(index, scratch, first_to_verify, first_other, index.level_slots[level, 3])
        _fire_singles(index, scratch, _collect(bits, touched, first_to_verify, last, singles))


@jit
def _clear(scratch: SparseScratch) -> None:
    for group in range(scratch.touched.size):
        words = scratch.touched[group]
        while words != ZERO:
            scratch.bits[(group << 6) + lowest_bit(words)] = ZERO
            words &= words - ONE
        scratch.touched[group] = ZERO


@jit
def sparse_match(
    index: SparseIndex,
    scratch: SparseScratch,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    counts: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Match events from `first_event` on, as long as `out` has room for all rules once more.

    Write each event's number of rules to `counts` and the positions to `out`, ascending within an event; return the event
    that comes next, and how much of `out` was written.
    """
    first_sink, n_rules = index.places[3], index.places[4]
    event, n_written = first_event, 0
    while event < event_offsets.size - 1 and n_written + n_rules <= out.size:
        _propagate(index, scratch, cells, event_offsets[event], event_offsets[event + 1])
        n_found = _collect(scratch.bits, scratch.touched, first_sink, first_sink + n_rules, out[n_written:])
        n_kept = 0
        for place in range(n_written, n_written + n_found):
            rule = out[place] - first_sink
            out[n_written + n_kept] = rule
            n_kept += 1 if alive.size == 0 or alive[rule] != 0 else 0
        counts[event] = n_kept
        n_written += n_kept
        event += 1
        _clear(scratch)
    return event, n_written


@jit
def sparse_count(
    index: SparseIndex,
    scratch: SparseScratch,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Write each event's number of rules; no rule is written."""
    first_sink, n_rules = index.places[3], index.places[4]
    for event in range(event_offsets.size - 1):
        _propagate(index, scratch, cells, event_offsets[event], event_offsets[event + 1])
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
        _clear(scratch)

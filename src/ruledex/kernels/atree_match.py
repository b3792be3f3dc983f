"""One event through an A-Tree (a-tree2021, Section 5), upwards from the literals that it makes true, level by level.

False and unknown are one here, and never carried upwards (zero suppression, Section 5.2.1); an AND is looked at only
when its access child is true (propagation on demand, Section 5.2.2). Truth is a bit a node: 32 of them share a word
with the number of the event that they are of, so that nothing is cleared between events, and what an earlier event left
counts for nothing. Each level has a queue, and those of all levels lie one behind the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.atree_layout import (
    ALWAYS_RULE,
    BLOCK,
    CENTER,
    ENTRIES,
    FIRE,
    KEY,
    N_DOWN,
    N_ENTRIES,
    N_FIRE,
    N_OF_WIDTH,
    NEXT,
    NO_RULE,
    ROW,
    RULE,
    RUN,
    TOP_LEVEL,
)
from ruledex.kernels.atree_links import VERIFY
from ruledex.kernels.atree_literals import POINT, bucket_of
from ruledex.kernels.bits import lowest_bit, n_bits, prefetch
from ruledex.kernels.growing import FREE
from ruledex.kernels.jit import inlined, jit

AHEAD = 8  # how many nodes before its use a line of memory is asked for
WORD_BITS, WORD_SHIFT, NUMBER_SHIFT = 32, 5, 32
LAST_EVENT = 2**31 - 1  # from which on all words must be cleared
LOW_WORD = 0xFFFFFFFF
ONE = np.int64(1)
PACKED = 2  # of `widths`


class TreeIndex(NamedTuple):
    """A tree that is matched: the arrays of a `Tree`, or of one that was packed (see atree_pack.py).

    Nodes lie in one dimension, `widths[0]` columns each, and `widths[1]` are the words of a row of a node's block.
    Where `widths[PACKED]` is 1, the entries of a bucket are sorted by their low ends, and behind them lie the number of
    those that are wider than one cell, and these once more, sorted by their high ends, descending; and several rules of
    a node lie side by side.
    """

    nodes: NDArray[np.int32]
    heap: NDArray[np.int32]
    rules: NDArray[np.int32]
    centers: NDArray[np.int32]
    levels: NDArray[np.int32]
    counts: NDArray[np.int64]
    widths: NDArray[np.int64]


class MatchScratch(NamedTuple):
    """What one thread needs while it matches."""

    truth: NDArray[np.int64]  # [n_nodes // 32 + 1] the number of an event, and 32 bits
    found: NDArray[np.int64]  # [n_rules // 32 + 1] likewise
    queue: NDArray[np.int32]  # [n_nodes]
    ends: NDArray[np.int64]  # [n_levels + 2] where the queue of each level ends so far
    negatives: NDArray[np.int32]  # [n_nodes] negative literals whose presence is there
    event: NDArray[np.int64]  # [1] the number of the last event


@inlined
def is_true(words: NDArray[np.int64], number: int, place: int) -> bool:
    """Whether a bit is set that is of this event."""
    word = words[place >> WORD_SHIFT]
    return bool((word >> NUMBER_SHIFT) == number and (word >> (place & (WORD_BITS - 1))) & 1 == 1)


@inlined
def set_true(words: NDArray[np.int64], number: int, place: int) -> None:
    """Set a bit for this event."""
    at = place >> WORD_SHIFT
    word = words[at]
    if (word >> NUMBER_SHIFT) != number:
        word = number << NUMBER_SHIFT
    words[at] = word | (ONE << (place & (WORD_BITS - 1)))


@jit
def next_event(scratch: MatchScratch) -> int:
    """The number of an event that is to be matched now."""
    if scratch.event[0] == LAST_EVENT:
        scratch.truth[:] = 0
        scratch.found[:] = 0
        scratch.event[0] = 0
    scratch.event[0] += 1
    return int(scratch.event[0])


@jit
def start_queues(index: TreeIndex, ends: NDArray[np.int64]) -> None:
    """Let the queues of all levels be empty: `ends[level]` is then where that level's begins."""
    ends[0] = 0
    for level in range(1, index.counts[TOP_LEVEL] + 2):
        ends[level] = ends[level - 1] + index.levels[level - 1]


@jit
def true_literals(index: TreeIndex, scratch: MatchScratch, number: int, cells: NDArray[np.int32]) -> int:
    """Set the bits of the literals that an event makes true, and write them to the queue; return their number."""
    nodes, heap, centers, counts = index.nodes, index.heap, index.centers, index.counts
    width, is_sorted = index.widths[0], index.widths[PACKED] == 1
    truth, queue, negatives = scratch.truth, scratch.queue, scratch.negatives
    n_true, n_negatives = 0, 0
    for cell in cells:
        for zeros in range(POINT + 1):
            center = cell
            if zeros < POINT:
                center = ((cell >> (zeros + 1)) << (zeros + 1)) | (1 << zeros)
            # A cell that is such a center itself asks its own bucket, once, as a point does.
            if zeros == POINT or (counts[N_OF_WIDTH + zeros] != 0 and center != cell):
                slot = bucket_of(centers, center)
                n_entries = centers[slot, N_ENTRIES] if centers[slot, CENTER] != FREE else 0
                start = centers[slot, ENTRIES]
                if is_sorted and n_entries > 0 and cell > center:
                    start += ROW * n_entries
                    n_entries = heap[start]
                    start += 1
                for entry in range(start, start + ROW * n_entries, ROW):
                    is_within = heap[entry] <= cell and cell <= heap[entry + 1]
                    if is_sorted and not is_within:
                        break
                    if is_within:
                        literal = heap[entry + 2]
                        if literal < 0:
                            negatives[n_negatives] = ~literal
                            n_negatives += 1
                        elif not is_true(truth, number, literal):
                            set_true(truth, number, literal)
                            queue[n_true] = literal
                            n_true += 1
    for place in range(n_negatives):
        literal = negatives[place]
        if not is_true(truth, number, nodes[width * literal + KEY]):
            set_true(truth, number, literal)
            queue[n_true] = literal
            n_true += 1
    return n_true


@jit
def _verify(index: TreeIndex, scratch: MatchScratch, number: int, begin: int, end: int) -> int:
    """Keep of a queue those nodes that are true; return where it ends then."""
    nodes, heap, width, step = index.nodes, index.heap, index.widths[0], index.widths[1]
    truth, queue = scratch.truth, scratch.queue
    kept = begin
    for place in range(begin, end):
        if place + 2 * AHEAD < end:
            prefetch(nodes, width * np.int64(queue[place + 2 * AHEAD]))
        if place + AHEAD < end:
            prefetch(heap, np.int64(nodes[width * queue[place + AHEAD] + BLOCK]))
        node = queue[place]
        holds = is_true(truth, number, node)
        if not holds:
            # The access child comes first, and is known to be true.
            row = nodes[width * node + BLOCK] + step
            last = row + step * (nodes[width * node + N_DOWN] - 1)
            while row < last and is_true(truth, number, heap[row]):
                row += step
            holds = row == last
            if holds:
                set_true(truth, number, node)
        queue[kept] = node
        kept += holds
    return kept


@inlined
def set_rules_true(
    found: NDArray[np.int64],
    number: int,
    rules: NDArray[np.int32],
    heap: NDArray[np.int32],
    first: int,
    is_packed: bool,
) -> None:
    """Set the bits of all rules of a node, of which `first` is the first, or says where they lie."""
    if is_packed and first <= RUN:
        place = RUN - first
        for at in range(place + 1, place + 1 + heap[place]):
            set_true(found, number, heap[at])
    elif is_packed:
        if first != NO_RULE:
            set_true(found, number, first)
    else:
        rule = first
        while rule != NO_RULE:
            set_true(found, number, rule)
            rule = rules[rule, NEXT]


@jit
def _fire(index: TreeIndex, scratch: MatchScratch, number: int, begin: int, end: int) -> None:
    """Carry the truth of queued nodes to their rules and their parents."""
    nodes, heap, rules, width = index.nodes, index.heap, index.rules, index.widths[0]
    is_packed = index.widths[PACKED] == 1
    truth, found, queue, ends = scratch.truth, scratch.found, scratch.queue, scratch.ends
    for place in range(begin, end):
        if place + 2 * AHEAD < end:
            prefetch(nodes, width * np.int64(queue[place + 2 * AHEAD]))
        if place + AHEAD < end:
            prefetch(heap, np.int64(nodes[width * queue[place + AHEAD] + FIRE]))
        node = queue[place]
        if nodes[width * node + RULE] != NO_RULE:
            set_rules_true(found, number, rules, heap, nodes[width * node + RULE], is_packed)
        entry = nodes[width * node + FIRE]
        last = entry + ROW * nodes[width * node + N_FIRE]
        while entry < last:
            second = heap[entry + 1]
            if second == node or is_true(truth, number, second):
                target, flags = heap[entry], heap[entry + 2]
                if target < 0:
                    set_true(found, number, ~target)
                elif flags & VERIFY != 0 or not is_true(truth, number, target):
                    if flags & VERIFY == 0:
                        set_true(truth, number, target)
                    level = flags >> 1
                    queue[ends[level]] = target
                    ends[level] += 1
            entry += ROW


@jit
def propagate(index: TreeIndex, scratch: MatchScratch, number: int, cells: NDArray[np.int32]) -> None:
    """Set the bits of all rules that are true of an event."""
    ends = scratch.ends
    start_queues(index, ends)
    set_rules_true(scratch.found, number, index.rules, index.heap, index.counts[ALWAYS_RULE], index.widths[PACKED] == 1)
    n_literals = true_literals(index, scratch, number, cells)
    _fire(index, scratch, number, 0, n_literals)
    begin = ends[1] + index.levels[1]
    for level in range(2, index.counts[TOP_LEVEL] + 1):
        end = _verify(index, scratch, number, begin, ends[level])
        _fire(index, scratch, number, begin, end)
        begin += index.levels[level]


@jit
def collect(
    found: NDArray[np.int64], number: int, alive: NDArray[np.uint8], n_rules: int, out: NDArray[np.int32]
) -> int:
    """Write the rules that were found and live, ascending; return how many. All live where `alive` is empty."""
    n_written = 0
    for at in range((n_rules + WORD_BITS - 1) >> WORD_SHIFT):
        word = found[at]
        if (word >> NUMBER_SHIFT) == number:
            left = np.uint64(word & LOW_WORD)
            while left != np.uint64(0):
                rule = (at << WORD_SHIFT) + lowest_bit(left)
                left &= left - np.uint64(1)
                if alive.size == 0 or alive[rule] != 0:
                    out[n_written] = rule
                    n_written += 1
    return n_written


@jit
def count_found(found: NDArray[np.int64], number: int, alive: NDArray[np.uint8], n_rules: int) -> int:
    """How many rules were found and live."""
    n_found = 0
    for at in range((n_rules + WORD_BITS - 1) >> WORD_SHIFT):
        word = found[at]
        if (word >> NUMBER_SHIFT) == number:
            left = np.uint64(word & LOW_WORD)
            n_found += n_bits(left)
            while alive.size != 0 and left != np.uint64(0):
                n_found -= alive[(at << WORD_SHIFT) + lowest_bit(left)] == 0
                left &= left - np.uint64(1)
    return n_found

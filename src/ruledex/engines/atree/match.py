"""Matching one event with an A-Tree (a-tree2021, Section 5): upwards from its true literals, level by level.

False and unknown are not told apart, and neither is propagated (zero suppression, Section 5.2.1); an AND is looked at
only when its access child is true (propagation on demand, Section 5.2.2). Truth is one bit per node: 32 of them share
a word with the number of the event that they are of, so that nothing is cleared between events, and what an earlier
event left counts for nothing (the paper's lazy cleaning). Each level has a queue, and those of all levels lie one
behind another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE
from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit, n_bits, prefetch
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.atree.layout import (
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
from ruledex.engines.atree.links import VERIFY
from ruledex.engines.atree.literals import POINT, bucket_of

AHEAD = 8  # how many nodes before its use a line of memory is asked for
WORD_BITS, WORD_SHIFT, NUMBER_SHIFT = 32, 5, 32
LAST_EVENT = 2**31 - 1  # from which on all words must be cleared
FIRST_BIT = np.int64(1)
PACKED = 2  # of `widths`


class TreeIndex(NamedTuple):
    """A tree that is matched: the arrays of a `Tree`, or of one that was packed (see packing.py).

    Nodes lie in one dimension, `widths[0]` columns each, and `widths[1]` are the words of a row of a node's block.
    Where `widths[PACKED]` is 1, the entries of a bucket are sorted by their low ends, and behind them lie the number of
    those that are wider than one cell, and these once more, sorted by their high ends, descending; several rules of a
    node lie side by side; and ORs may be asked.
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
    found: NDArray[np.uint64]  # one bit per rule, all zero between events; it is read from end to end anyway
    queue: NDArray[np.int32]  # [n_nodes] one part per level: true nodes from its front, those to verify from its back
    ends: NDArray[np.int64]  # [n_levels + 2] where the true nodes of each level end so far
    waiting: NDArray[np.int64]  # [n_levels + 2] where those to verify begin so far
    negatives: NDArray[np.int32]  # [n_nodes] negative literals whose presence is there
    event: NDArray[np.int64]  # [1] the number of the last event


@inlined
def is_true(words: NDArray[np.int64], number: int, place: int) -> bool:
    """Return whether a bit is set that is of this event."""
    word = words[place >> WORD_SHIFT]
    return bool((word >> NUMBER_SHIFT) == number and (word >> (place & (WORD_BITS - 1))) & 1 == 1)


@inlined
def set_true(words: NDArray[np.int64], number: int, place: int) -> None:
    """Set a bit for this event."""
    at = place >> WORD_SHIFT
    word = words[at]
    if (word >> NUMBER_SHIFT) != number:
        word = number << NUMBER_SHIFT
    words[at] = word | (FIRST_BIT << (place & (WORD_BITS - 1)))


@jit
def next_event(scratch: MatchScratch) -> int:
    """Return the number of an event that is to be matched now."""
    if scratch.event[0] == LAST_EVENT:
        scratch.truth[:] = 0
        scratch.event[0] = 0
    scratch.event[0] += 1
    return int(scratch.event[0])


@jit
def start_queues(index: TreeIndex, scratch: MatchScratch) -> None:
    """Let the queues of all levels be empty: each lies between `ends` and `waiting` of its level."""
    ends, waiting, begin = scratch.ends, scratch.waiting, 0
    for level in range(index.counts[TOP_LEVEL] + 1):
        ends[level] = begin
        begin += index.levels[level]
        waiting[level] = begin


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
                bucket = bucket_of(centers, center)
                n_entries = centers[bucket, N_ENTRIES] if centers[bucket, CENTER] != FREE else 0
                start = centers[bucket, ENTRIES]
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


@inlined
def holds(heap: NDArray[np.int32], truth: NDArray[np.int64], number: int, child: int) -> bool:
    """Return whether a child is true: it has a bit, or it is an OR that is asked, and one of its own children has."""
    if child >= 0:
        return is_true(truth, number, child)
    place = ~child
    last = place + heap[place]
    while place < last and not is_true(truth, number, heap[place + 1]):
        place += 1
    return bool(place < last)


@jit
def _verify(index: TreeIndex, scratch: MatchScratch, number: int, level: int, end: int) -> None:
    """Set those nodes to true that wait on a level, up to `end`, if all their children are true."""
    nodes, heap, width, step = index.nodes, index.heap, index.widths[0], index.widths[1]
    truth, queue, ends = scratch.truth, scratch.queue, scratch.ends
    n_true = ends[level]
    for place in range(scratch.waiting[level], end):
        if place + 2 * AHEAD < end:
            prefetch(nodes, width * np.int64(queue[place + 2 * AHEAD]))
        if place + AHEAD < end:
            prefetch(heap, np.int64(nodes[width * queue[place + AHEAD] + BLOCK]))
        node = queue[place]
        # The access child comes first, and is known to be true.
        row = nodes[width * node + BLOCK] + step
        last = row + step * (nodes[width * node + N_DOWN] - 1)
        while row < last and holds(heap, truth, number, heap[row]):
            row += step
        if row == last:
            set_true(truth, number, node)
            queue[n_true] = node  # in the place of a node that was verified before, at the furthest
            n_true += 1
    ends[level] = n_true


@inlined
def find_rule(found: NDArray[np.uint64], rule: int) -> None:
    """Set the bit of a rule."""
    place = np.uint64(rule)
    found[place >> SIX] |= ONE << (place & LOW_SIX)


@inlined
def find_rules(
    found: NDArray[np.uint64], rules: NDArray[np.int32], heap: NDArray[np.int32], first: int, is_packed: bool
) -> None:
    """Set the bits of all rules of a node, of which `first` is the first, or says where they lie."""
    if is_packed and first <= RUN:
        place = RUN - first
        for at in range(place + 1, place + 1 + heap[place]):
            find_rule(found, heap[at])
    elif is_packed:
        if first != NO_RULE:
            find_rule(found, first)
    else:
        rule = first
        while rule != NO_RULE:
            find_rule(found, rule)
            rule = rules[rule, NEXT]


@jit
def _fire(index: TreeIndex, scratch: MatchScratch, number: int, begin: int, end: int) -> None:
    """Carry the truth of queued nodes to their rules and their parents."""
    nodes, heap, rules, width = index.nodes, index.heap, index.rules, index.widths[0]
    is_packed = index.widths[PACKED] == 1
    truth, found, queue, ends, waiting = scratch.truth, scratch.found, scratch.queue, scratch.ends, scratch.waiting
    for place in range(begin, end):
        if place + 2 * AHEAD < end:
            prefetch(nodes, width * np.int64(queue[place + 2 * AHEAD]))
        if place + AHEAD < end:
            prefetch(heap, np.int64(nodes[width * queue[place + AHEAD] + FIRE]))
        node = queue[place]
        if nodes[width * node + RULE] != NO_RULE:
            find_rules(found, rules, heap, nodes[width * node + RULE], is_packed)
        entry = nodes[width * node + FIRE]
        last = entry + ROW * nodes[width * node + N_FIRE]
        while entry < last:
            second = heap[entry + 1]
            if second == node or holds(heap, truth, number, second):
                target, flags = heap[entry], heap[entry + 2]
                level = flags >> 1
                if target < 0:
                    find_rule(found, ~target)
                elif flags & VERIFY != 0:
                    waiting[level] -= 1
                    queue[waiting[level]] = target
                elif not is_true(truth, number, target):
                    set_true(truth, number, target)
                    queue[ends[level]] = target
                    ends[level] += 1
            entry += ROW


@jit
def propagate(index: TreeIndex, scratch: MatchScratch, number: int, cells: NDArray[np.int32]) -> None:
    """Set the bits of all rules that are true of an event."""
    start_queues(index, scratch)
    find_rules(scratch.found, index.rules, index.heap, index.counts[ALWAYS_RULE], index.widths[PACKED] == 1)
    _fire(index, scratch, number, 0, true_literals(index, scratch, number, cells))
    begin = index.levels[0] + index.levels[1]
    for level in range(2, index.counts[TOP_LEVEL] + 1):
        end = begin + index.levels[level]
        _verify(index, scratch, number, level, end)
        _fire(index, scratch, number, begin, scratch.ends[level])
        begin = end


@jit
def collect_found(found: NDArray[np.uint64], alive: NDArray[np.uint8], out: NDArray[np.int32]) -> int:
    """Write the rules that were found and live, ascending; return how many. All live where `alive` is empty."""
    n_written = 0
    for at in range(found.size):
        left = found[at]
        found[at] = ZERO
        while left != ZERO:
            rule = (at << 6) + lowest_bit(left)
            left &= left - ONE
            if alive.size == 0 or alive[rule] != 0:
                out[n_written] = rule
                n_written += 1
    return n_written


@jit
def count_found(found: NDArray[np.uint64], alive: NDArray[np.uint8]) -> int:
    """Return how many rules were found and live."""
    n_found = 0
    for at in range(found.size):
        left = found[at]
        found[at] = ZERO
        n_found += n_bits(left)
        while alive.size != 0 and left != ZERO:
            n_found -= alive[(at << 6) + lowest_bit(left)] == 0
            left &= left - ONE
    return n_found

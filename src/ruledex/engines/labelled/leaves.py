"""From an event's true conjunctions to the true leaves of expressions, and from true expressions to rules.

The leaves of all expressions have one numbering: expression by expression, and within one in the order in which its
evaluator wants them. So to sort the annotations of the true conjunctions (fontoura2010, Section 5.3) is to set a bit
for each and to read the bits in order, and an expression that has no true leaf is never looked at.

Nor is one whose rarest part has no true leaf. An AND is true only if each of its children is, so that one child is
enough to lead to it: the conjunctions of the other children have no annotation for it. When it is found, their truth
is looked up by the leaves' own conjunctions, and the evaluator gets the same labels as it would by the paper.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit, prefetch
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.kindex.matching import Owners, collect_rules, mark_rules, matching_conjunctions
from ruledex.engines.kindex.postings import PostingCursors, Postings

BLOCK_BITS = 12  # leaves that share a byte of marks, as a power of two
AHEAD = 8  # how far before its use a line of memory is asked for
# Leaves that are marked in any order and read in ascending order: their bits, and for each 64 words of them a byte that
# says whether there is any. All zero between events.
Marks = tuple[NDArray[np.uint64], NDArray[np.uint8]]


class Annotations(NamedTuple):
    """Where conjunctions stand in expressions, and which rules the expressions are."""

    annotation_offsets: NDArray[np.int32]  # [n_conjunctions + 1]
    annotations: NDArray[np.int32]  # leaves, ascending within a conjunction; of a tested expression the first one
    conjunction_of: NDArray[np.int32]  # [n_leaves]
    expression_of: NDArray[np.int32]  # [n_leaves]
    is_tested: NDArray[np.uint8]  # [n_expressions] whether all its leaves are to be looked at
    expression_offsets: NDArray[np.int32]  # [n_expressions + 1] leaves
    rule_offsets: NDArray[np.int32]  # [n_expressions + 1]
    rules: NDArray[np.int32]  # positions, ascending within an expression


@inlined
def _mark(bits: NDArray[np.uint64], touched: NDArray[np.uint8], number: int) -> None:
    place = np.uint64(number)
    bits[place >> SIX] |= ONE << (place & LOW_SIX)
    touched[place >> np.uint64(BLOCK_BITS)] = 1


@jit
def _take_marked(bits: NDArray[np.uint64], touched: NDArray[np.uint8], out: NDArray[np.int32], n_written: int) -> int:
    """Write the marked numbers, ascending, behind the first `n_written`, and unmark them; return how many there are."""
    for block in range(touched.size):
        if touched[block] == 0:
            continue
        touched[block] = 0
        first = block << (BLOCK_BITS - 6)
        for word in range(first, min(first + (1 << (BLOCK_BITS - 6)), bits.size)):
            left = bits[word]
            bits[word] = ZERO
            while left != ZERO:
                out[n_written] = (word << 6) + lowest_bit(left)
                n_written += 1
                left &= left - ONE
    return n_written


@inlined
def _true_leaves(
    annotations: Annotations,
    true: NDArray[np.uint64],
    marked: NDArray[np.int32],
    out: NDArray[np.int32],
    n_written: int,
) -> int:
    """Write the true leaves of the expressions that `marked` leads to behind the first `n_written`; return how many."""
    conjunction_of, expression_of = annotations.conjunction_of, annotations.expression_of
    is_tested, expression_offsets = annotations.is_tested, annotations.expression_offsets
    for place in range(marked.size):
        if place + 2 * AHEAD < marked.size:
            prefetch(expression_of, np.int64(marked[place + 2 * AHEAD]))
            prefetch(conjunction_of, np.int64(marked[place + 2 * AHEAD]))
            coming = np.int64(expression_of[marked[place + AHEAD]])
            prefetch(is_tested, coming)
            prefetch(expression_offsets, coming)
        expression = expression_of[marked[place]]
        if is_tested[expression] == 0:
            out[n_written] = marked[place]
            n_written += 1
            continue
        for leaf in range(expression_offsets[expression], expression_offsets[expression + 1]):
            conjunction = np.uint64(conjunction_of[leaf])
            out[n_written] = leaf
            n_written += 1 if (true[conjunction >> SIX] >> (conjunction & LOW_SIX)) & ONE != ZERO else 0
    return n_written


@jit
def gather_leaves(
    postings_arrays: tuple[NDArray[Any], ...],
    cursors_arrays: tuple[NDArray[Any], ...],
    annotation_arrays: tuple[NDArray[Any], ...],
    marks: Marks,
    found: NDArray[np.int32],
    true: NDArray[np.uint64],
    marked: NDArray[np.int32],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    leaf_offsets: NDArray[np.int64],
    leaves: NDArray[np.int32],
) -> int:
    """Write the true leaves of events from `first_event` on, as long as there is room for all leaves once more.

    They ascend within an event; `leaf_offsets` gets where those of each event end, and begins with 0. `found` is
    scratch for all conjunctions, `true` one bit per conjunction, none of them set, and `marked` scratch for all leaves.
    Return the event that comes next.
    """
    postings, cursors = Postings(*postings_arrays), PostingCursors(*cursors_arrays)
    of_trees = Annotations(*annotation_arrays)
    annotation_offsets, annotations = of_trees.annotation_offsets, of_trees.annotations
    bits, touched = marks
    event, n_written, n_leaves = first_event, 0, of_trees.conjunction_of.size
    leaf_offsets[0] = 0
    while event < event_offsets.size - 1 and n_written + n_leaves <= leaves.size:
        n_found = matching_conjunctions(postings, cursors, cells, event_offsets[event], event_offsets[event + 1], found)
        for place in range(n_found):
            if place + 2 * AHEAD < n_found:
                prefetch(annotation_offsets, np.int64(found[place + 2 * AHEAD]))
            if place + AHEAD < n_found:
                prefetch(annotations, np.int64(annotation_offsets[found[place + AHEAD]]))
            conjunction = np.uint64(found[place])
            true[conjunction >> SIX] |= ONE << (conjunction & LOW_SIX)
            for annotation in range(annotation_offsets[conjunction], annotation_offsets[conjunction + ONE]):
                _mark(bits, touched, annotations[annotation])
        n_marked = _take_marked(bits, touched, marked, 0)
        n_written = _true_leaves(of_trees, true, marked[:n_marked], leaves, n_written)
        for place in range(n_found):
            true[np.uint64(found[place]) >> SIX] = ZERO
        event += 1
        leaf_offsets[event - first_event] = n_written
    return event


@jit
def write_rules(
    rule_offsets: NDArray[np.int32],
    rules: NDArray[np.int32],
    marks: NDArray[np.uint64],
    alive: NDArray[np.uint8],
    true_offsets: NDArray[np.int64],
    true: NDArray[np.int32],
    n_events: int,
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    """Write the living rules of each event's true expressions, ascending; return how many.

    `offsets` gets where each event's rules end, counted from its first entry, which is given. `marks` has one bit per
    rule.
    """
    owners = Owners(rule_offsets, rules)
    n_written, before = 0, offsets[0]
    for event in range(n_events):
        first, last = true_offsets[event], true_offsets[event + 1]
        mark_rules(owners, true[first:last], last - first, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        offsets[event + 1] = before + n_written
    return n_written

"""How much of an A-Tree an event makes matching touch.

Matching does not count. It leaves behind which nodes are true, and from these all that it did is retraced.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import AND, OR
from ruledex.compiled.decorator import jit
from ruledex.engines.atree.layout import BLOCK, FIRE, N_DOWN, N_FIRE, ON_DEMAND, OP, ROW
from ruledex.engines.atree.links import VERIFY, target_node
from ruledex.engines.atree.match import (
    NUMBER_SHIFT,
    MatchScratch,
    TreeIndex,
    count_found,
    holds,
    is_true,
    next_event,
    propagate,
)
from ruledex.engines.atree.plain import FALSE, TRUE, PlainScratch, Scopes, propagate_plainly

# Nodes are AND and OR; those that one rule is all that they are for are evaluated as often as they are fired, and
# neither remembered nor among the true ones. A node is cleared, or a word of 32 bits, when an event first comes to it.
COUNTED = (
    "literals true",
    "literals false",
    "results propagated",
    "nodes evaluated",
    "children looked at",
    "nodes true",
    "cleared",
    "rules true",
)
N_TRUE_LITERALS, N_FALSE_LITERALS, N_PROPAGATED, N_EVALUATED, N_LOOKED_AT, N_TRUE, N_CLEARED, N_RULES = range(8)


@jit
def _ask(heap: NDArray[np.int32], truth: NDArray[np.int64], number: int, child: int, counts: NDArray[np.int64]) -> bool:
    """Return whether a child is true, with what it takes to see that."""
    counts[N_LOOKED_AT] += 1
    if child < 0:
        counts[N_EVALUATED] += 1
        place = ~child + 1
        last = place + heap[~child]
        while place < last:
            counts[N_LOOKED_AT] += 1
            place = last if is_true(truth, number, heap[place]) else place + 1
    return holds(heap, truth, number, child)


@jit
def _count_fired(index: TreeIndex, scratch: MatchScratch, number: int, node: int, counts: NDArray[np.int64]) -> None:
    """Count what a true node carries to its parents, and what these do then."""
    nodes, heap, width, step = index.nodes, index.heap, index.widths[0], index.widths[1]
    first = nodes[width * node + FIRE]
    for entry in range(first, first + ROW * nodes[width * node + N_FIRE], ROW):
        target, second, flags = heap[entry], heap[entry + 1], heap[entry + 2]
        parent = width * target_node(index.rules, target)
        counts[N_PROPAGATED] += 1
        # An OR that is remembered is evaluated by the first that comes, and so counted with the nodes that are true.
        counts[N_EVALUATED] += nodes[parent + OP] == AND or target < 0
        is_on = second == node or _ask(heap, scratch.truth, number, second, counts)
        if is_on and flags & VERIFY != 0:
            row = nodes[parent + BLOCK] + step
            last = row + step * (nodes[parent + N_DOWN] - 1)
            while row < last and _ask(heap, scratch.truth, number, heap[row], counts):
                row += step


@jit
def _count_propagation(index: TreeIndex, scratch: MatchScratch, number: int, counts: NDArray[np.int64]) -> None:
    """Count what `propagate` did for an event."""
    nodes, width, truth = index.nodes, index.widths[0], scratch.truth
    for word in truth:
        counts[N_CLEARED] += (word >> NUMBER_SHIFT) == number
    for node in range(nodes.size // width):
        if is_true(truth, number, node):
            operation = nodes[width * node + OP]
            counts[N_TRUE if operation <= OR else N_TRUE_LITERALS] += 1
            counts[N_EVALUATED] += operation == OR
            _count_fired(index, scratch, number, node, counts)


@jit
def _count_plain_propagation(
    index: TreeIndex, plain: PlainScratch, switches: int, number: int, carries_false: bool, counts: NDArray[np.int64]
) -> None:
    """Count what `propagate_plainly` did for an event."""
    nodes, width = index.nodes, index.widths[0]
    for node in range(nodes.size // width):
        if plain.event[node] == number:
            row = width * node
            result, is_literal = plain.result[node], nodes[row + OP] > OR
            counts[N_CLEARED] += 1
            counts[N_TRUE_LITERALS] += is_literal and result == TRUE
            counts[N_FALSE_LITERALS] += is_literal and result == FALSE
            counts[N_TRUE] += not is_literal and result == TRUE
            counts[N_EVALUATED] += not is_literal
            if nodes[row + OP] == AND and switches & ON_DEMAND != 0 and plain.n_true[node] > 0:
                counts[N_LOOKED_AT] += nodes[row + N_DOWN]
            if result == TRUE or (result == FALSE and carries_false):
                counts[N_PROPAGATED] += nodes[row + N_FIRE]


@jit
def count_touched(
    index: TreeIndex,
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    switches: int,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Match all events, and add up what that touches in the order of `COUNTED`; `counts` is all zero before.

    The arguments are those of `match_events`.
    """
    no_dead = np.zeros(0, np.uint8)
    for event in range(event_offsets.size - 1):
        number = next_event(scratch)
        its_cells = cells[event_offsets[event] : event_offsets[event + 1]]
        if plain.event.size == 0:
            propagate(index, scratch, number, its_cells)
            _count_propagation(index, scratch, number, counts)
        else:
            propagate_plainly(index, scratch, plain, scopes, switches, number, its_cells)
            _count_plain_propagation(index, plain, switches, number, scopes.first_cell.size != 0, counts)
        counts[N_RULES] += count_found(scratch.found, no_dead)

"""Matching one event with an A-Tree without the paper's two optimisations, or with one of them.

This is Algorithm 6 with Table 2: without zero suppression a node may be true, false or unknown, and false results
are propagated like true ones; without propagation on demand, every child of an AND propagates its result to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import AND
from ruledex.compiled.decorator import jit
from ruledex.compiled.lists import first_at_least
from ruledex.engines.atree.layout import (
    ALWAYS_RULE,
    BLOCK,
    FIRE,
    LEVEL,
    N_DOWN,
    N_FIRE,
    ON_DEMAND,
    OP,
    ROW,
    RULE,
    TOP_LEVEL,
)
from ruledex.engines.atree.links import target_node
from ruledex.engines.atree.match import (
    PACKED,
    MatchScratch,
    TreeIndex,
    find_rules,
    start_queues,
    true_literals,
)

FALSE, TRUE, UNKNOWN = 0, 1, 2


class Scopes(NamedTuple):
    """The literals that an event which has some cell makes true or false, and not unknown; empty if that is not asked.

    A scope begins at a cell and ends where the next one does.
    """

    first_cell: NDArray[np.int32]  # ascending
    offsets: NDArray[np.int32]  # [n_scopes + 1]
    literals: NDArray[np.int32]


class PlainScratch(NamedTuple):
    """What is known of each node, all of the event with the number in `event`."""

    event: NDArray[np.int64]
    n_true: NDArray[np.int32]
    n_false: NDArray[np.int32]
    result: NDArray[np.uint8]


@jit
def _meet(plain: PlainScratch, number: int, node: int) -> bool:
    """Return whether this is the first that the event brings to a node."""
    is_new = plain.event[node] != number
    if is_new:
        plain.event[node] = number
        plain.n_true[node], plain.n_false[node], plain.result[node] = 0, 0, UNKNOWN
    return bool(is_new)


@jit
def combine_truth(operation: int, n_children: int, n_true: int, n_false: int) -> int:
    """Table 2 for any number of operands: those that are neither true nor false are unknown."""
    if operation == AND:
        return FALSE if n_false > 0 else TRUE if n_true == n_children else UNKNOWN
    return TRUE if n_true > 0 else FALSE if n_false == n_children else UNKNOWN


@jit
def _result(index: TreeIndex, plain: PlainScratch, number: int, switches: int, node: int) -> int:
    nodes, heap, width, step = index.nodes, index.heap, index.widths[0], index.widths[1]
    row, n_down = nodes[width * node + BLOCK], nodes[width * node + N_DOWN]
    n_true, n_false, operation = plain.n_true[node], plain.n_false[node], nodes[width * node + OP]
    if operation == AND and switches & ON_DEMAND != 0 and n_true > 0:
        n_true = 0
        for place in range(row, row + step * n_down, step):
            child = heap[place]
            if plain.event[child] == number:
                n_true += plain.result[child] == TRUE
                n_false += plain.result[child] == FALSE
    return combine_truth(operation, n_down, n_true, n_false)


@jit
def _false_literals(
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    number: int,
    cells: NDArray[np.int32],
    n_true: int,
) -> int:
    """Queue the literals that are false; return how long the queue is then."""
    queue, result = scratch.queue, plain.result
    n_queued, scope_before = n_true, -1
    for cell in cells:
        scope = first_at_least(scopes.first_cell, 0, scopes.first_cell.size, cell + 1) - 1
        if scope >= 0 and scope != scope_before:
            scope_before = scope
            for place in range(scopes.offsets[scope], scopes.offsets[scope + 1]):
                literal = scopes.literals[place]
                if _meet(plain, number, literal):
                    result[literal] = FALSE
                    queue[n_queued] = literal
                    n_queued += 1
    return n_queued


@jit
def propagate_plainly(
    index: TreeIndex,
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    switches: int,
    number: int,
    cells: NDArray[np.int32],
) -> None:
    """Set the bits of all rules that are true of an event."""
    nodes, heap, rules, width = index.nodes, index.heap, index.rules, index.widths[0]
    ends, queue = scratch.ends, scratch.queue
    start_queues(index, scratch)
    is_packed = index.widths[PACKED] == 1
    find_rules(scratch.found, rules, heap, index.counts[ALWAYS_RULE], is_packed)
    n_literals = true_literals(index, scratch, number, cells)
    for place in range(n_literals):
        _meet(plain, number, queue[place])
        plain.result[queue[place]] = TRUE
    if scopes.first_cell.size != 0:
        n_literals = _false_literals(scratch, plain, scopes, number, cells, n_literals)
    ends[1] = n_literals
    begin = 0
    for level in range(1, index.counts[TOP_LEVEL] + 1):
        for place in range(begin, ends[level]):
            node = queue[place]
            if level > 1:
                plain.result[node] = _result(index, plain, number, switches, node)
            result = plain.result[node]
            if result == TRUE:
                find_rules(scratch.found, rules, heap, nodes[width * node + RULE], is_packed)
            if result == TRUE or (result == FALSE and scopes.first_cell.size != 0):
                entry = nodes[width * node + FIRE]
                for at in range(entry, entry + ROW * nodes[width * node + N_FIRE], ROW):
                    parent = target_node(rules, heap[at])
                    if _meet(plain, number, parent):
                        parent_level = nodes[width * parent + LEVEL]
                        queue[ends[parent_level]] = parent
                        ends[parent_level] += 1
                    plain.n_true[parent] += result == TRUE
                    plain.n_false[parent] += result == FALSE
        begin += index.levels[level]

"""Every rule against one event, from the root down, leaving a node as soon as its value is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import inlined, jit
from ruledex.kernels.literals import Literals

AND = 0  # as in a Program's node_op
ALWAYS = -1  # as in a Program's root


class Nodes(NamedTuple):
    """The inner nodes of a Program, under the names that they have there."""

    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int64]
    children: NDArray[np.int32]


@inlined
def _literal_holds(
    interval_offsets: NDArray[np.int64],
    interval_low: NDArray[np.int32],
    interval_high: NDArray[np.int32],
    negative_presence: NDArray[np.int32],
    negative_of: NDArray[np.int32],
    node: int,
    before: NDArray[np.int32],
) -> bool:
    """Whether a literal is true of the event whose cells `before` counts."""
    n_positive = interval_offsets.size - 1
    is_negative = node >= n_positive
    literal = negative_of[node - n_positive] if is_negative else node
    holds = False
    for interval in range(interval_offsets[literal], interval_offsets[literal + 1]):
        if before[interval_low[interval]] != before[interval_high[interval] + 1]:
            holds = True
            break
    if is_negative:
        presence = negative_presence[node - n_positive]
        holds = not holds and before[presence] != before[presence + 1]
    return holds


@jit
def scan(
    literals: Literals,
    nodes: Nodes,
    root: NDArray[np.int32],
    alive: NDArray[np.uint8],
    cells: NDArray[np.int32],
    begin: int,
    end: int,
    path: NDArray[np.int64],
    before: NDArray[np.int32],
    out: NDArray[np.int32],
) -> int:
    """Write the positions of the rules that are true of the event, ascending; return their number.

    `alive` is empty where all rules are. `out` has room for all rules. `path` is scratch of two rows, the nodes from a
    root down to the one at hand and the next child of each, as long as the deepest rule. `before` is scratch of one
    entry a cell and one more: how many of the event's cells lie before it, so that two of them answer an interval.
    """
    before[:] = 0
    for place in range(begin, end):
        before[cells[place] + 1] = 1
    for cell in range(1, before.size):
        before[cell] += before[cell - 1]
    offsets, low, high = literals.interval_offsets, literals.interval_low, literals.interval_high
    presence, positive = literals.negative_presence, literals.negative_of
    operations, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    n_literals = offsets.size - 1 + positive.size
    n_found = 0
    for rule in range(root.size):
        node = root[rule]
        holds = node == ALWAYS
        if alive.size != 0 and alive[rule] == 0:
            holds = False
        elif node >= 0 and node < n_literals:
            holds = _literal_holds(offsets, low, high, presence, positive, node, before)
        elif node >= n_literals:
            depth = 0
            path[0, 0], path[1, 0] = node - n_literals, child_offsets[node - n_literals]
            while depth >= 0:
                inner = path[0, depth]
                child = children[path[1, depth]]
                path[1, depth] += 1
                if child >= n_literals:
                    depth += 1
                    path[0, depth], path[1, depth] = child - n_literals, child_offsets[child - n_literals]
                    continue
                holds = _literal_holds(offsets, low, high, presence, positive, child, before)
                # The value goes up as long as it decides a node or was the last one that the node waited for.
                while depth >= 0 and (
                    holds == (operations[inner] != AND) or path[1, depth] == child_offsets[inner + 1]
                ):
                    depth -= 1
                    inner = path[0, max(depth, 0)]
        if holds:
            out[n_found] = rule
            n_found += 1
    return n_found

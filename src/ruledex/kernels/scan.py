"""Every rule against one event, from the root down, leaving a node as soon as its value is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.literals import Literals

AND = 0  # as in a Program's node_op
ALWAYS = -1  # as in a Program's root


class Nodes(NamedTuple):
    """The inner nodes of a Program, under the names that they have there."""

    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int32]
    children: NDArray[np.int32]


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
    n_positive, n_literals = offsets.size - 1, offsets.size - 1 + positive.size
    n_found = 0
    for rule in range(root.size):
        node = root[rule]
        holds = node == ALWAYS
        is_open = node >= 0
        if alive.size != 0 and alive[rule] == 0:
            holds, is_open = False, False
        depth = -1
        while is_open:
            if node >= n_literals:
                depth += 1
                path[0, depth], path[1, depth] = node - n_literals, child_offsets[node - n_literals]
            else:
                # Written out here, since a function of its own would count references to six arrays at each call.
                literal = positive[node - n_positive] if node >= n_positive else node
                interval, last = offsets[literal], offsets[literal + 1]
                while interval < last and before[low[interval]] == before[high[interval] + 1]:
                    interval += 1
                holds = interval < last
                if node >= n_positive:
                    cell = presence[node - n_positive]
                    holds = not holds and before[cell] != before[cell + 1]
                # The value goes up as long as it decides a node or was the last one that the node waited for.
                while depth >= 0:
                    inner = path[0, depth]
                    if holds != (operations[inner] != AND) and path[1, depth] < child_offsets[inner + 1]:
                        break
                    depth -= 1
            is_open = depth >= 0
            if is_open:
                node = children[path[1, depth]]
                path[1, depth] += 1
        if holds:
            out[n_found] = rule
            n_found += 1
    return n_found

"""Every rule against one event, from the root down, leaving a node as soon as its value is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.literals import Literals, literal_holds

AND = 0  # as in a Program's node_op
ALWAYS = -1  # as in a Program's root


class Nodes(NamedTuple):
    """The inner nodes of a Program, under the names that they have there."""

    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int64]
    children: NDArray[np.int32]


@jit
def node_holds(
    literals: Literals,
    nodes: Nodes,
    node: int,
    cells: NDArray[np.int32],
    begin: int,
    end: int,
    path: NDArray[np.int64],
) -> bool:
    """Whether `node` is true of the event. `path` is scratch of two rows, as long as the deepest node is high."""
    n_literals = literals.interval_offsets.size - 1 + literals.negative_of.size
    if node < n_literals:
        return literal_holds(literals, node, cells, begin, end)
    depth = 0
    path[0, 0] = node - n_literals
    path[1, 0] = nodes.child_offsets[node - n_literals]
    while True:
        inner = path[0, depth]
        child = nodes.children[path[1, depth]]
        path[1, depth] += 1
        if child >= n_literals:
            depth += 1
            path[0, depth] = child - n_literals
            path[1, depth] = nodes.child_offsets[child - n_literals]
            continue
        value = literal_holds(literals, child, cells, begin, end)
        # The value goes up as long as it decides a node or was the last one that the node waited for.
        while value == (nodes.node_op[inner] != AND) or path[1, depth] == nodes.child_offsets[inner + 1]:
            if depth == 0:
                return value
            depth -= 1
            inner = path[0, depth]


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
    out: NDArray[np.int32],
) -> int:
    """Write the positions of the rules that are true of the event, ascending; return their number.

    `alive` is empty where all rules are. `out` has room for all rules.
    """
    n_found = 0
    for rule in range(root.size):
        if alive.size != 0 and alive[rule] == 0:
            continue
        node = root[rule]
        if node == ALWAYS or (node >= 0 and node_holds(literals, nodes, node, cells, begin, end, path)):
            out[n_found] = rule
            n_found += 1
    return n_found

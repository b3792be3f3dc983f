"""The literals of leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.scan import ALWAYS, AND, Nodes


@jit
def write_conjunctions(
    nodes: Nodes,
    n_literals: int,
    leaves: NDArray[np.int32],
    stack: NDArray[np.int64],
    offsets: NDArray[np.int64],
    literals: NDArray[np.int32],
) -> None:
    """Write the literals of each leaf, ascending and none twice, and where they end; `offsets` begins with 0.

    `leaves` are nodes as kernels/annotate.py names them. `stack` is scratch of two rows (inner node, next edge), as
    long as the deepest rule.
    """
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    stop = 0
    for place in range(leaves.size):
        leaf, start = leaves[place], stop
        depth, was_dissolved = -1, False
        if leaf >= n_literals:
            depth = 0
            stack[0, 0], stack[1, 0] = leaf - n_literals, child_offsets[leaf - n_literals]
        elif leaf != ALWAYS:
            literals[stop] = leaf
            stop += 1
        while depth >= 0:
            edge = stack[1, depth]
            stack[1, depth] += 1
            if edge == child_offsets[stack[0, depth] + 1]:
                depth -= 1
                continue
            below = children[edge] - n_literals
            if below < 0:
                literals[stop] = children[edge]
                stop += 1
            elif node_op[below] == AND:
                was_dissolved = True
                depth += 1
                stack[0, depth], stack[1, depth] = below, child_offsets[below]
        if was_dissolved:
            literals[start:stop].sort()
            last = stop
            stop = start
            for other in range(start, last):
                if stop == start or literals[stop - 1] != literals[other]:
                    literals[stop] = literals[other]
                    stop += 1
        offsets[place + 1] = stop

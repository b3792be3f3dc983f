"""Dewey IDs (fontoura2010, Section 3.1): a leaf by the numbers of the edges from the root to it.

The root is an AND, an artificial one if need be. A component is twice an edge's number, counted from 1, plus 1 where
the edge is marked (the paper's *), which the last child of an AND is. In bytes a component takes seven bits of each,
the lowest first, and the highest bit of a byte says that more follow: mostly one byte is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.annotate import LEAF, Trees
from ruledex.kernels.jit import inlined, jit
from ruledex.kernels.scan import AND

MORE = 128  # the bit of a byte that is not the last of its component
ONLY_CHILD = 3  # 1*, the component of what stands below an artificial root


@inlined
def component_at(labels: NDArray[np.uint8], place: int) -> tuple[int, int]:
    """The component that begins at `place`, and where the next one does."""
    byte = int(labels[place])
    place += 1
    component = byte
    if byte >= MORE:
        component, shift = byte & (MORE - 1), 7
        while byte >= MORE:
            byte = int(labels[place])
            place += 1
            component |= (byte & (MORE - 1)) << shift
            shift += 7
    return component, place


@jit
def label_leaves(
    trees: Trees,
    n_trees: int,
    stack: NDArray[np.int64],
    leaves: NDArray[np.int32],
    lengths: NDArray[np.int32],
    labels: NDArray[np.uint8],
) -> int:
    """Write the nodes of all leaves in pre-order, how many bytes each ID has, and the IDs one after the other.

    Return how many bytes all IDs have; what `labels` has no room for is counted only. `stack` is scratch of three rows
    (node, number of its children so far, component), two longer than the deepest tree.
    """
    kind, end, node = trees.kind, trees.end, trees.node
    n_leaves, n_bytes = 0, 0
    for tree in range(n_trees):
        first = trees.offsets[tree]
        depth = 0  # of the edge to the node at hand
        for n in range(first, trees.offsets[tree + 1]):
            if n == first:
                if kind[n] != AND:
                    stack[2, 0], depth = ONLY_CHILD, 1
            else:
                while end[stack[0, depth - 1]] <= n:
                    depth -= 1
                parent = stack[0, depth - 1]
                stack[1, depth - 1] += 1
                is_marked = kind[parent] == AND and end[parent] == end[n]
                stack[2, depth - 1] = 2 * stack[1, depth - 1] + (1 if is_marked else 0)
            if kind[n] == LEAF:
                start = n_bytes
                for place in range(depth):
                    rest = stack[2, place]
                    is_written = False
                    while not is_written:
                        is_written = rest < MORE
                        if n_bytes < labels.size:
                            labels[n_bytes] = rest if is_written else (rest & (MORE - 1)) | MORE
                        n_bytes += 1
                        rest >>= 7
                leaves[n_leaves], lengths[n_leaves] = node[n], n_bytes - start
                n_leaves += 1
            else:
                stack[0, depth], stack[1, depth] = n, 0
                depth += 1
    return n_bytes

"""The trees that fontoura2010 labels (Section 2): a Program's nodes unfolded, with conjunctions as leaves.

A leaf is as large a conjunction of literals as can be: the literals of an AND node are one leaf together, a literal
below an OR node is a leaf alone, and an AND node of literals alone is a leaf itself. An AND below an AND and an OR
below an OR are dissolved in the node above, so that AND and OR alternate on every path.

A leaf is named by the node that it comes from: a literal, an AND node whose literals are meant, or ALWAYS for the
conjunction of nothing, the tree of a rule that is true of every event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import AND
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import Nodes

LEAF = 2
MANY = 1 << 40  # counts do not grow past it
_NOTHING = -1  # the operation above a root
_DISSOLVED = -1  # in place of a node of the tree


class Trees(NamedTuple):
    """Several trees, one after the other, each in pre-order. The arrays may be longer than what is used of them."""

    offsets: NDArray[np.int64]  # [n_trees + 1]
    kind: NDArray[np.uint8]  # AND, OR or LEAF
    end: NDArray[np.int32]  # where the node's descendants end, counted as `offsets` is
    node: NDArray[np.int32]  # of a leaf, the Program's node


@jit
def count_leaves(nodes: Nodes, n_literals: int, n_leaves: NDArray[np.int64], n_joined: NDArray[np.int64]) -> None:
    """Write for each inner node how many leaves its tree has, and how many literals the leaf of an AND node itself.

    Both stop at MANY. A literal that dissolved AND nodes bring along counts as often as it comes.
    """
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    for inner in range(node_op.size):
        is_and = node_op[inner] == AND
        leaves, joined = 0, 0
        for edge in range(child_offsets[inner], child_offsets[inner + 1]):
            below = children[edge] - n_literals
            if below < 0:
                joined += 1
                continue
            leaves = min(leaves + n_leaves[below], MANY)
            if is_and and n_joined[below] > 0:
                leaves -= 1
                joined = min(joined + n_joined[below], MANY)
        n_leaves[inner] = leaves + (min(joined, 1) if is_and else joined)
        n_joined[inner] = joined if is_and else 0


@jit
def unfold(
    nodes: Nodes,
    n_literals: int,
    n_leaves: NDArray[np.int64],
    n_joined: NDArray[np.int64],
    roots: NDArray[np.int32],
    stack: NDArray[np.int64],
    trees: Trees,
) -> None:
    """Write the trees of `roots`, which are nodes or ALWAYS; the leaf of an AND node is its first child.

    `trees` has room for two nodes per leaf: each node above leaves has two children or more. `stack` is scratch of
    three rows (inner node, next edge, place in the trees), as long as the deepest rule.
    """
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    offsets, kind, end, leaf = trees.offsets, trees.kind, trees.end, trees.node
    n_written = 0
    for tree in range(roots.size):
        offsets[tree] = n_written
        node, above, depth = roots[tree], _NOTHING, -1
        is_open = True
        while is_open:
            inner = node - n_literals
            if inner >= 0 and n_leaves[inner] > 1:
                opened = _DISSOLVED
                if node_op[inner] != above:
                    opened = n_written
                    kind[n_written] = node_op[inner]
                    n_written += 1
                    if n_joined[inner] > 0:
                        kind[n_written], end[n_written], leaf[n_written] = LEAF, n_written + 1, node
                        n_written += 1
                depth += 1
                stack[0, depth], stack[1, depth], stack[2, depth] = inner, child_offsets[inner], opened
            elif above != AND:  # below an AND it is part of that node's own leaf
                kind[n_written], end[n_written], leaf[n_written] = LEAF, n_written + 1, node
                n_written += 1
            while depth >= 0 and stack[1, depth] == child_offsets[stack[0, depth] + 1]:
                if stack[2, depth] != _DISSOLVED:
                    end[stack[2, depth]] = n_written
                depth -= 1
            is_open = depth >= 0
            if is_open:
                above, node = node_op[stack[0, depth]], children[stack[1, depth]]
                stack[1, depth] += 1
    offsets[roots.size] = n_written


@jit
def list_annotations(
    conjunctions: NDArray[np.int32],
    leads_to: NDArray[np.int32],
    offsets: NDArray[np.int32],
    annotations: NDArray[np.int32],
) -> None:
    """Write for each conjunction the leaves that it leads to, ascending; `conjunctions` has the one of each leaf.

    `leads_to` has for each leaf the one that its conjunction leads to, or -1, and ascends where it is not -1. `offsets`
    is all zero, and gets where each conjunction's leaves begin and the last one's end.
    """
    for leaf in range(conjunctions.size):
        offsets[conjunctions[leaf] + 1] += 1 if leads_to[leaf] >= 0 else 0
    for conjunction in range(1, offsets.size):
        offsets[conjunction] += offsets[conjunction - 1]
    # While leaves are written, an offset moves from where a list begins to where it ends.
    for leaf in range(conjunctions.size):
        if leads_to[leaf] >= 0:
            conjunction = conjunctions[leaf]
            annotations[offsets[conjunction]] = leads_to[leaf]
            offsets[conjunction] += 1
    for conjunction in range(offsets.size - 1, 0, -1):
        offsets[conjunction] = offsets[conjunction - 1]
    offsets[0] = 0

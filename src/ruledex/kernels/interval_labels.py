"""Interval IDs (fontoura2010, Section 4.2): each leaf of a tree as an interval of integers, both ends inside.

The tree itself has the interval from 1 to M. The children of an OR have the interval of their parent, those of an AND
cut it into parts, and no two children of ANDs, the first ones left out, begin at the same place. A tree is then true if
and only if intervals of true leaves cover 1 to M without overlap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.annotate import LEAF, Trees
from ruledex.kernels.jit import jit
from ruledex.kernels.scan import AND


@jit
def label(
    trees: Trees,
    tree: int,
    m: int,
    left_leaves: NDArray[np.int32],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
) -> None:
    """Write the intervals of a tree's nodes: Algorithm 4, with each node before its children instead of recursion.

    All three arrays have an entry for each node of all trees. `m` is the number of the tree's leaves or more;
    `left_leaves` is scratch: how many leaves of the tree come before a node in pre-order.
    """
    kind, subtree_end = trees.kind, trees.end
    first, last = trees.offsets[tree], trees.offsets[tree + 1]
    n_leaves = 0
    for n in range(first, last):
        left_leaves[n] = n_leaves
        n_leaves += 1 if kind[n] == LEAF else 0
    begin[first], end[first] = 1, m
    for n in range(first, last):
        if kind[n] == LEAF:
            continue
        curr = begin[n]
        c = np.int64(n + 1)
        while c < subtree_end[n]:
            after = np.int64(subtree_end[c])
            size = (left_leaves[after] if after < last else n_leaves) - left_leaves[c]
            begin[c], end[c] = begin[n], end[n]
            if kind[n] == AND:
                begin[c] = curr
                if c == n + 1:
                    end[c] = left_leaves[n] + size
                elif after != subtree_end[n]:
                    end[c] = curr + size - 1
                curr = end[c] + 1
            c = after


@jit
def label_sorted(
    trees: Trees,
    n_trees: int,
    scratch: NDArray[np.int32],
    counts: NDArray[np.int32],
    leaves: NDArray[np.int32],
    begins: NDArray[np.int32],
    ends: NDArray[np.int32],
) -> None:
    """Write the nodes and the intervals of all leaves, within a tree by where they begin. M is the number of leaves.

    `scratch` is three rows of an entry for each node of all trees, `counts` two longer than the most leaves of a tree.
    """
    kind, node = trees.kind, trees.node
    left_leaves, begin, end = scratch[0], scratch[1], scratch[2]
    first_leaf = 0
    for tree in range(n_trees):
        first, last = trees.offsets[tree], trees.offsets[tree + 1]
        m = 0
        for n in range(first, last):
            m += 1 if kind[n] == LEAF else 0
        label(trees, tree, m, left_leaves, begin, end)
        counts[: m + 2] = 0
        for n in range(first, last):
            if kind[n] == LEAF:
                counts[begin[n] + 1] += 1
        for place in range(1, m + 1):
            counts[place] += counts[place - 1]
        for n in range(first, last):
            if kind[n] == LEAF:
                leaf = first_leaf + counts[begin[n]]
                counts[begin[n]] += 1
                leaves[leaf], begins[leaf], ends[leaf] = node[n], begin[n], end[n]
        first_leaf += m

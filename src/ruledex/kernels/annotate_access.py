"""Which leaves lead to an expression: those of its access set (an AND through one child, an OR through all)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.annotate import LEAF, OR, Trees
from ruledex.kernels.jit import jit


@jit
def choose_access(trees: Trees, n_trees: int, how_often: NDArray[np.float64], is_chosen: NDArray[np.uint8]) -> None:
    """Choose leaves of each tree so that at least one of them is true where the tree is, and few are otherwise.

    `how_often` says of the leaves how often they are true, and gets for the other nodes how often the leaves that were
    chosen below them are, together. `is_chosen` gets 1 for the leaves that were chosen, and is 0 before.
    """
    kind, end = trees.kind, trees.end
    for n in range(trees.offsets[n_trees] - 1, -1, -1):  # children before their parents
        if kind[n] == LEAF:
            continue
        total, least = 0.0, np.inf
        child = np.int64(n + 1)
        while child < end[n]:
            total += how_often[child]
            least = min(least, how_often[child])
            child = np.int64(end[child])
        how_often[n] = total if kind[n] == OR else least
    for tree in range(n_trees):
        is_chosen[trees.offsets[tree]] = 1
    for n in range(trees.offsets[n_trees]):
        if kind[n] == LEAF or is_chosen[n] == 0:
            continue
        is_chosen[n] = 0
        child, is_found = np.int64(n + 1), False
        while child < end[n]:
            if kind[n] == OR or (not is_found and how_often[child] == how_often[n]):
                is_chosen[child], is_found = 1, True
            child = np.int64(end[child])


@jit
def annotate_expressions(
    expression_offsets: NDArray[np.int32],
    is_chosen: NDArray[np.uint8],
    most_tested: int,
    is_tested: NDArray[np.uint8],
    leads_to: NDArray[np.int32],
) -> None:
    """Write for each leaf which one it is annotated with, or -1 where it leads to nothing.

    An expression of which some leaves were not chosen is *tested*: whichever leaf leads to it, it is found by its
    first one, and all its leaves are looked at. Where all were chosen, or there are more than `most_tested`, each leaf
    is annotated with itself.
    """
    for expression in range(expression_offsets.size - 1):
        first, last = expression_offsets[expression], expression_offsets[expression + 1]
        n_chosen = 0
        for leaf in range(first, last):
            n_chosen += is_chosen[leaf]
        tested = n_chosen < last - first <= most_tested
        is_tested[expression] = 1 if tested else 0
        for leaf in range(first, last):
            leads_to[leaf] = leaf
            if tested:
                leads_to[leaf] = first if is_chosen[leaf] != 0 else -1

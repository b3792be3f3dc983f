"""A tree that will not change any more, packed for matching: nothing but what that needs, and in a better order.

Literals that an event makes true together lie together, as do other nodes that are often true, with what they fire in
the same order, so that an event touches fewer lines of memory. Blocks hold nothing but children, and have neither room
to grow nor a word for their size. Several rules of one node lie behind what it fires, with their number before them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.atree_layout import (
    AND,
    BLOCK,
    FIRE,
    KEY,
    N_DOWN,
    N_FIRE,
    N_MATCH_COLUMNS,
    NEGATIVE,
    NEXT,
    NO_RULE,
    OP,
    OR,
    ROW,
    RULE,
    RUN,
)
from ruledex.kernels.atree_match import TreeIndex
from ruledex.kernels.jit import jit


@jit
def guess_chances(index: TreeIndex, order: NDArray[np.int64], chance: NDArray[np.float64]) -> None:
    """Find how often each AND and OR is true from what is known of literals, as if children knew nothing of each other.

    `order` has all nodes, children before parents.
    """
    nodes, heap, width = index.nodes, index.heap, index.widths[0]
    for node in order:
        row = width * node
        if nodes[row + OP] <= OR:
            all_true, none_true = 1.0, 1.0
            start = nodes[row + BLOCK]
            for place in range(start, start + ROW * nodes[row + N_DOWN], ROW):
                all_true *= chance[heap[place]]
                none_true *= 1.0 - chance[heap[place]]
            chance[node] = all_true if nodes[row + OP] == AND else 1.0 - none_true


@jit
def pack(
    index: TreeIndex,
    order: NDArray[np.int64],
    names: NDArray[np.int32],
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
) -> int:
    """Write nodes in the order given, under the `names` that they have by it, and what is theirs; return how much.

    The heap must be as long as they have entries, children, and rules where there are several.
    """
    given, old, rules, width = index.nodes, index.heap, index.rules, index.widths[0]
    top = 0
    for place in range(order.size):
        node, row = width * order[place], N_MATCH_COLUMNS * place
        for column in range(N_MATCH_COLUMNS):
            nodes[row + column] = given[node + column]
        start = given[node + FIRE]
        nodes[row + FIRE] = top
        for entry in range(start, start + ROW * given[node + N_FIRE], ROW):
            heap[top] = names[old[entry]] if old[entry] >= 0 else old[entry]
            heap[top + 1] = names[old[entry + 1]]
            heap[top + 2] = old[entry + 2]
            top += ROW
        rule = given[node + RULE]
        if rule != NO_RULE and rules[rule, NEXT] != NO_RULE:
            first = top
            nodes[row + RULE] = RUN - first
            while rule != NO_RULE:
                top += 1
                heap[top] = rule
                rule = rules[rule, NEXT]
            heap[first] = top - first
            top += 1
    for place in range(order.size):
        node, row = width * order[place], N_MATCH_COLUMNS * place
        start = given[node + BLOCK]
        nodes[row + BLOCK] = top
        if given[node + OP] <= OR:
            for child in range(given[node + N_DOWN]):
                heap[top] = names[old[start + ROW * child]]
                top += 1
        elif given[node + OP] == NEGATIVE:
            nodes[row + KEY] = names[given[node + KEY]]
    return top

"""A tree that will not change any more, packed for matching: nothing but what that needs, and in a better order.

Literals that an event makes true together lie together, as do other nodes that the same child leads to, and a node
fires its parents in their order, so that an event touches fewer lines of memory. Blocks hold nothing but children, and
have neither room to grow nor a word for their size. Several rules of one node lie behind what it fires, with their
number before them.

An OR that has no rule and fires nothing, since no AND has it as its access child, may be *asked*: nothing is carried up
to it, and the ANDs that need it look at its children themselves. This takes propagation on demand a step further than
the paper does, and spares half of what is fired on rules like its Ads. Where such an OR is a child or a second there
stands ~place; at that place of the heap lie the number of its children, and these, behind the first AND that asks it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.atree_layout import (
    AND,
    BLOCK,
    CHILD,
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
    UP,
)
from ruledex.kernels.atree_match import TreeIndex
from ruledex.kernels.jit import inlined, jit

NOWHERE = -1  # of a block that is not written as yet


@jit
def guess_leads(
    index: TreeIndex, order: NDArray[np.int64], chance: NDArray[np.float64], lead: NDArray[np.int32]
) -> None:
    """Find of each AND and OR the child that leads to it most often: of an AND the access child, by which it is fired.

    How often each is true is found on the way from what `chance` has of literals, as if children knew nothing of each
    other. `order` has all nodes, children before parents.
    """
    nodes, heap, width = index.nodes, index.heap, index.widths[0]
    for node in order:
        row = width * node
        if nodes[row + OP] <= OR:
            all_true, none_true = 1.0, 1.0
            start = nodes[row + BLOCK]
            lead[node] = heap[start]
            for place in range(start, start + ROW * nodes[row + N_DOWN], ROW):
                child = heap[place]
                all_true *= chance[child]
                none_true *= 1.0 - chance[child]
                if nodes[row + OP] == OR and chance[child] > chance[lead[node]]:
                    lead[node] = child
            chance[node] = all_true if nodes[row + OP] == AND else 1.0 - none_true


@jit
def pack(
    index: TreeIndex,
    order: NDArray[np.int64],
    names: NDArray[np.int32],
    is_asked: NDArray[np.bool_],
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
) -> int:
    """Write nodes in the order given, under the `names` that they have by it, and what is theirs; return how much.

    The heap must be as long as nodes have entries but for those of ORs that are asked, children, the numbers of
    children of these ORs, and rules where a node has several.
    """
    given, width = index.nodes, index.widths[0]
    for place in range(order.size):
        for column in range(N_MATCH_COLUMNS):
            nodes[N_MATCH_COLUMNS * place + column] = given[width * order[place] + column]
        if is_asked[order[place]]:
            nodes[N_MATCH_COLUMNS * place + BLOCK] = NOWHERE
            start = given[width * order[place] + BLOCK]
            for link in range(start, start + ROW * given[width * order[place] + N_DOWN], ROW):
                nodes[N_MATCH_COLUMNS * names[index.heap[link + CHILD]] + N_FIRE] -= 1
    top = _put_rules(index.rules, nodes, heap)
    for place in range(order.size):
        row = N_MATCH_COLUMNS * place
        if nodes[row + OP] == NEGATIVE:
            nodes[row + KEY] = names[nodes[row + KEY]]
        elif nodes[row + OP] <= OR and not is_asked[order[place]]:
            top = _put_block(index, names, is_asked, nodes, heap, order[place], top)
            _put_entries(index, names, is_asked, nodes, heap, order[place])
    return top


@inlined
def _put_rules(rules: NDArray[np.int32], nodes: NDArray[np.int32], heap: NDArray[np.int32]) -> int:
    """Leave room for what each node fires, so that its number is none as yet, and write its rules behind if several."""
    top = 0
    for row in range(0, nodes.size, N_MATCH_COLUMNS):
        nodes[row + FIRE] = top
        top += ROW * nodes[row + N_FIRE]
        nodes[row + N_FIRE] = 0
        rule = nodes[row + RULE]
        if rule != NO_RULE and rules[rule, NEXT] != NO_RULE:
            first = top
            nodes[row + RULE] = RUN - first
            while rule != NO_RULE:
                top += 1
                heap[top] = rule
                rule = rules[rule, NEXT]
            heap[first] = top - first
            top += 1
    return top


@inlined
def _reference(nodes: NDArray[np.int32], names: NDArray[np.int32], is_asked: NDArray[np.bool_], child: int) -> int:
    """What stands for a child where its truth is wanted."""
    return int(~nodes[N_MATCH_COLUMNS * names[child] + BLOCK] if is_asked[child] else names[child])


@inlined
def _put_block(
    index: TreeIndex,
    names: NDArray[np.int32],
    is_asked: NDArray[np.bool_],
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    node: int,
    top: int,
) -> int:
    """Write a node's children, and behind them those of the ORs that it is the first to ask."""
    old, row = index.heap, N_MATCH_COLUMNS * names[node]
    link, block = index.nodes[index.widths[0] * node + BLOCK], top
    nodes[row + BLOCK] = block
    top += nodes[row + N_DOWN]
    for place in range(block, top):
        child = old[link + CHILD]
        below = N_MATCH_COLUMNS * names[child]
        if is_asked[child] and nodes[below + BLOCK] == NOWHERE:
            nodes[below + BLOCK] = top
            heap[top] = nodes[below + N_DOWN]
            start = index.nodes[index.widths[0] * child + BLOCK]
            for its_link in range(start, start + ROW * nodes[below + N_DOWN], ROW):
                top += 1
                heap[top] = names[old[its_link + CHILD]]
            top += 1
        heap[place] = _reference(nodes, names, is_asked, child)
        link += ROW
    return top


@inlined
def _put_entries(
    index: TreeIndex,
    names: NDArray[np.int32],
    is_asked: NDArray[np.bool_],
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    node: int,
) -> None:
    """Let those children fire a node that did, behind what they fire already."""
    old, given = index.heap, index.widths[0] * node
    start = index.nodes[given + BLOCK]
    for link in range(start, start + ROW * index.nodes[given + N_DOWN], ROW):
        if old[link + UP] >= 0:
            child = old[link + CHILD]
            fired = index.nodes[index.widths[0] * child + FIRE] + ROW * old[link + UP]
            below = N_MATCH_COLUMNS * names[child]
            entry = nodes[below + FIRE] + ROW * nodes[below + N_FIRE]
            nodes[below + N_FIRE] += 1
            heap[entry] = names[old[fired]] if old[fired] >= 0 else old[fired]
            heap[entry + 1] = _reference(nodes, names, is_asked, old[fired + 1])
            heap[entry + 2] = old[fired + 2]

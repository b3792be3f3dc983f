"""A tree that will not change any more, packed for matching: only what matching needs, and in a better order.

Literals that an event makes true together lie together, as do other nodes that the same child leads to, and a node
fires its parents in their order, so that an event touches fewer lines of memory. Blocks hold nothing but children, and
have neither room to grow nor a word for their size. Several rules of one node lie behind what it fires, with their
number before them.

An OR that has no rule and fires nothing, since no AND has it as its access child, may be *asked*: nothing is propagated
to it, and the ANDs that need it look at its children themselves. This takes propagation on demand a step further than
the paper does, and spares half of what is fired on rules like its Ads. Where such an OR is a child or a second child,
~place stands in its stead; at that place of the heap lie the number of its children and the children, behind the first
AND that asks it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE, frozen
from ruledex.compiled.constants import ALWAYS, AND, OR
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.atree.layout import (
    ALWAYS_RULE,
    BLOCK,
    CENTER,
    CHILD,
    ENTRIES,
    FIRE,
    KEY,
    LEVEL,
    N_DOWN,
    N_ENTRIES,
    N_FIRE,
    N_MATCH_COLUMNS,
    N_NODES,
    NEGATIVE,
    NEXT,
    NO_RULE,
    OP,
    ROOT,
    ROW,
    RULE,
    RUN,
    TOP_LEVEL,
    UP,
)
from ruledex.engines.atree.match import TreeIndex
from ruledex.engines.atree.plain import Scopes
from ruledex.engines.atree.tree import GrowingTree

NOWHERE = -1  # of a block that is not written as yet
NO_SCOPES = Scopes(*(frozen(np.zeros(0), np.int32) for _ in Scopes._fields))


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
    """Return what stands for a child where its truth is wanted."""
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


class _Entries(NamedTuple):
    """All intervals that hang in the buckets of an index."""

    bucket: NDArray[np.int64]
    center: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    literal: NDArray[np.int32]
    is_negative: NDArray[np.bool_]


def _entries_of(index: TreeIndex) -> _Entries:
    buckets = np.flatnonzero(index.centers[:, CENTER] != FREE)
    n_entries = index.centers[buckets, N_ENTRIES].astype(np.int64)
    within = np.arange(n_entries.sum()) - np.repeat(np.cumsum(n_entries) - n_entries, n_entries)
    bucket = np.repeat(buckets, n_entries)
    place = index.centers[bucket, ENTRIES] + ROW * within
    low, high, entry = index.heap[place], index.heap[place + 1], index.heap[place + 2]
    return _Entries(bucket, index.centers[bucket, CENTER], low, high, np.where(entry >= 0, entry, ~entry), entry < 0)


def scopes_of(index: TreeIndex, first_cells: NDArray[np.int32]) -> Scopes:
    """For each range of cells, by its first, the literals that have their first interval, or their presence, in it."""
    entries = _entries_of(index)
    order = np.lexsort((entries.low, entries.literal))
    is_first = np.diff(entries.literal[order], prepend=-1) > 0
    low, literal = entries.low[order][is_first], entries.literal[order][is_first]
    scope = np.searchsorted(first_cells, low, side="right") - 1
    order = np.argsort(scope, kind="stable")
    offsets = np.searchsorted(scope[order], np.arange(len(first_cells) + 1))
    return Scopes(frozen(first_cells, np.int32), frozen(offsets, np.int32), frozen(literal[order], np.int32))


def pack_tree(tree: GrowingTree, literal_chance: NDArray[np.float64]) -> TreeIndex:
    """Return the index of a tree whose first nodes are the literals of a Program, and which has lost none.

    Without zero suppression all results are carried upwards, so that no OR is asked.
    """
    index = tree.index()
    width = int(index.widths[0])
    n_nodes, n_levels = int(index.counts[N_NODES]), int(index.counts[TOP_LEVEL]) + 2
    index = index._replace(nodes=index.nodes[: width * n_nodes], levels=index.levels[:n_levels])
    rows = index.nodes.reshape(n_nodes, width)
    entries = _entries_of(index)
    is_asked = (rows[:, OP] == OR) & (rows[:, N_FIRE] == 0) & (rows[:, RULE] == NO_RULE)
    is_asked &= tree.switches.zero_suppression and tree.switches.propagation_on_demand
    order = _order(index, rows, entries, literal_chance, is_asked)
    names = np.empty(n_nodes, np.int32)
    names[order] = np.arange(n_nodes, dtype=np.int32)

    is_inner = rows[:, OP] <= OR
    n_fired = int(rows[:, N_FIRE].sum()) - int(rows[is_asked, N_DOWN].sum())
    n_down = int(rows[is_inner, N_DOWN].sum()) + int(is_asked.sum())
    n_words = ROW * n_fired + n_down + _words_of_rules(index.rules)
    nodes, heap = np.empty(N_MATCH_COLUMNS * n_nodes, np.int32), np.empty(n_words, np.int32)
    pack(index, order, names, is_asked, nodes, heap)
    always = np.flatnonzero(index.rules[:, ROOT] == ALWAYS)
    counts = index.counts.copy()
    if len(always) > 1:
        counts[ALWAYS_RULE] = RUN - n_words
        heap = np.concatenate([heap, [len(always)], always])
    buckets, centers = _buckets(index, entries, names, len(heap))
    rules = index.rules.copy()
    is_node = rules[:, ROOT] >= 0
    rules[is_node, ROOT] = names[rules[is_node, ROOT]]
    return TreeIndex(
        frozen(nodes, np.int32),
        frozen(np.concatenate([heap, buckets]), np.int32),
        frozen(rules, np.int32),
        frozen(centers, np.int32),
        frozen(index.levels, np.int32),
        frozen(counts, np.int64),
        frozen(np.array([N_MATCH_COLUMNS, 1, 1]), np.int64),
    )


def _words_of_rules(rules: NDArray[np.int32]) -> int:
    """Return what nodes of several rules need for these and for their number."""
    n_rules = np.bincount(rules[rules[:, ROOT] >= 0, ROOT])
    return int(np.sum(n_rules[n_rules > 1] + 1))


def _order(
    index: TreeIndex,
    rows: NDArray[np.int32],
    entries: _Entries,
    literal_chance: NDArray[np.float64],
    is_asked: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Literals in the order in which cells meet them and, level by level, nodes in that of the children leading there.

    Within a level those come last that are asked, and that need no bit.
    """
    by_bucket = np.lexsort((entries.low, entries.center))
    literals, first = np.unique(entries.literal[by_bucket], return_index=True)
    n_literals, level = len(literal_chance), rows[:, LEVEL]
    met = np.full(n_literals, len(by_bucket))
    met[literals] = first
    bottom_up = np.argsort(level, kind="stable")
    chance, lead = np.zeros(len(rows)), np.zeros(len(rows), np.int32)
    chance[:n_literals] = literal_chance
    guess_leads(index, bottom_up, chance, lead)
    order = bottom_up.copy()
    order[:n_literals] = np.argsort(met, kind="stable")
    place = np.empty(len(rows), np.int64)
    place[order[:n_literals]] = np.arange(n_literals)
    bounds = np.searchsorted(level[bottom_up], np.arange(2, level.max(initial=1) + 2)).tolist()
    for begin, end in pairwise(bounds):
        nodes = bottom_up[begin:end]
        order[begin:end] = nodes[np.lexsort((place[lead[nodes]], is_asked[nodes]))]
        place[order[begin:end]] = np.arange(begin, end)
    return order


def _buckets(
    index: TreeIndex, entries: _Entries, names: NDArray[np.int32], first_word: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the words of all buckets, each sorted both ways, and the centers, which say where each lies."""
    by_low = np.lexsort((entries.low, entries.center))
    by_high = np.lexsort((-entries.high.astype(np.int64), entries.center))
    by_high = by_high[entries.low[by_high] < entries.high[by_high]]
    buckets, n_low = np.unique(entries.bucket, return_counts=True)
    number = np.searchsorted(buckets, entries.bucket)
    n_high = np.bincount(number[by_high], minlength=len(buckets))
    # Buckets lie in the order of their centers, as their entries come.
    in_order = np.argsort(index.centers[buckets, CENTER])
    sizes = ROW * (n_low + n_high) + 1
    starts = np.zeros(len(buckets), np.int64)
    starts[in_order] = np.cumsum(sizes[in_order]) - sizes[in_order]
    words = np.zeros(int(sizes.sum()), np.int32)
    words[starts + ROW * n_low] = n_high
    named = names[entries.literal]
    rows = np.stack([entries.low, entries.high, np.where(entries.is_negative, ~named, named)], axis=1)
    for chosen, before, counts in ((by_low, 0, n_low), (by_high, ROW * n_low + 1, n_high)):
        ends = np.cumsum(counts[in_order])
        within = np.arange(len(chosen)) - np.repeat(ends - counts[in_order], counts[in_order])
        place = (starts + before)[number[chosen]] + ROW * within
        for word in range(ROW):
            words[place + word] = rows[chosen, word]
    centers = index.centers.copy()
    centers[buckets, ENTRIES] = first_word + starts
    return words, centers

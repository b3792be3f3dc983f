"""Trees packed for matching (see kernels/atree_pack.py), and what their buckets tell of literals."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.atree_tree import GrowingTree
from ruledex.engines.inputs import frozen
from ruledex.kernels.atree_layout import (
    ALWAYS,
    ALWAYS_RULE,
    CENTER,
    ENTRIES,
    LEVEL,
    N_DOWN,
    N_ENTRIES,
    N_FIRE,
    N_MATCH_COLUMNS,
    N_NODES,
    NO_RULE,
    OP,
    OR,
    ROOT,
    ROW,
    RULE,
    RUN,
    TOP_LEVEL,
)
from ruledex.kernels.atree_match import TreeIndex
from ruledex.kernels.atree_pack import guess_leads, pack
from ruledex.kernels.atree_plain import Scopes
from ruledex.kernels.growing import FREE

NO_SCOPES = Scopes(*(frozen(np.zeros(0), np.int32) for _ in Scopes._fields))


class _Entries(NamedTuple):
    """All intervals that hang in the buckets of an index."""

    slot: NDArray[np.int64]  # of the bucket
    center: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    literal: NDArray[np.int32]
    is_negative: NDArray[np.bool_]


def _entries_of(index: TreeIndex) -> _Entries:
    slots = np.flatnonzero(index.centers[:, CENTER] != FREE)
    n_entries = index.centers[slots, N_ENTRIES].astype(np.int64)
    within = np.arange(n_entries.sum()) - np.repeat(np.cumsum(n_entries) - n_entries, n_entries)
    slot = np.repeat(slots, n_entries)
    place = index.centers[slot, ENTRIES] + ROW * within
    low, high, entry = index.heap[place], index.heap[place + 1], index.heap[place + 2]
    return _Entries(slot, index.centers[slot, CENTER], low, high, np.where(entry >= 0, entry, ~entry), entry < 0)


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


def packed(tree: GrowingTree, literal_chance: NDArray[np.float64]) -> TreeIndex:
    """The index of a tree whose first nodes are the literals of a Program, and which has lost none.

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
    """What nodes of several rules need for these and for their number."""
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
    """The words of all buckets, each sorted both ways, and the centers, which say where each lies."""
    by_low = np.lexsort((entries.low, entries.center))
    by_high = np.lexsort((-entries.high.astype(np.int64), entries.center))
    by_high = by_high[entries.low[by_high] < entries.high[by_high]]
    slots, n_low = np.unique(entries.slot, return_counts=True)
    number = np.searchsorted(slots, entries.slot)
    n_high = np.bincount(number[by_high], minlength=len(slots))
    # Buckets lie in the order of their centers, as their entries come.
    in_order = np.argsort(index.centers[slots, CENTER])
    sizes = ROW * (n_low + n_high) + 1
    starts = np.zeros(len(slots), np.int64)
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
    centers[slots, ENTRIES] = first_word + starts
    return words, centers

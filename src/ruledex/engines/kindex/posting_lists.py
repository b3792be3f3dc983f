"""Make posting lists of the uses of items, for conjunctions and for CNF expressions.

Items are partitioned by their size K, and by a predicate that leads many items of one size. A *use* is what one
predicate says of an item: a source (a set of keys) and a code. Uses come item by item, in the order of the items'
numbers, and their codes ascend within an item. Lists are counted first, then filled.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import LARGEST
from ruledex.engines.kindex.cursors import NONE
from ruledex.engines.kindex.hierarchy import LEVEL_BITS, Hierarchy, Sources, with_shared_sets
from ruledex.engines.kindex.postings import PostingCursors, Postings, most_lists
from ruledex.errors import RuledexError
from ruledex.events.batch import EventBatch

NO_LEAD = -1
N_LED = 256  # items that a partition with a lead has at the least: each cuts lists, and a list has a head
N_ROUNDS = 4  # in which leads that few items chose are given up


@jit
def pick_leads(
    offsets: NDArray[np.int64],
    group: NDArray[np.int32],
    n_needed: int,
    probability: NDArray[np.float64],
    n_items: NDArray[np.int64],
    lead: NDArray[np.int64],
) -> None:
    """Write the place of each item's lead among its candidates `offsets[i]` to `offsets[i + 1]`, or `NO_LEAD`.

    A candidate belongs to a group, of one source and one K, and may lead while its group has `n_needed` items; of
    those the least probable leads. `n_items` says how many items each group may have, and is left as how many it has.
    """
    for item in range(offsets.size - 1):
        best = NO_LEAD
        for place in range(offsets[item], offsets[item + 1]):
            is_open = n_items[group[place]] >= n_needed
            if is_open and (best == NO_LEAD or probability[place] < probability[best]):
                best = place
        lead[item] = best
    n_items[:] = 0
    for item in range(lead.size):
        if lead[item] != NO_LEAD:
            n_items[group[lead[item]]] += 1


class Partitions(NamedTuple):
    """Items in the order of their numbers, cut where K or the lead changes, or entries would outgrow their integer."""

    size: NDArray[np.int32]  # K, the lead not counted
    shift: NDArray[np.int32]
    first: NDArray[np.int32]
    lead: NDArray[np.int32]  # a source, or NO_LEAD


def choose_leads(
    sizes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    candidates: NDArray[np.int32],
    probability: NDArray[np.float64],
) -> NDArray[np.int32]:
    """Return for each item the source that opens its partition, or `NO_LEAD`.

    Any of the sources `candidates[offsets[i]:offsets[i + 1]]` must be true where item i is. The rarer a lead, the
    seldomer its partition is looked at.
    """
    lead = np.full(len(sizes), NO_LEAD, np.int32)
    if len(sizes) < N_LED:
        return lead
    pairs = np.repeat(sizes, np.diff(offsets)) << 32 | candidates
    _, group, n_items = np.unique(pairs, return_inverse=True, return_counts=True)
    group, n_items = frozen(group, np.int32), n_items.astype(np.int64)
    of_candidate = frozen(probability[candidates], np.float64)
    place = np.zeros(len(sizes), np.int64)
    for _ in range(N_ROUNDS):
        pick_leads(offsets, group, N_LED, of_candidate, n_items, place)
    led = np.flatnonzero(place != NO_LEAD)
    led = led[n_items[group[place[led]]] >= N_LED]
    lead[led] = candidates[place[led]]
    return lead


def make_partitions(sizes: NDArray[np.int64], lead: NDArray[np.int32], n_codes: NDArray[np.int64]) -> Partitions:
    """Return partitions of items in their order, whose K are `sizes`; `n_codes` is one more than the largest code."""
    size: list[int] = []
    shift: list[int] = []
    first: list[int] = []
    is_start = (np.diff(sizes, prepend=-1) != 0) | (np.diff(lead, prepend=NO_LEAD) != 0)
    for begin, end in pairwise([*np.flatnonzero(is_start).tolist(), len(sizes)]):
        bits = int(n_codes[begin:end].max() - 1).bit_length()
        for part in range(begin, end, max(LARGEST >> bits, 1)):
            size.append(int(sizes[begin]) - (lead[begin] != NO_LEAD))
            shift.append(bits)
            first.append(part)
    return Partitions(
        frozen(np.array(size), np.int32),
        frozen(np.array(shift), np.int32),
        frozen(np.array([*first, len(sizes)]), np.int32),
        lead[np.array(first, np.int64)],
    )


class Uses(NamedTuple):
    """The uses of all items, and the keys of each source."""

    offsets: NDArray[np.int64]  # [n_items + 1]
    source: NDArray[np.int32]
    code: NDArray[np.int32]
    key_offsets: NDArray[np.int64]  # [n_sources + 1]
    keys: NDArray[np.int32]  # nodes of the hierarchy


@jit
def count_postings(uses: Uses, node_offsets: NDArray[np.int64]) -> None:
    """Write to `node_offsets`, which is all zero, where the postings of each node begin and end."""
    source, key_offsets, keys = uses.source, uses.key_offsets, uses.keys
    for use in range(source.size):
        for place in range(key_offsets[source[use]], key_offsets[source[use] + 1]):
            node_offsets[keys[place] + 1] += 1
    for node in range(node_offsets.size - 1):
        node_offsets[node + 1] += node_offsets[node]


@jit
def write_postings(
    uses: Uses, next_place: NDArray[np.int64], items: NDArray[np.int32], codes: NDArray[np.int32]
) -> None:
    """Write each node's postings by item and code; `next_place` is where each node's begin, and is moved on."""
    offsets, source, code = uses.offsets, uses.source, uses.code
    key_offsets, keys = uses.key_offsets, uses.keys
    for item in range(offsets.size - 1):
        for use in range(offsets[item], offsets[item + 1]):
            for place in range(key_offsets[source[use]], key_offsets[source[use] + 1]):
                node = keys[place]
                items[next_place[node]], codes[next_place[node]] = item, code[use]
                next_place[node] += 1


@jit
def write_lists(
    node_offsets: NDArray[np.int64],
    items: NDArray[np.int32],
    codes: NDArray[np.int32],
    partition_first: NDArray[np.int32],
    partition_shift: NDArray[np.int32],
    node_lists: NDArray[np.int32],
    list_partition: NDArray[np.int32],
    list_offsets: NDArray[np.int64],
    entries: NDArray[np.int32],
) -> tuple[int, int]:
    """Write the lists of each node; return how many lists and entries there are.

    A list has an item once: an item's n-th code of one key goes to the key's n-th list, and a code that it has twice
    is written once. With an empty `list_partition` only `node_lists` is written, so that a first call tells how much
    room a second one needs.
    """
    writes = list_partition.size != 0
    n_lists, n_entries = 0, 0
    for node in range(node_offsets.size - 1):
        begin, node_end = node_offsets[node], node_offsets[node + 1]
        partition = 0
        while begin < node_end:
            while items[begin] >= partition_first[partition + 1]:
                partition += 1
            end = begin
            rank, n_copies = 0, 0
            while end < node_end and items[end] < partition_first[partition + 1]:
                if end > begin and items[end] == items[end - 1]:
                    rank += 1 if codes[end] != codes[end - 1] else 0
                else:
                    rank = 0
                n_copies = max(n_copies, rank + 1)
                end += 1
            for copy in range(n_copies):
                rank = 0
                for place in range(begin, end):
                    is_same = place > begin and items[place] == items[place - 1]
                    is_twice = is_same and codes[place] == codes[place - 1]
                    if not is_same:
                        rank = 0
                    elif not is_twice:
                        rank += 1
                    if rank == copy and not is_twice:
                        if writes:
                            number = items[place] - partition_first[partition]
                            entries[n_entries] = (number << partition_shift[partition]) | codes[place]
                        n_entries += 1
                if writes:
                    list_partition[n_lists], list_offsets[n_lists + 1] = partition, n_entries
                n_lists += 1
            begin = end
        node_lists[node + 1] = n_lists
    return n_lists, n_entries


@jit
def note_levels(hierarchy: Hierarchy, node_is_used: NDArray[np.bool_], domain_levels: NDArray[np.int64]) -> None:
    """Note which levels of each domain an event has to look at; `domain_levels` is all zero before."""
    domain_offsets, domain_nodes = hierarchy.domain_offsets, hierarchy.domain_nodes
    for domain in range(domain_levels.size):
        node, level = domain_nodes[domain], 0
        last = domain_offsets[domain + 1] - domain_offsets[domain] - 1
        while node < domain_nodes[domain + 1]:
            for within in range(last + 1):
                if node_is_used[node + within]:
                    domain_levels[domain] |= 1 << level
            node, last, level = node + last + 1, last >> LEVEL_BITS, level + 1


def make_postings(
    sources: Sources,
    partitions: Partitions,
    use_offsets: NDArray[np.int64],
    use_source: NDArray[np.int32],
    use_code: NDArray[np.int32],
    item: NDArray[np.int32],
) -> Postings:
    """Return the lists of all uses, which come item by item in the order of the partitions."""
    n_tree_nodes = sources.n_nodes
    sources = with_shared_sets(sources, np.bincount(use_source, minlength=sources.n_sources))
    node_lists, list_partition, list_offsets, entries = _make_lists(
        Uses(
            frozen(use_offsets, np.int64),
            frozen(use_source, np.int32),
            frozen(use_code, np.int32),
            frozen(sources.key_offsets, np.int64),
            frozen(sources.keys, np.int32),
        ),
        sources.n_nodes,
        partitions,
    )
    open_offsets, opens = _make_opens(sources, partitions)
    is_used = (np.diff(node_lists) > 0) | (np.diff(open_offsets) > 0)
    is_used = is_used[:n_tree_nodes] | (np.diff(sources.link_offsets) > 0)
    domain_levels = np.zeros(len(sources.hierarchy.domain_offsets) - 1, np.int64)
    note_levels(sources.hierarchy, is_used, domain_levels)
    return Postings(
        *sources.hierarchy,
        frozen(domain_levels, np.int64),
        frozen(sources.link_offsets, np.int32),
        frozen(sources.links, np.int32),
        frozen(open_offsets, np.int32),
        frozen(opens, np.int32),
        frozen(node_lists, np.int32),
        frozen(list_partition, np.int32),
        frozen(list_offsets, np.int64),
        frozen(entries, np.int32),
        partitions.size,
        partitions.shift,
        partitions.first,
        frozen(partitions.lead != NO_LEAD, np.uint8),
        frozen(item, np.int32),
    )


def _make_lists(
    uses: Uses, n_nodes: int, partitions: Partitions
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    node_offsets = np.zeros(n_nodes + 1, np.int64)
    count_postings(uses, node_offsets)
    items, codes = np.zeros(node_offsets[-1], np.int32), np.zeros(node_offsets[-1], np.int32)
    write_postings(uses, node_offsets[:-1].copy(), items, codes)
    by_node = node_offsets, items, codes, partitions.first, partitions.shift
    node_lists = np.zeros(n_nodes + 1, np.int32)
    nothing = np.zeros(0, np.int32)
    n_lists, n_entries = write_lists(*by_node, node_lists, nothing, np.zeros(0, np.int64), nothing)
    if n_lists > LARGEST:
        raise RuledexError(f"the rules need {n_lists:,} posting lists, more than {LARGEST:,}; build several indexes")
    list_partition, list_offsets = np.zeros(n_lists, np.int32), np.zeros(n_lists + 1, np.int64)
    entries = np.zeros(n_entries, np.int32)
    write_lists(*by_node, node_lists, list_partition, list_offsets, entries)
    return node_lists, list_partition, list_offsets, entries


def _make_opens(sources: Sources, partitions: Partitions) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return which partitions each node opens."""
    led = np.flatnonzero(partitions.lead != NO_LEAD)
    first, last = sources.key_offsets[partitions.lead[led]], sources.key_offsets[partitions.lead[led] + 1]
    keys = [sources.keys[begin:end] for begin, end in zip(first.tolist(), last.tolist(), strict=True)]
    nodes = np.concatenate([np.zeros(0, np.int32), *keys])
    order = np.argsort(nodes, kind="stable")
    opened = np.repeat(led, last - first)[order].astype(np.int32)
    return np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=sources.n_nodes))]), opened


def new_cursors(postings: Postings, batch: EventBatch, ranked: bool = False) -> PostingCursors:
    """Return cursors for any event of the batch, whose arrays are frozen; with room for bounds if they are ranked."""
    n_partitions = len(postings.partition_size)
    is_open = np.zeros(n_partitions, np.uint8)
    n_nodes, n_lists = most_lists(postings, batch.offsets, batch.cells, is_open)
    n_items = int(np.diff(postings.partition_first).max(initial=0)) + 1
    return PostingCursors(
        is_open,
        np.zeros(n_partitions + 1, np.int64),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int64),
        np.empty(n_lists + 1, np.int32),
        np.empty(n_lists + 1, np.int64),
        np.empty(n_lists + 1 if ranked else 0, np.float64),
        np.empty(n_lists, np.int64),
        np.empty(n_lists, np.int64),
        np.empty(n_lists, np.int32),
        np.empty(n_lists, np.int32),
        np.empty(n_lists, np.int32),
        np.full(n_items, NONE, np.int32),
        np.zeros(n_items, np.uint32),
        np.zeros((n_items >> 6) + 1, np.uint64),
    )

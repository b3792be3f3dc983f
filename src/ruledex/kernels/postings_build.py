"""From what items say of their keys to posting lists: counted, then filled.

A *use* is what one predicate says of an item: a source (a set of keys) and a code. Uses come item by item, in the
order of the items' numbers, and their codes ascend within an item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.hierarchy import LEVEL_BITS, Hierarchy
from ruledex.kernels.jit import jit


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

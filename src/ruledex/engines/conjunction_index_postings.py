"""Posting lists from the uses of items, for conjunctions and for CNF expressions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.engines.conjunction_index_partitions import LARGEST, Partitions
from ruledex.engines.hierarchy import Sources, with_shared_sets
from ruledex.engines.inputs import array_of, frozen
from ruledex.engines.protocol import Arrays
from ruledex.errors import RuledexError
from ruledex.kernels.postings import Cursors, Postings, most_lists
from ruledex.kernels.postings_build import Uses, count_postings, note_levels, write_lists, write_postings
from ruledex.kernels.postings_cursors import NONE
from ruledex.kernels.postings_leads import NO_LEAD

WIDTHS: dict[str, type[np.generic]] = {
    "domain_levels": np.int64,
    "list_offsets": np.int64,
    "partition_opened": np.uint8,
}


def make_postings(
    sources: Sources,
    partitions: Partitions,
    use_offsets: NDArray[np.int64],
    use_source: NDArray[np.int32],
    use_code: NDArray[np.int32],
    item: NDArray[np.int32],
) -> Postings:
    """The lists of all uses, which come item by item in the order of the partitions."""
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
    """Which partitions each node opens."""
    led = np.flatnonzero(partitions.lead != NO_LEAD)
    first, last = sources.key_offsets[partitions.lead[led]], sources.key_offsets[partitions.lead[led] + 1]
    keys = [sources.keys[begin:end] for begin, end in zip(first.tolist(), last.tolist(), strict=True)]
    nodes = np.concatenate([np.zeros(0, np.int32), *keys])
    order = np.argsort(nodes, kind="stable")
    opened = np.repeat(led, last - first)[order].astype(np.int32)
    return np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=sources.n_nodes))]), opened


def stored_postings(arrays: Arrays) -> Postings:
    """The posting lists among stored arrays."""
    return Postings(**{name: array_of(arrays, name, WIDTHS.get(name, np.int32)) for name in Postings._fields})


def new_cursors(postings: Postings, batch: EventBatch, ranked: bool = False) -> Cursors:
    """Cursors for any event of the batch, whose arrays are frozen; with room for bounds where they are to be ranked."""
    n_partitions = len(postings.partition_size)
    is_open = np.zeros(n_partitions, np.uint8)
    n_nodes, n_lists = most_lists(postings, batch.offsets, batch.cells, is_open)
    n_items = int(np.diff(postings.partition_first).max(initial=0)) + 1
    return Cursors(
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

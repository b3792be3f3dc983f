"""How much of posting lists an event makes the algorithms touch. Counted apart, so that matching does not count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.postings import Cursors, ListBounds, Postings, get_posting_lists
from ruledex.kernels.postings_states import are_noted

COUNTED = ("partitions", "lists", "entries noted", "entries in lists that skip", "lists of closed partitions")


@jit
def count_postings_touched(
    index: Postings,
    scratch: Cursors,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Add up, in the order of `COUNTED`, what the events lead to; `counts` is all zero before.

    Partitions with fewer lists than K, and their lists, are not counted. What lists that skip pass over is not known
    without moving them: all their entries are counted.
    """
    none = scratch.bounds
    node_lists, partition_size, partition_shift = index.node_lists, index.partition_size, index.partition_shift
    partition_lists, place_of, end_of, nodes = scratch.partition_lists, scratch.place, scratch.end, scratch.nodes
    for event in range(event_offsets.size - 1):
        begin, end = event_offsets[event], event_offsets[event + 1]
        n_nodes = get_posting_lists(index, scratch, ListBounds(none, none), cells, none, begin, end, 1.0)
        for position in range(n_nodes):
            counts[4] += node_lists[nodes[position] + 1] - node_lists[nodes[position]]
        counts[4] -= partition_lists[partition_lists.size - 1]
        for partition in range(partition_size.size):
            first, last = partition_lists[partition], partition_lists[partition + 1]
            k = max(partition_size[partition], 1)
            if last - first < k:
                continue
            counts[0] += 1
            counts[1] += last - first
            is_noted = are_noted(first, last, k, partition_shift[partition], place_of, end_of)
            for cursor in range(first, last):
                counts[2 if is_noted else 3] += end_of[cursor] - place_of[cursor]

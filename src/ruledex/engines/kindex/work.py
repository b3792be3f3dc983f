"""What events make the engines over posting lists touch, counted apart so that matching does not count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import frozen_batch
from ruledex.engines.kindex.matching import Disjunctions, expression_numbers
from ruledex.engines.kindex.posting_lists import new_cursors
from ruledex.engines.kindex.postings import ListBounds, PostingCursors, Postings, are_noted, get_posting_lists
from ruledex.engines.protocol import Work, averages
from ruledex.events.batch import EventBatch

COUNTED = ("partitions", "lists", "entries noted", "entries in lists that skip", "lists of closed partitions")


@jit
def count_postings_touched(
    index: Postings,
    scratch: PostingCursors,
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


def postings_work(index: Postings, batch: EventBatch) -> Work:
    """Of posting lists, for an event on average."""
    batch = frozen_batch(batch)
    counts = np.zeros(len(COUNTED), np.int64)
    count_postings_touched(index, new_cursors(index, batch), batch.offsets, batch.cells, counts)
    return averages(dict(zip(COUNTED, counts.tolist(), strict=True)), batch)


def true_items(index: Postings, disjunctions: Disjunctions, batch: EventBatch) -> list[NDArray[np.int32]]:
    """Return the numbers of the items that are true of each event. Of conjunctions, `disjunctions` is empty."""
    batch = frozen_batch(batch)
    cursors = new_cursors(index, batch)
    counters = np.zeros(int(disjunctions.n_disjunctions.max(initial=0)), np.int64)
    out = np.zeros(int(index.partition_first[-1]), np.int32)
    found = []
    for begin, end in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        n_found = expression_numbers(index, disjunctions, cursors, counters, batch.cells, begin, end, out)
        found.append(out[:n_found].copy())
    return found

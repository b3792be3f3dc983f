"""The IR-tree (Section 3.1): an interval tree whose nodes have R-trees in place of lists.

A node's intervals, the best first, lie in chunks of at most `branching`; each chunk has an extent, every `branching`
chunks one above it, and so on. All intervals of a node hold its pivot, so that an extent has no holes: where a query
meets the extent, it meets one of the intervals. Chunks may have room to spare, so that intervals come and go.

A query's place in a node is the number of the chunk and, in the lowest bits, the place within the chunk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import inlined, jit
from ruledex.ranked.cursor import NOT_STARTED, TreeCursors, add_to_heap, replace_best
from ruledex.ranked.skeleton import visit

OFFSET_BITS = 24
OFFSET_MASK = (1 << OFFSET_BITS) - 1

# What `used` counts.
ENTRIES, CHUNKS, UPPER, NODES, IDS, DEPTH = 0, 1, 2, 3, 4, 5
IRTreeArrays = tuple[NDArray[Any], ...]


class IRTreeIndex(NamedTuple):
    """Several trees in the same arrays, which may be longer than what is used of them."""

    used: NDArray[np.int64]  # entries, chunks, extents above the chunks', nodes, ids, and nodes on the longest way
    branching: NDArray[np.int64]  # [1]
    roots: NDArray[np.int32]  # [n_trees] nodes
    pivot: NDArray[np.float64]  # by node, from here on
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    size: NDArray[np.int32]  # intervals of the node and of all below it
    first_chunk: NDArray[np.int32]
    n_chunks: NDArray[np.int32]
    chunk_room: NDArray[np.int32]  # chunks that the node may have where its chunks are
    first_upper: NDArray[np.int32]  # the extents above the chunks': each level follows the one below it
    chunk_start: NDArray[np.int32]  # by chunk, from here on: its first entry
    chunk_count: NDArray[np.int32]
    chunk_capacity: NDArray[np.int32]
    chunk_ends: NDArray[np.float64]  # pairs: the chunk's extent
    upper: NDArray[np.float64]  # pairs
    ends: NDArray[np.float64]  # pairs, by entry
    ids: NDArray[np.int32]
    score: NDArray[np.float64]  # by id


@inlined
def fitting_chunk(
    chunk_ends: NDArray[np.float64],
    upper: NDArray[np.float64],
    first_chunk: int,
    n_chunks: int,
    first_upper: int,
    branching: int,
    chunk: int,
    low: float,
    high: float,
) -> int:
    """Return the first chunk of a node from `chunk` on whose extent overlaps [low, high], or `n_chunks`."""
    # One way out of this and of what calls it: with several, Numba counts references to the arrays.
    level, place, start, size = 0, chunk, 0, n_chunks
    goes_up, is_found = True, False
    while place < size and not is_found:
        while goes_up and size > branching and place % branching == 0:
            start = start + size if level > 0 else first_upper
            level, place, size = level + 1, place // branching, (size + branching - 1) // branching
        end = min((place // branching + 1) * branching, size)
        if level == 0:
            while place < end and not (
                chunk_ends[2 * (first_chunk + place)] <= high and chunk_ends[2 * (first_chunk + place) + 1] >= low
            ):
                place += 1
            is_found = place < end
        else:
            while place < end and not (upper[2 * (start + place)] <= high and upper[2 * (start + place) + 1] >= low):
                place += 1
        goes_up = place == end
        if not goes_up and not is_found:
            place, level = place * branching, level - 1
            start, size = first_upper, n_chunks
            for above in range(level):
                start = start + size if above > 0 else first_upper
                size = (size + branching - 1) // branching
    return place if is_found else n_chunks


@inlined
def _next_fit(
    ends: NDArray[np.float64],
    chunk_start: NDArray[np.int32],
    chunk_count: NDArray[np.int32],
    chunk_ends: NDArray[np.float64],
    upper: NDArray[np.float64],
    first_chunk: int,
    n_chunks: int,
    first_upper: int,
    branching: int,
    place: int,
    low: float,
    high: float,
) -> int:
    """Return the first place in a node, from `place` on, whose entry overlaps [low, high], or the last chunk's end."""
    chunk, offset = place >> OFFSET_BITS, place & OFFSET_MASK
    count = chunk_count[first_chunk + chunk] if offset > 0 else 0
    entry = chunk_start[first_chunk + chunk] + offset if offset > 0 else 0
    chunk -= 0 if offset > 0 else 1
    while chunk < n_chunks:
        while offset < count and not (ends[2 * entry] <= high and ends[2 * entry + 1] >= low):
            offset, entry = offset + 1, entry + 1
        if offset < count:
            break
        chunk = fitting_chunk(chunk_ends, upper, first_chunk, n_chunks, first_upper, branching, chunk + 1, low, high)
        if chunk < n_chunks:
            offset, entry, count = 0, chunk_start[first_chunk + chunk], chunk_count[first_chunk + chunk]
    return (chunk << OFFSET_BITS) + (offset if chunk < n_chunks else 0)


@jit
def fill_from_irtree(
    index_arrays: IRTreeArrays,
    trees: NDArray[np.int32],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    cursors: TreeCursors,
    fresh: bool,
    wanted: NDArray[np.int64],
    out_ids: NDArray[np.int32],
    out_scores: NDArray[np.float64],
    n_filled: NDArray[np.int64],
) -> None:
    """For each query, write the intervals of its tree that overlap [low, high] until there are as many as wanted.

    Rows go on where they stood, each at its own cursor; or, if `fresh`, all start anew and share the first one.
    """
    index = IRTreeIndex(*index_arrays)
    first_chunks, n_chunks, first_uppers = index.first_chunk, index.n_chunks, index.first_upper
    chunk_start, chunk_count, chunk_ends = index.chunk_start, index.chunk_count, index.chunk_ends
    upper, ends, ids, score = index.upper, index.ends, index.ids, index.score
    branching = index.branching[0]
    for row in range(trees.size):
        cursor = 0 if fresh else row
        places, nodes = cursors.place[cursor], cursors.node[cursor]
        heap_score, heap_id, heap_column = (
            cursors.heap_score[cursor],
            cursors.heap_id[cursor],
            cursors.heap_column[cursor],
        )
        n_held, n_found, query_low, query_high = cursors.n_held[cursor], n_filled[row], low[row], high[row]
        n_to_start = 0
        if fresh or n_held == NOT_STARTED:
            n_held = 0
            root = index.roots[trees[row]]
            n_to_start = visit(index.pivot, index.left, index.right, root, query_low, query_high, nodes)
            places[:n_to_start] = 0
        # Each column is started first, and then the one that stands on top goes on.
        while n_to_start > 0 or (n_held > 0 and n_found < wanted[row]):
            starts = n_to_start > 0
            if starts:
                n_to_start -= 1
                column = n_to_start
            else:
                column = int(heap_column[0])
                out_ids[row, n_found], out_scores[row, n_found] = heap_id[0], heap_score[0]
                n_found += 1
            node = nodes[column]
            first_chunk = first_chunks[node]
            place = _next_fit(
                ends,
                chunk_start,
                chunk_count,
                chunk_ends,
                upper,
                first_chunk,
                n_chunks[node],
                first_uppers[node],
                branching,
                places[column],
                query_low,
                query_high,
            )
            places[column] = place + 1
            if place >> OFFSET_BITS < n_chunks[node]:
                identity = ids[chunk_start[first_chunk + (place >> OFFSET_BITS)] + (place & OFFSET_MASK)]
                if starts:
                    n_held = add_to_heap(heap_score, heap_id, heap_column, n_held, score[identity], identity, column)
                else:
                    replace_best(heap_score, heap_id, heap_column, n_held, score[identity], identity, column)
            elif not starts:
                n_held -= 1
                replace_best(
                    heap_score, heap_id, heap_column, n_held, heap_score[n_held], heap_id[n_held], heap_column[n_held]
                )
        cursors.n_held[cursor], n_filled[row] = n_held, n_found

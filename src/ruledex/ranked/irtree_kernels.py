"""The IR-tree (Section 3.1): an interval tree whose nodes have R-trees in place of lists. Its arrays, and queries.

A node's intervals, the best first, lie in chunks of at most `branching`; each chunk has an extent, every `branching`
chunks one above it, and so on. All intervals of a node hold its pivot, so that an extent has no holes: where a query
meets the extent, it meets one of the intervals. Chunks may have room to spare, so that intervals come and go.

A query's place in a node is the number of the chunk and, in the lowest bits, the place within the chunk.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.inputs import dtypes_of
from ruledex.ranked.interval_tree import NO_NODE, Skeleton, skeleton_of, visit
from ruledex.ranked.intervals import Entries, Floats
from ruledex.ranked.rtree import check_branching
from ruledex.ranked.tree import NOT_STARTED, TreeCursors, add_to_heap, drop_best, replace_best

OFFSET_BITS = 24
OFFSET_MASK = (1 << OFFSET_BITS) - 1

# What `used` counts.
ENTRIES, CHUNKS, UPPER, NODES, IDS, DEPTH = 0, 1, 2, 3, 4, 5
IRTreeArrays = tuple[NDArray[Any], ...]
Item = TypeVar("Item", bound=np.generic)
BY_NODE = ("pivot", "left", "right", "size", "first_chunk", "n_chunks", "chunk_room", "first_upper")
BY_CHUNK = ("chunk_start", "chunk_count", "chunk_capacity")
COUNTED = {
    **dict.fromkeys(BY_NODE, (NODES, 1)),
    **dict.fromkeys(BY_CHUNK, (CHUNKS, 1)),
    "chunk_ends": (CHUNKS, 2),
    "upper": (UPPER, 2),
    "ends": (ENTRIES, 2),
    "ids": (ENTRIES, 1),
    "score": (IDS, 1),
}  # which count of `used` says how much of an array is in use, and how many numbers each takes


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
    """Write for each query the intervals of its tree that overlap [low, high], until there are as many as wanted.

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
        heap_score, heap_id = cursors.heap_score[cursor], cursors.heap_id[cursor]
        heap_column = cursors.heap_column[cursor]
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
                n_held = drop_best(heap_score, heap_id, heap_column, n_held)
        cursors.n_held[cursor], n_filled[row] = n_held, n_found


@inlined
def upper_size(n_chunks: int, branching: int) -> int:
    """Return how many extents there are above the extents of `n_chunks` chunks."""
    total = 0
    while n_chunks > branching:
        n_chunks = (n_chunks + branching - 1) // branching
        total += n_chunks
    return total


@inlined
def renew_chunk(
    chunk_start: NDArray[np.int32],
    chunk_count: NDArray[np.int32],
    chunk_ends: NDArray[np.float64],
    ends: NDArray[np.float64],
    chunk: int,
) -> None:
    """Compute the extent of a chunk that is not empty."""
    first = chunk_start[chunk]
    low, high = ends[2 * first], ends[2 * first + 1]
    for entry in range(first + 1, first + chunk_count[chunk]):
        low, high = min(low, ends[2 * entry]), max(high, ends[2 * entry + 1])
    chunk_ends[2 * chunk], chunk_ends[2 * chunk + 1] = low, high


@inlined
def renew_upper(
    chunk_ends: NDArray[np.float64],
    upper: NDArray[np.float64],
    first_chunk: int,
    n_chunks: int,
    first_upper: int,
    branching: int,
    first_changed: int,
    last_changed: int,
) -> None:
    """Compute the extents above chunks that have changed."""
    below, level, size, first, last = first_chunk, 0, n_chunks, first_changed, last_changed
    start = first_upper
    while size > branching:
        first, last = first // branching, last // branching
        for group in range(first, last + 1):
            begin, end = group * branching, min((group + 1) * branching, size)
            low, high = np.inf, -np.inf
            for place in range(2 * (below + begin), 2 * (below + end), 2):
                low = min(low, chunk_ends[place] if level == 0 else upper[place])
                high = max(high, chunk_ends[place + 1] if level == 0 else upper[place + 1])
            upper[2 * (start + group)], upper[2 * (start + group) + 1] = low, high
        size = (size + branching - 1) // branching
        below, start, level = start, start + size, level + 1


@jit
def sizes_of(skeleton: Skeleton, branching: int) -> tuple[int, int]:
    """Return how many chunks a skeleton's nodes need, and how many extents above the chunks'."""
    n_chunks, n_upper = 0, 0
    for node in range(skeleton.first.size):
        of_node = (skeleton.last[node] - skeleton.first[node] + branching - 1) // branching
        n_chunks += of_node
        n_upper += upper_size(of_node, branching)
    return n_chunks, n_upper


@jit
def append_skeleton(
    index_arrays: IRTreeArrays,
    node_of: NDArray[np.int32],
    skeleton: Skeleton,
    order: NDArray[np.int32],
    new_ends: NDArray[np.float64],
    new_ids: NDArray[np.int32],
    root: int,
) -> None:
    """Make a skeleton's nodes nodes of the index, which has room for them; the skeleton's own root becomes `root`.

    `root` is a node that is there, or the next. `node_of` is by id, and empty where nobody asks for it.
    """
    index = IRTreeIndex(*index_arrays)
    used, branching = index.used, index.branching[0]
    first_node = used[NODES] - (1 if root < used[NODES] else 0)
    for number in range(skeleton.first.size - 1, -1, -1):
        node = root if number == 0 else first_node + number
        first, last = skeleton.first[number], skeleton.last[number]
        n_chunks = (last - first + branching - 1) // branching
        left, right = skeleton.left[number], skeleton.right[number]
        index.pivot[node] = skeleton.pivot[number]
        index.left[node] = NO_NODE if left == NO_NODE else first_node + left
        index.right[node] = NO_NODE if right == NO_NODE else first_node + right
        # Children have larger numbers than their parents, and come first here.
        index.size[node] = last - first
        index.size[node] += 0 if left == NO_NODE else index.size[first_node + left]
        index.size[node] += 0 if right == NO_NODE else index.size[first_node + right]
        index.first_chunk[node], index.n_chunks[node] = used[CHUNKS], n_chunks
        index.chunk_room[node], index.first_upper[node] = n_chunks, used[UPPER]
        for begin in range(first, last, branching):
            chunk, end = used[CHUNKS], min(begin + branching, last)
            index.chunk_start[chunk], index.chunk_count[chunk] = used[ENTRIES], end - begin
            index.chunk_capacity[chunk] = end - begin
            for place in range(begin, end):
                entry, given = used[ENTRIES] + place - begin, order[place]
                index.ends[2 * entry], index.ends[2 * entry + 1] = new_ends[2 * given], new_ends[2 * given + 1]
                index.ids[entry] = new_ids[given]
                if node_of.size > 0:
                    node_of[new_ids[given]] = node
            used[ENTRIES] += end - begin
            renew_chunk(index.chunk_start, index.chunk_count, index.chunk_ends, index.ends, chunk)
            used[CHUNKS] += 1
        renew_upper(
            index.chunk_ends,
            index.upper,
            index.first_chunk[node],
            n_chunks,
            index.first_upper[node],
            branching,
            0,
            n_chunks - 1,
        )
        used[UPPER] += upper_size(n_chunks, branching)
    used[NODES] = max(used[NODES], first_node + skeleton.first.size)


@jit
def collect_entries(
    index_arrays: IRTreeArrays, root: int, ends: NDArray[np.float64], ids: NDArray[np.int32], nodes: NDArray[np.int32]
) -> None:
    """Write the entries of a node and of all below it, and the node of each; there are `size[root]` of them."""
    index = IRTreeIndex(*index_arrays)
    waiting = np.empty(index.used[NODES], np.int32)
    n_waiting, n_written = 0, 0
    if root != NO_NODE:
        waiting[0], n_waiting = root, 1
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        for chunk in range(index.first_chunk[node], index.first_chunk[node] + index.n_chunks[node]):
            for entry in range(index.chunk_start[chunk], index.chunk_start[chunk] + index.chunk_count[chunk]):
                ends[2 * n_written], ends[2 * n_written + 1] = index.ends[2 * entry], index.ends[2 * entry + 1]
                ids[n_written], nodes[n_written] = index.ids[entry], node
                n_written += 1
        for child in (index.left[node], index.right[node]):
            if child != NO_NODE:
                waiting[n_waiting] = child
                n_waiting += 1


def of_length(array: NDArray[Item], length: int) -> NDArray[Item]:
    """Return the array with room at its end. Arrays of one kind always have the same room, by which the kernels go."""
    if len(array) == length:
        return array
    made = np.empty(length, array.dtype)
    made[: len(array)] = array
    return made


def collect_intervals(index: IRTreeIndex, root: int) -> tuple[Floats, NDArray[np.int32], NDArray[np.int32]]:
    """Return the ends, ids and nodes of all entries of a node and of all below it."""
    n_entries = 0 if root == NO_NODE else int(index.size[root])
    ends, ids, nodes = np.empty(2 * n_entries), np.empty(n_entries, np.int32), np.empty(n_entries, np.int32)
    collect_entries(tuple(index), root, ends, ids, nodes)
    return ends, ids, nodes


def build_arrays(entries: Entries, branching: int) -> IRTreeIndex:
    """Return arrays of just the right size, to be written."""
    check_branching(branching)
    bounds = list(zip(entries.offsets[:-1].tolist(), entries.offsets[1:].tolist(), strict=True))
    built = [skeleton_of(entries.ends[2 * first : 2 * last], branching) for first, last in bounds]
    sizes = np.array([sizes_of(one.nodes, branching) for one in built]).sum(axis=0)
    rooms = {
        ENTRIES: len(entries.ids),
        CHUNKS: int(sizes[0]),
        UPPER: int(sizes[1]),
        NODES: sum(len(one.nodes.pivot) for one in built),
        IDS: len(entries.score),
    }
    arrays = {
        name: np.empty(rooms[COUNTED[name][0]] * COUNTED[name][1], dtype)
        for name, dtype in dtypes_of(IRTreeIndex).items()
        if name in COUNTED
    }
    used = np.zeros(6, np.int64)
    used[IDS], used[DEPTH] = len(entries.score), max(one.depth for one in built)
    roots = np.full(len(bounds), NO_NODE, np.int32)
    arrays["score"] = np.empty(0)  # no score is needed here, and the caller's may be shared
    index = IRTreeIndex(used=used, branching=np.array([branching]), roots=roots, **arrays)
    nobody = np.empty(0, np.int32)
    for tree, ((first, last), one) in enumerate(zip(bounds, built, strict=True)):
        if last > first:
            roots[tree] = used[NODES]
            ends, ids = entries.ends[2 * first : 2 * last], entries.ids[first:last]
            append_skeleton(
                tuple(index),
                nobody,
                one.nodes,
                one.order,
                frozen(ends, np.float64),
                frozen(ids, np.int32),
                int(roots[tree]),
            )
    return index._replace(score=entries.score)

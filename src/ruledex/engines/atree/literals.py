"""Which literals an event makes true: the intervals of literals, kept so that they may come and go.

An interval of cells hangs on a *center*: its last cell, all bits cleared below the highest in which its ends differ.
With those of the same center it lies in a *bucket*, found by hashing. A cell that lies in an interval shares with its
center all bits above the center's last, so a cell asks one bucket for each number of trailing zeros that is in use, and
its own. A bucket's intervals are then looked at one by one; those that end before the cell, or begin behind it,
are looked at in vain.

A negative literal hangs on the cell of its presence, as ~literal, and is true if its positive literal is not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.atree.heap import (
    NO_BLOCK,
    TOP,
    free_block,
    new_block,
    with_room,
    without_waste,
    words_for,
    words_to_append,
)
from ruledex.engines.atree.layout import (
    BLOCK,
    CENTER,
    ENTRIES,
    KEY,
    N_CENTERS,
    N_CENTERS_WANTED,
    N_DOWN,
    N_ENTRIES,
    N_NODES,
    N_OF_WIDTH,
    N_WORDS_WANTED,
    NEGATIVE,
    OP,
    POSITIVE,
    ROW,
    USES,
    Tree,
    mix,
    new_node,
)

LITERAL_LEVEL = 1
LOW, HIGH, PLACE = 0, 1, 2  # the words of a row of a literal's block
POINT = 31  # the width of an interval of one cell, which hangs on itself


@inlined
def _width(low: int, high: int) -> int:
    """Return the number of trailing zeros of an interval's center, or `POINT`."""
    width, differing = POINT, int(low) ^ int(high)
    while differing > 0:
        width = 0 if width == POINT else width + 1
        differing >>= 1
    return width


@inlined
def _center(high: int, width: int) -> int:
    return int(high) if width == POINT else (int(high) >> width) << width


@jit
def bucket_of(centers: NDArray[np.int32], center: int) -> int:
    """Return the bucket of a center, or the free one that it would have."""
    mask = centers.shape[0] - 1
    bucket = mix(center) & mask
    while centers[bucket, CENTER] != FREE and centers[bucket, CENTER] != center:
        bucket = (bucket + 1) & mask
    return int(bucket)


@jit
def _hang(
    heap: NDArray[np.int32],
    centers: NDArray[np.int32],
    counts: NDArray[np.int64],
    low: int,
    high: int,
    entry: int,
) -> int:
    """Put an interval into its bucket; return its place there."""
    width = _width(low, high)
    center = _center(high, width)
    bucket = bucket_of(centers, center)
    if centers[bucket, CENTER] == FREE:
        centers[bucket, CENTER], centers[bucket, ENTRIES], centers[bucket, N_ENTRIES] = center, NO_BLOCK, 0
        counts[N_CENTERS] += 1
    place = int(centers[bucket, N_ENTRIES])
    start = with_room(heap, centers[bucket, ENTRIES], ROW * place, ROW)
    heap[start + ROW * place + LOW] = low
    heap[start + ROW * place + HIGH] = high
    heap[start + ROW * place + 2] = entry
    centers[bucket, ENTRIES], centers[bucket, N_ENTRIES] = start, place + 1
    counts[N_OF_WIDTH + width] += 1
    return place


@jit
def _unhang(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    centers: NDArray[np.int32],
    counts: NDArray[np.int64],
    low: int,
    high: int,
    place: int,
) -> None:
    """Take an interval out of its bucket; the last one there moves into its place."""
    width = _width(low, high)
    bucket = bucket_of(centers, _center(high, width))
    start, last = centers[bucket, ENTRIES], centers[bucket, N_ENTRIES] - 1
    if place != last:
        for word in range(ROW):
            heap[start + ROW * place + word] = heap[start + ROW * last + word]
        moved = heap[start + ROW * place + 2]
        literal = moved if moved >= 0 else ~moved
        row = nodes[literal, BLOCK]
        while heap[row + LOW] != heap[start + ROW * place + LOW]:
            row += ROW
        heap[row + PLACE] = place
    centers[bucket, ENTRIES] = without_waste(heap, start, ROW * last, ROW)
    centers[bucket, N_ENTRIES] = last
    counts[N_OF_WIDTH + width] -= 1
    if last == 0:
        counts[N_CENTERS] -= 1
        _close_gap(centers, bucket)


@jit
def _close_gap(centers: NDArray[np.int32], hole: int) -> None:
    """Free a bucket, and move up those buckets that it kept from their own places."""
    mask = centers.shape[0] - 1
    bucket = hole
    while True:
        bucket = (bucket + 1) & mask
        if centers[bucket, CENTER] == FREE:
            break
        wanted = mix(centers[bucket, CENTER]) & mask
        if ((bucket - wanted) & mask) >= ((bucket - hole) & mask):
            for column in range(3):
                centers[hole, column] = centers[bucket, column]
            hole = bucket
    centers[hole, CENTER] = FREE


@jit
def hang_literal(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    centers: NDArray[np.int32],
    counts: NDArray[np.int64],
    literal: int,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    first: int,
    last: int,
) -> None:
    """Give a literal without intervals those from `first` to `last`."""
    start = new_block(heap, max(ROW * (last - first), 1))
    entry = ~literal if nodes[literal, OP] == NEGATIVE else literal
    for place in range(first, last):
        row = start + ROW * (place - first)
        heap[row + LOW], heap[row + HIGH] = low[place], high[place]
        heap[row + PLACE] = _hang(heap, centers, counts, low[place], high[place], entry)
    nodes[literal, BLOCK], nodes[literal, N_DOWN] = start, last - first


@jit
def unhang_literal(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    centers: NDArray[np.int32],
    counts: NDArray[np.int64],
    literal: int,
) -> None:
    """Take all intervals of a literal away."""
    for place in range(nodes[literal, N_DOWN] - 1, -1, -1):
        row = nodes[literal, BLOCK] + ROW * place
        _unhang(nodes, heap, centers, counts, heap[row + LOW], heap[row + HIGH], heap[row + PLACE])
    free_block(heap, nodes[literal, BLOCK])
    nodes[literal, BLOCK], nodes[literal, N_DOWN] = NO_BLOCK, 0


@jit
def _words_wanted(
    heap: NDArray[np.int32],
    centers: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    first: int,
    last: int,
) -> int:
    """Return how many words of the heap one literal may take: each of its disjoint intervals has its own bucket."""
    n_words = words_for(max(ROW * (last - first), 1))
    for place in range(first, last):
        bucket = bucket_of(centers, _center(high[place], _width(low[place], high[place])))
        if centers[bucket, CENTER] == FREE:
            n_words += words_for(ROW)
        else:
            n_words += words_to_append(heap, centers[bucket, ENTRIES], ROW * centers[bucket, N_ENTRIES], ROW)
    return n_words


@jit
def has_room_for_intervals(tree: Tree, low: NDArray[np.int32], high: NDArray[np.int32], first: int, last: int) -> bool:
    """Return whether there is room for one more literal with these intervals."""
    counts, heap, centers = tree.counts, tree.heap, tree.centers
    counts[N_CENTERS_WANTED] = counts[N_CENTERS] + last - first
    has_room = counts[N_NODES] < tree.nodes.shape[0] and 2 * counts[N_CENTERS_WANTED] < centers.shape[0]
    counts[N_WORDS_WANTED] = 0
    if has_room:
        counts[N_WORDS_WANTED] = _words_wanted(heap, centers, low, high, first, last)
    return bool(has_room and heap[TOP] + counts[N_WORDS_WANTED] <= heap.size)


@jit
def add_literals(
    tree: Tree,
    positive_of: NDArray[np.int32],
    offsets: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    first: int,
    out: NDArray[np.int32],
) -> int:
    """Add literals from `first` on as long as there is room, and write their nodes; return which comes next.

    A negative literal has the node of its positive one in `positive_of`, a positive one -1.
    """
    nodes, heap, centers, counts = tree.nodes, tree.heap, tree.centers, tree.counts
    literal = first
    while literal < positive_of.size and has_room_for_intervals(
        tree, low, high, offsets[literal], offsets[literal + 1]
    ):
        node = new_node(nodes, tree.levels, counts, POSITIVE, LITERAL_LEVEL)
        if positive_of[literal] >= 0:
            nodes[node, OP], nodes[node, KEY] = NEGATIVE, positive_of[literal]
            nodes[positive_of[literal], USES] += 1
        hang_literal(nodes, heap, centers, counts, node, low, high, offsets[literal], offsets[literal + 1])
        out[literal] = node
        literal += 1
    return literal


@jit
def move_literals(
    tree: Tree,
    literals: NDArray[np.int32],
    offsets: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    first: int,
) -> int:
    """Give literals other intervals, from `first` on as long as there is room; return which comes next."""
    nodes, heap, centers, counts = tree.nodes, tree.heap, tree.centers, tree.counts
    literal = first
    while literal < literals.size and has_room_for_intervals(tree, low, high, offsets[literal], offsets[literal + 1]):
        unhang_literal(nodes, heap, centers, counts, literals[literal])
        hang_literal(nodes, heap, centers, counts, literals[literal], low, high, offsets[literal], offsets[literal + 1])
        literal += 1
    return literal

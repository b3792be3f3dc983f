"""`SOPTRTree`: an R-tree whose intervals are arranged so that its extents have few holes (Section 3.2).

The arrangement is Algorithm 1 over the constraint graph, which is found by visible blocks (Sections 3.2.1, 3.2.2).
Intervals are numbered in descending order of their scores, ties by id, so that of two the smaller number is the better.
Numbers on the line are cells: each end is one, and what lies between two neighbouring ends, if anything does, is
another.

Seen from below, each cell shows the worst interval so far that covers it; neighbouring cells that show the same
interval are a block. A new interval has an edge from what each block shows that it meets, and then covers these blocks:
those within it go, those at its ends are cut. That is at most three new blocks, and each edge takes one: at most 3n
edges.

Blocks and ready intervals are kept in sets of small numbers that give their next and previous member: a bitmap, and
above it a bitmap of its words that are not 0, and so on, so that 64**n numbers need n levels.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit
from ruledex.compiled.decorator import inlined, jit
from ruledex.ranked.intervals import Entries
from ruledex.ranked.rtree import BRANCHING, PackedTree, pack_entries

NONE = -1


@jit
def level_offsets(n_places: int) -> NDArray[np.int64]:
    """Return where each level of a set over `n_places` numbers begins, from the lowest, and where the words end."""
    offsets = np.zeros(12, np.int64)
    n_levels, n_bits = 0, max(n_places, 1)
    while True:
        n_words = (n_bits + 63) >> 6
        offsets[n_levels + 1] = offsets[n_levels] + n_words
        n_levels += 1
        if n_words == 1:
            return offsets[: n_levels + 1]
        n_bits = n_words


@inlined
def put(words: NDArray[np.uint64], offsets: NDArray[np.int64], place: int) -> None:
    """Make a number a member."""
    rest = np.uint64(place)
    for level in range(offsets.size - 1):
        word = np.uint64(offsets[level]) + (rest >> SIX)
        had_some = words[word] != ZERO
        words[word] |= ONE << (rest & LOW_SIX)
        if had_some:
            break
        rest >>= SIX


@inlined
def drop(words: NDArray[np.uint64], offsets: NDArray[np.int64], place: int) -> None:
    """Make a member none."""
    rest = np.uint64(place)
    for level in range(offsets.size - 1):
        word = np.uint64(offsets[level]) + (rest >> SIX)
        words[word] &= ~(ONE << (rest & LOW_SIX))
        if words[word] != ZERO:
            break
        rest >>= SIX


@inlined
def highest_bit(word: np.uint64) -> int:
    """Return the place of the highest set bit of a word that is not 0."""
    place = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(step) != ZERO:
            word >>= np.uint64(step)
            place += step
    return place


@inlined
def next_member(words: NDArray[np.uint64], offsets: NDArray[np.int64], place: int) -> int:
    """Return the smallest member that is not below `place`, or `NONE`."""
    n_levels = offsets.size - 1
    level, rest, found = 0, np.int64(place), np.int64(NONE)
    while level < n_levels and found == NONE:
        word = rest >> 6
        if word < offsets[level + 1] - offsets[level]:
            bits = words[offsets[level] + word] & (~ZERO << np.uint64(rest & 63))
            if bits != ZERO:
                found = (word << 6) + lowest_bit(bits)
                break
        rest = word + 1
        level += 1
    while found != NONE and level > 0:
        level -= 1
        found = (found << 6) + lowest_bit(words[offsets[level] + found])
    return int(found)


@inlined
def last_member(words: NDArray[np.uint64], offsets: NDArray[np.int64], place: int) -> int:
    """Return the largest member that is not above `place`, or `NONE`."""
    n_levels = offsets.size - 1
    level, rest, found = 0, np.int64(place), np.int64(NONE)
    while level < n_levels and rest >= 0 and found == NONE:
        word = rest >> 6
        bits = words[offsets[level] + word] & (~ZERO >> np.uint64(63 - (rest & 63)))
        if bits != ZERO:
            found = (word << 6) + highest_bit(bits)
            break
        rest = word - 1
        level += 1
    while found != NONE and level > 0:
        level -= 1
        found = (found << 6) + highest_bit(words[offsets[level] + found])
    return int(found)


@jit
def constraint_graph(
    low_cell: NDArray[np.int32],
    high_cell: NDArray[np.int32],
    n_cells: int,
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
) -> int:
    """Write the edges, grouped by their targets; return their number. The output has room for 3n."""
    offsets = level_offsets(n_cells + 1)
    starts = np.zeros(offsets[-1], np.uint64)
    shown = np.full(n_cells + 1, NONE, np.int32)  # at the start of a block: the interval that it shows
    latest = np.full(low_cell.size, NONE, np.int32)  # an interval may show in several of the blocks that are met
    n_edges = 0
    put(starts, offsets, 0)
    for interval in range(low_cell.size):
        low, high = low_cell[interval], high_cell[interval]
        block = last_member(starts, offsets, low)
        last_shown = shown[block]
        after = next_member(starts, offsets, high + 1)
        while block != NONE and block <= high:
            last_shown = shown[block]
            if last_shown != NONE and latest[last_shown] != interval:
                latest[last_shown] = interval
                sources[n_edges], targets[n_edges] = last_shown, interval
                n_edges += 1
            if block > low:
                drop(starts, offsets, block)
            block = next_member(starts, offsets, block + 1)
        put(starts, offsets, low)
        shown[low] = interval
        if after != high + 1 and high + 1 < n_cells:
            put(starts, offsets, high + 1)
            shown[high + 1] = last_shown
    return n_edges


@jit
def arrange(
    n_intervals: int,
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    by_left: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Order intervals by Algorithm 1: always the one that begins leftmost of those that no edge leads to any more.

    `by_left` are all intervals in the order of their left ends.
    """
    n_incoming = np.zeros(n_intervals, np.int32)
    edge_offsets = np.zeros(n_intervals + 2, np.int64)
    for edge in range(sources.size):
        n_incoming[targets[edge]] += 1
        edge_offsets[sources[edge] + 2] += 1
    for interval in range(n_intervals):
        edge_offsets[interval + 2] += edge_offsets[interval + 1]
    edges = np.empty(sources.size, np.int32)
    for edge in range(sources.size):
        edges[edge_offsets[sources[edge] + 1]] = targets[edge]
        edge_offsets[sources[edge] + 1] += 1
    left_place = np.empty(n_intervals, np.int32)
    offsets = level_offsets(n_intervals)
    ready = np.zeros(offsets[-1], np.uint64)
    for place in range(n_intervals):
        left_place[by_left[place]] = place
        if n_incoming[by_left[place]] == 0:
            put(ready, offsets, place)
    for n_arranged in range(n_intervals):
        place = next_member(ready, offsets, 0)
        drop(ready, offsets, place)
        interval = by_left[place]
        out[n_arranged] = interval
        for edge in range(edge_offsets[interval], edge_offsets[interval + 1]):
            n_incoming[edges[edge]] -= 1
            if n_incoming[edges[edge]] == 0:
                put(ready, offsets, left_place[edges[edge]])


class Edges(NamedTuple):
    """The constraint graph: intervals by their places in descending order of scores, grouped by target."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]


class SOPTRTree(PackedTree):
    """Fastest for points, and never more than 2k + 1 nodes per level for the best k. It does not change once built.

    Only intervals that share a point are in the order of their scores, so that what overlaps an interval has no order.

    >>> from ruledex.ranked.sopt_rtree import SOPTRTree
    >>> SOPTRTree.build(left=[0, 10], right=[20, 30], score=[3.0, 9.5]).stab_top(18, k=1).ids.tolist()
    [1]
    """

    name = "sopt"
    can_overlap = False

    @classmethod
    def from_entries(cls, entries: Entries, *, branching: int = BRANCHING) -> Self:  # type: ignore[override]
        """Arrange each tree's entries, and put extents over each `branching` of them."""
        order = np.empty(len(entries.ids), np.int64)
        for first, last in zip(entries.offsets[:-1].tolist(), entries.offsets[1:].tolist(), strict=True):
            order[first:last] = first + arrangement(entries.ends[2 * first : 2 * last])
        ends = entries.ends.reshape(-1, 2)[order].reshape(-1)
        arranged = entries._replace(ends=frozen(ends, np.float64), ids=frozen(entries.ids[order], np.int32))
        return cls(tuple(pack_entries(arranged, branching)))


def edges_between(ends: NDArray[np.float64]) -> Edges:
    """Return the constraint graph of intervals in descending order of scores."""
    distinct, ranks = np.unique(ends, return_inverse=True)
    with np.errstate(over="ignore"):
        has_gap = np.nextafter(distinct[:-1], np.inf) < distinct[1:]
    cell_of_end = np.arange(len(distinct))
    cell_of_end[1:] += np.cumsum(has_gap)
    cells = cell_of_end[ranks].astype(np.int32)
    low, high = np.ascontiguousarray(cells[0::2]), np.ascontiguousarray(cells[1::2])
    sources, targets = np.empty(3 * len(low), np.int32), np.empty(3 * len(low), np.int32)
    n_edges = constraint_graph(low, high, len(distinct) + int(has_gap.sum()), sources, targets)
    return Edges(sources[:n_edges], targets[:n_edges])


def arrangement(ends: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the places of the intervals, which are in descending order of scores, in Algorithm 1's order."""
    edges = edges_between(ends)
    n_intervals = len(ends) // 2
    out = np.empty(n_intervals, np.int32)
    by_left = np.argsort(ends[0::2], kind="stable").astype(np.int32)
    arrange(n_intervals, edges.sources, edges.targets, by_left, out)
    return out

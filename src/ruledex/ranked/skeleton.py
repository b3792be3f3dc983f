"""The binary tree under interval trees and IR-trees (Section 2.1.1): which intervals hang on which node.

A node's pivot is the median of the ends of its intervals. Those that hold the pivot stay, those below it go left and
those above it right. A few intervals are not split any further: they are one node without a pivot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import inlined, jit
from ruledex.ranked.intervals import Floats

NO_NODE = -1


class Skeleton(NamedTuple):
    """The nodes, in the order in which they were made, the root first. A node without a pivot has NaN there."""

    pivot: NDArray[np.float64]
    left: NDArray[np.int32]  # `NO_NODE` where there is none
    right: NDArray[np.int32]
    first: NDArray[np.int32]  # a node's entries, in `order`, from `first` up to `last`
    last: NDArray[np.int32]


@jit
def select(values: NDArray[np.float64], n_values: int, place: int) -> float:
    """Return what would stand at `place` if the first `n_values` values were sorted; their order changes."""
    low, high = 0, n_values - 1
    while low < high:
        middle, left, right = values[(low + high) >> 1], low, high
        while left <= right:
            while values[left] < middle:
                left += 1
            while values[right] > middle:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left, right = left + 1, right - 1
        if place <= right:
            high = right
        elif place >= left:
            low = left
        else:
            break
    return float(values[place])


@jit
def build_skeleton(ends: NDArray[np.float64], most: int, nodes: Skeleton, order: NDArray[np.int32]) -> tuple[int, int]:
    """Write the nodes over all intervals, of which at most `most` stay without a pivot; return their number and depth.

    `order` gets the places of the intervals, each node's together and as they stood. Without intervals, no node.
    """
    n_entries = ends.size // 2
    pivots, lefts, rights, firsts, lasts = nodes.pivot, nodes.left, nodes.right, nodes.first, nodes.last
    depths = np.zeros(pivots.size, np.int32)
    aside, of_node = np.empty(n_entries, np.int32), np.empty(ends.size)
    for entry in range(n_entries):
        order[entry] = entry
    n_nodes = 0
    if n_entries > 0:
        firsts[0], lasts[0], n_nodes = 0, n_entries, 1
    deepest, node = 0, 0
    while node < n_nodes:
        first, last = firsts[node], lasts[node]
        pivots[node], lefts[node], rights[node] = np.nan, NO_NODE, NO_NODE
        deepest = max(deepest, depths[node] + 1)
        n_own = last - first
        if n_own > most:
            for place in range(n_own):
                entry = order[first + place]
                of_node[2 * place], of_node[2 * place + 1] = ends[2 * entry], ends[2 * entry + 1]
            pivot = select(of_node, 2 * n_own, n_own - 1)
            n_here, n_left = 0, 0
            for place in range(first, last):
                entry = order[place]
                n_left += 1 if ends[2 * entry + 1] < pivot else 0
                n_here += 1 if ends[2 * entry] <= pivot <= ends[2 * entry + 1] else 0
            here, left, right = first, first + n_here, first + n_here + n_left
            for place in range(first, last):
                aside[place] = order[place]
            for place in range(first, last):
                entry = aside[place]
                if ends[2 * entry + 1] < pivot:
                    order[left] = entry
                    left += 1
                elif ends[2 * entry] > pivot:
                    order[right] = entry
                    right += 1
                else:
                    order[here] = entry
                    here += 1
            pivots[node], lasts[node] = pivot, here
            if left > here:
                firsts[n_nodes], lasts[n_nodes], lefts[node], depths[n_nodes] = here, left, n_nodes, depths[node] + 1
                n_nodes += 1
            if right > left:
                firsts[n_nodes], lasts[n_nodes], rights[node], depths[n_nodes] = left, right, n_nodes, depths[node] + 1
                n_nodes += 1
        node += 1
    return n_nodes, deepest


@inlined
def visit(
    pivots: NDArray[np.float64],
    lefts: NDArray[np.int32],
    rights: NDArray[np.int32],
    root: int,
    low: float,
    high: float,
    out: NDArray[np.int32],
) -> int:
    """Write the nodes that may have intervals that overlap [low, high]; return their number. A point has one way."""
    n_visited, place = 0, 0
    if root != NO_NODE:
        out[0], n_visited = root, 1
    while place < n_visited:
        node = out[place]
        place += 1
        # No comparison with the NaN of a node without a pivot is true, and it has no children.
        if low < pivots[node] and lefts[node] != NO_NODE:
            out[n_visited] = lefts[node]
            n_visited += 1
        if high > pivots[node] and rights[node] != NO_NODE:
            out[n_visited] = rights[node]
            n_visited += 1
    return n_visited


class BuiltSkeleton(NamedTuple):
    """The nodes, the order of the entries that they refer to, and the depth of the deepest node."""

    nodes: Skeleton
    order: NDArray[np.int32]
    depth: int


def skeleton_of(ends: Floats, most: int) -> BuiltSkeleton:
    """Return the nodes over intervals in descending order of scores; at most `most` stay together without a pivot."""
    n_entries = len(ends) // 2
    # Nodes with a pivot have more than `most` intervals in and below them, and each level halves them: at most
    # 2n / most nodes with a pivot, two children each.
    n_room = 6 * n_entries // most + 4
    numbers = [np.empty(n_room, np.int32) for _ in range(4)]
    nodes = Skeleton(np.empty(n_room), *numbers)
    order = np.empty(n_entries, np.int32)
    n_nodes, depth = build_skeleton(frozen(ends, np.float64), most, nodes, order)
    return BuiltSkeleton(Skeleton(nodes.pivot[:n_nodes], *(array[:n_nodes] for array in numbers)), order, depth)

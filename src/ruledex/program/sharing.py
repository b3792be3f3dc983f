"""Re-share common parts of nodes after flattening: a node that has all children of another takes it as a child.

Rules are flattened before their nodes are compared, so that `a AND (b AND c)` and `(a AND b) AND c` are one node. But
this node no longer has the child `b AND c`, which other rules may have as a node. Here the child is put back, by the
greedy set cover of a-tree2021, Section 4.2.2: among the nodes of the same operation whose children are a part of this
one's, the largest come first, and no child is covered twice, since a score would count it twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit

_NONE = -1
FEW = 24  # children that are sorted fastest by inserting them one by one
# The number of candidates per node: if rules are made of a few literals, nearly every node may be a part.
MOST_LOOKS = 64
FEWEST_PER_THREAD = 100_000  # items of a loop that are worth a thread: compiled code runs without the GIL
_MOST_THREADS = 8


class InnerNodes(NamedTuple):
    """AND and OR nodes as a Program has them: `children` ascending, each node behind its children, level by level."""

    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int32]
    children: NDArray[np.int32]
    level_offsets: NDArray[np.int32]


def share_parts(inner: InnerNodes, n_literals: int) -> tuple[InnerNodes, NDArray[np.int32]]:
    """Return the same nodes with fewer links, in their new order, and the new number of each."""
    n_inner = len(inner.node_op)
    starts = inner.child_offsets
    size = np.diff(starts)
    level = np.repeat(np.arange(len(inner.level_offsets) - 1, dtype=np.int32), np.diff(inner.level_offsets))
    by_size = stable_order(size)
    # Each node has at most as many children as before, so the new ones are written where the old ones stood.
    sizes, children = np.empty(n_inner, np.int32), np.empty(len(inner.children), np.int32)
    parts = _parts_by_child(inner.node_op, starts, inner.children, n_literals, by_size)
    in_ranges(
        lambda first, last: _cover(
            inner.node_op, starts, inner.children, n_literals, *parts, first, last, sizes, children
        ),
        starts,
    )
    # A part has fewer children than the whole, and none from a higher level: in this order it comes before the whole.
    new_level = np.zeros(n_inner, np.int32)
    _find_levels(starts, sizes, children, n_literals, by_size[stable_order(level[by_size])], new_level)
    order = stable_order(new_level)
    number = np.empty(n_inner, np.int32)
    number[order] = np.arange(n_inner, dtype=np.int32)
    level_offsets = n_literals + np.searchsorted(new_level[order], np.arange(new_level.max(initial=-1) + 2))
    ordered_offsets = np.zeros(n_inner + 1, np.int32)
    np.cumsum(sizes[order], out=ordered_offsets[1:])
    ordered_children = np.empty(ordered_offsets[-1], np.int32)
    in_ranges(
        lambda first, last: _reorder(
            starts, children, n_literals, order, number, first, last, ordered_offsets, ordered_children
        ),
        ordered_offsets,
    )
    return (
        InnerNodes(inner.node_op[order], ordered_offsets, ordered_children, level_offsets.astype(np.int32)),
        number,
    )


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_ranges(run: Callable[[int, int], object], offsets: NDArray[np.integer]) -> None:
    """Call `run(first, last)` for ranges that make up all lists, each range with as many items as the others.

    List i has the items from `offsets[i]` to `offsets[i + 1]`. The calls may run at the same time.
    """
    n_lists, n_items = len(offsets) - 1, int(offsets[-1] - offsets[0])
    n_ranges = max(1, min(n_cores(), _MOST_THREADS, n_items // FEWEST_PER_THREAD))
    if n_ranges == 1:
        run(0, n_lists)
        return
    ends = offsets[0] + n_items * np.arange(n_ranges + 1) // n_ranges
    bounds = np.searchsorted(offsets, ends)
    bounds[0], bounds[-1] = 0, n_lists
    with ThreadPoolExecutor(n_ranges - 1, "range") as threads:
        first, *others = pairwise(bounds.tolist())
        waiting = [threads.submit(run, *other) for other in others]
        run(*first)
        for one in waiting:
            one.result()


def stable_order(keys: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return what sorts keys from 0 on; equal ones stay in order. NumPy sorts keys of 16 bits by their digits."""
    if keys.max(initial=0) <= np.iinfo(np.uint16).max:
        keys = keys.astype(np.uint16)
    return np.argsort(keys, kind="stable").astype(np.int32)


@jit
def _parts_by_child(
    node_op: NDArray[np.uint8],
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    n_literals: int,
    by_size: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return for each node and operation the nodes that have it as their least used child, the smallest first.

    The result is a CSR list; the list of a child is at twice its number plus the operation. A part of a node is in the
    list of one of its children, and the least used child makes for the shortest lists.
    """
    n_nodes = n_literals + node_op.size
    n_uses = np.zeros(n_nodes, np.int32)
    for child in children:
        n_uses[child] += 1
    list_of = np.empty(node_op.size, np.int32)
    offsets = np.zeros(2 * n_nodes + 1, np.int32)
    for node in range(node_op.size):
        least = children[child_offsets[node]]
        for edge in range(child_offsets[node] + 1, child_offsets[node + 1]):
            if n_uses[children[edge]] < n_uses[least]:
                least = children[edge]
        list_of[node] = 2 * least + node_op[node]
        offsets[list_of[node] + 1] += 1
    for number in range(2 * n_nodes):
        offsets[number + 1] += offsets[number]
    place = offsets[:-1].copy()
    parts = np.empty(node_op.size, np.int32)
    for node in by_size:
        parts[place[list_of[node]]] = node
        place[list_of[node]] += 1
    return offsets, parts


@jit
def _cover(
    node_op: NDArray[np.uint8],
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    n_literals: int,
    part_offsets: NDArray[np.int32],
    parts: NDArray[np.int32],
    first_node: int,
    last_node: int,
    sizes: NDArray[np.int32],
    new_children: NDArray[np.int32],
) -> None:
    """Write the children of some nodes, with parts in place of the children that they cover, and how many there are."""
    uncovered_of = np.full(n_literals + node_op.size, _NONE, np.int32)  # the last node that has it as a bare child
    found = np.empty(MOST_LOOKS, np.int32)
    for node in range(first_node, last_node):
        first, last = child_offsets[node], child_offsets[node + 1]
        for edge in range(first, last):
            uncovered_of[children[edge]] = node
        n_found, looks = 0, MOST_LOOKS
        for edge in range(first, last):
            number = 2 * children[edge] + node_op[node]
            begin_of_list = part_offsets[number]
            place = _first_as_large(parts, begin_of_list, part_offsets[number + 1], child_offsets, last - first)
            # From the largest down, while there are looks left: the largest cover most.
            while place > begin_of_list and looks > 0:
                place -= 1
                looks -= 1
                part = parts[place]
                if _is_uncovered(children, child_offsets[part], child_offsets[part + 1], uncovered_of, node):
                    found[n_found] = part
                    n_found += 1
        _largest_first(found, n_found, child_offsets)
        n_links = first
        for place in range(n_found):
            begin, end = child_offsets[found[place]], child_offsets[found[place] + 1]
            if _is_uncovered(children, begin, end, uncovered_of, node):
                for edge in range(begin, end):
                    uncovered_of[children[edge]] = _NONE
                new_children[n_links] = n_literals + found[place]
                n_links += 1
        for edge in range(first, last):
            if uncovered_of[children[edge]] == node:
                new_children[n_links] = children[edge]
                n_links += 1
        sizes[node] = n_links - first


@jit
def _is_uncovered(
    children: NDArray[np.int32], begin: int, end: int, uncovered_of: NDArray[np.int32], node: int
) -> bool:
    edge = begin
    while edge < end and uncovered_of[children[edge]] == node:
        edge += 1
    return edge == end


@jit
def _first_as_large(nodes: NDArray[np.int32], begin: int, end: int, child_offsets: NDArray[np.int32], size: int) -> int:
    """Return the index of the first of `nodes[begin:end]`, sorted by size, with at least `size` children."""
    while begin < end:
        middle = (begin + end) // 2
        if child_offsets[nodes[middle] + 1] - child_offsets[nodes[middle]] < size:
            begin = middle + 1
        else:
            end = middle
    return begin


@jit
def _largest_first(nodes: NDArray[np.int32], n_nodes: int, child_offsets: NDArray[np.int32]) -> None:
    """Sort a few nodes by their number of children, the largest first. The sort is stable."""
    for place in range(1, n_nodes):
        node, other = nodes[place], place
        size = child_offsets[node + 1] - child_offsets[node]
        while other > 0 and child_offsets[nodes[other - 1] + 1] - child_offsets[nodes[other - 1]] < size:
            nodes[other] = nodes[other - 1]
            other -= 1
        nodes[other] = node


@jit
def _find_levels(
    starts: NDArray[np.int32],
    sizes: NDArray[np.int32],
    children: NDArray[np.int32],
    n_literals: int,
    order: NDArray[np.int32],
    level: NDArray[np.int32],
) -> None:
    """Write the number of inner nodes on the longest way down from each; `order` has children before parents."""
    for node in order:
        below = -1
        for edge in range(starts[node], starts[node] + sizes[node]):
            if children[edge] >= n_literals:
                below = max(below, level[children[edge] - n_literals])
        level[node] = below + 1


@jit
def _reorder(
    starts: NDArray[np.int32],
    children: NDArray[np.int32],
    n_literals: int,
    order: NDArray[np.int32],
    number: NDArray[np.int32],
    first_place: int,
    last_place: int,
    new_offsets: NDArray[np.int32],
    new_children: NDArray[np.int32],
) -> None:
    """Write some of the lists in the new order, by the new numbers, ascending."""
    for place in range(first_place, last_place):
        begin, first = starts[order[place]], new_offsets[place]
        n_children = new_offsets[place + 1] - first
        for edge in range(n_children):
            child = children[begin + edge]
            if child >= n_literals:
                child = n_literals + number[child - n_literals]
            other = first + edge
            if n_children <= FEW:
                while other > first and new_children[other - 1] > child:
                    new_children[other] = new_children[other - 1]
                    other -= 1
            new_children[other] = child
        if n_children > FEW:
            new_children[first : first + n_children].sort()

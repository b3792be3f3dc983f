"""Taking out of an A-Tree the nodes that nothing uses any longer (a-tree2021, Section 4.2.4).

A node is *doomed* once neither a rule nor a parent of the other operation uses it. Where others still borrow it, it is
dissolved first: each of them takes, in its place, those of its children that no other child covers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import prefetch
from ruledex.compiled.constants import AND, OR
from ruledex.compiled.decorator import jit
from ruledex.engines.atree.heap import TOP, free_block, with_room, words_to_append
from ruledex.engines.atree.layout import (
    BLOCK,
    BORROWED,
    CHILD,
    DOOMED,
    FIRE,
    KEY,
    MEMBER,
    MEMBERS,
    N_ATOMS,
    N_BORROWED,
    N_COLUMNS,
    N_DISSOLVED,
    N_DOOMED,
    N_DOWN,
    N_FIRE,
    N_FREED,
    N_INNER,
    N_LENT,
    N_MEMBERS,
    N_SILENT,
    N_WORDS_WANTED,
    NEGATIVE,
    OP,
    PAIR,
    QUEUED,
    ROW,
    SHARE,
    SILENT,
    TOP_LEVEL,
    UNLINKED,
    UP,
    USES,
    Tree,
    drop_node,
    leave,
)
from ruledex.engines.atree.links import (
    is_inner_sink,
    link,
    remove_member,
    settle_levels,
    swap_rows,
    target_node,
    unlink,
    write_entries,
)
from ruledex.engines.atree.literals import unhang_literal
from ruledex.engines.atree.nodes import SPARE_WORDS, add_child_row, remove_child_row, reorder_children


@jit
def lose_use(tree: Tree, switches: int, node: int) -> None:
    """See to a node that has one use less than before."""
    nodes, counts = tree.nodes, tree.counts
    if nodes[node, USES] == nodes[node, N_LENT] and tree.flags[node] & DOOMED == 0:
        tree.flags[node] |= np.uint8(DOOMED)
        tree.doomed[counts[N_DOOMED]] = node
        counts[N_DOOMED] += 1
    elif is_inner_sink(nodes, tree.rules, node):
        write_entries(nodes, tree.heap, tree.rules, tree.levels, counts, switches, node)


@jit
def remove_doomed(tree: Tree, switches: int) -> bool:
    """Take out what is doomed, and what is doomed by that; whether there was room to see it through."""
    nodes, counts = tree.nodes, tree.counts
    has_room = True
    while has_room and counts[N_DOOMED] > 0:
        node = tree.doomed[counts[N_DOOMED] - 1]
        while has_room and nodes[node, N_FIRE] + nodes[node, N_SILENT] > 0:
            has_room = _take_over(tree, switches, node)
        if has_room:
            counts[N_DOOMED] -= 1
            tree.flags[node] &= ~np.uint8(DOOMED)
            if nodes[node, OP] <= OR:
                _remove_inner(tree, switches, node)
            else:
                _remove_literal(tree, switches, node)
    return has_room


@jit
def _remove_literal(tree: Tree, switches: int, node: int) -> None:
    nodes, counts = tree.nodes, tree.counts
    unhang_literal(nodes, tree.heap, tree.centers, counts, node)
    positive = nodes[node, KEY]
    is_negative = nodes[node, OP] == NEGATIVE
    drop_node(nodes, tree.levels, counts, node)
    tree.freed[counts[N_FREED]] = node
    counts[N_FREED] += 1
    if is_negative:
        nodes[positive, USES] -= 1
        lose_use(tree, switches, positive)


@jit
def _remove_inner(tree: Tree, switches: int, node: int) -> None:
    nodes, heap, rules, counts = tree.nodes, tree.heap, tree.rules, tree.counts
    start = nodes[node, BLOCK]
    _fetch_ahead(nodes, heap, rules, node)
    for row in range(nodes[node, N_ATOMS] + nodes[node, N_BORROWED]):
        child, member = heap[start + ROW * row + CHILD], heap[start + ROW * row + MEMBER]
        if member >= 0:
            remove_member(nodes, heap, child, member)
    for row in range(nodes[node, N_DOWN]):
        child = heap[start + ROW * row]
        unlink(nodes, heap, rules, counts, node, row)
        # Asked here too: to hand on a whole tree takes longer than to ask.
        if nodes[child, USES] == nodes[child, N_LENT] or is_inner_sink(nodes, rules, child):
            lose_use(tree, switches, child)
    if switches & SHARE != 0:
        leave(nodes, tree.table, node)
    free_block(heap, start)
    drop_node(nodes, tree.levels, counts, node)
    counts[N_INNER] -= 1


@jit
def _fetch_ahead(nodes: NDArray[np.int32], heap: NDArray[np.int32], rules: NDArray[np.int32], node: int) -> None:
    """Ask for the memory that taking out a node will touch, step by step for all rows, so that they wait together.

    Each list of a child loses an entry. The last entry takes its place, and the node that it belongs to is told.
    """
    start, n_down = nodes[node, BLOCK], nodes[node, N_DOWN]
    end = start + ROW * (nodes[node, N_ATOMS] + nodes[node, N_BORROWED])
    for place in range(start, end, ROW):
        prefetch(nodes, N_COLUMNS * np.int64(heap[place]))
    for place in range(start, end, ROW):
        child = heap[place]
        up, member = heap[place + UP], heap[place + MEMBER]
        if member >= 0:
            prefetch(heap, np.int64(nodes[child, MEMBERS] + PAIR * member))
            prefetch(heap, np.int64(nodes[child, MEMBERS] + PAIR * (nodes[child, N_MEMBERS] - 1)))
        if up >= 0:
            prefetch(heap, np.int64(nodes[child, FIRE] + ROW * up))
            prefetch(heap, np.int64(nodes[child, FIRE] + ROW * (nodes[child, N_FIRE] - 1)))
        elif up != UNLINKED:
            prefetch(heap, np.int64(nodes[child, SILENT] + ~up))
            prefetch(heap, np.int64(nodes[child, SILENT] + nodes[child, N_SILENT] - 1))
    for step in range(2):
        for place in range(start, end, ROW):
            child = heap[place]
            up, member = heap[place + UP], heap[place + MEMBER]
            if member >= 0:
                moved = heap[nodes[child, MEMBERS] + PAIR * (nodes[child, N_MEMBERS] - 1)]
                if step == 0:
                    prefetch(nodes, N_COLUMNS * np.int64(moved))
                else:
                    prefetch(heap, np.int64(nodes[moved, BLOCK]))
            if place < start + ROW * n_down:
                moved = node
                if up >= 0:
                    moved = target_node(rules, heap[nodes[child, FIRE] + ROW * (nodes[child, N_FIRE] - 1)])
                else:
                    moved = heap[nodes[child, SILENT] + nodes[child, N_SILENT] - 1]
                if step == 0:
                    prefetch(nodes, N_COLUMNS * np.int64(moved))
                else:
                    prefetch(heap, np.int64(nodes[moved, BLOCK]))


@jit
def _take_over(tree: Tree, switches: int, node: int) -> bool:
    """Let one of those that borrow a node take its children in its place; whether there was room for it."""
    nodes, heap, rules, levels, counts = tree.nodes, tree.heap, tree.rules, tree.levels, tree.counts
    parent = 0
    if nodes[node, N_FIRE] > 0:
        parent = target_node(rules, heap[nodes[node, FIRE]])
    else:
        parent = int(heap[nodes[node, SILENT]])
    counts[N_WORDS_WANTED] = _words_wanted(nodes, heap, node, parent)
    has_room = heap[TOP] + counts[N_WORDS_WANTED] <= heap.size and 2 * counts[TOP_LEVEL] + 4 < levels.size
    if has_room:
        row = 0
        while heap[nodes[parent, BLOCK] + ROW * row] != node:
            row += 1
        unlink(nodes, heap, rules, counts, parent, row)
        remove_child_row(nodes, heap, parent, row)
        _take_borrowed(nodes, heap, node, parent)
        _take_atoms(nodes, heap, node, parent)
        if row == 0 and nodes[parent, OP] == AND:
            _put_access_first(tree, parent)
        for new in range(nodes[parent, N_DOWN]):
            if heap[nodes[parent, BLOCK] + ROW * new + UP] == UNLINKED:
                child = heap[nodes[parent, BLOCK] + ROW * new]
                was_sink = is_inner_sink(nodes, rules, child)
                link(nodes, heap, counts, switches, parent, new)
                if was_sink:
                    write_entries(nodes, heap, rules, levels, counts, switches, child)
        counts[N_DISSOLVED] += 1
        if write_entries(nodes, heap, rules, levels, counts, switches, parent):
            tree.flags[parent] |= np.uint8(QUEUED)
            tree.pending[0] = parent
            settle_levels(nodes, heap, rules, levels, counts, tree.flags, tree.pending, 1, switches)
    return bool(has_room)


@jit
def _words_wanted(nodes: NDArray[np.int32], heap: NDArray[np.int32], node: int, parent: int) -> int:
    start, n_down = nodes[node, BLOCK], nodes[node, N_DOWN]
    n_rows = nodes[parent, N_ATOMS] + nodes[parent, N_BORROWED]
    n_words = words_to_append(heap, nodes[parent, BLOCK], ROW * n_rows, ROW * n_down)
    for place in range(n_down + nodes[parent, N_DOWN]):
        row = start + ROW * place if place < n_down else nodes[parent, BLOCK] + ROW * (place - n_down)
        child = heap[row]
        n_words += words_to_append(heap, nodes[child, FIRE], ROW * nodes[child, N_FIRE], ROW)
        n_words += words_to_append(heap, nodes[child, SILENT], nodes[child, N_SILENT], 1)
    return SPARE_WORDS * n_words


@jit
def _is_covered(nodes: NDArray[np.int32], heap: NDArray[np.int32], parent: int, atom: int) -> bool:
    """Return whether an atom is a child of the parent, or one of an atom's of what it borrows."""
    is_covered, start = False, nodes[parent, BLOCK]
    for row in range(nodes[parent, N_DOWN]):
        child = heap[start + ROW * row]
        is_covered = is_covered or child == atom
        if heap[start + ROW * row + MEMBER] == BORROWED and not is_covered:
            below = nodes[child, BLOCK]
            for other in range(nodes[child, N_ATOMS] + nodes[child, N_BORROWED]):
                is_covered = is_covered or heap[below + ROW * other] == atom
    return is_covered


@jit
def _take_borrowed(nodes: NDArray[np.int32], heap: NDArray[np.int32], node: int, parent: int) -> None:
    """Let the parent borrow what the node borrows, where two of its atoms or more are not covered."""
    for row in range(nodes[node, N_DOWN]):
        place = nodes[node, BLOCK] + ROW * row
        child = heap[place]
        if heap[place + MEMBER] == BORROWED:
            n_new, below = 0, nodes[child, BLOCK]
            for other in range(nodes[child, N_ATOMS] + nodes[child, N_BORROWED]):
                if heap[below + ROW * other + MEMBER] != BORROWED:
                    n_new += not _is_covered(nodes, heap, parent, heap[below + ROW * other])
            if n_new > 1:
                n_rows = nodes[parent, N_ATOMS] + nodes[parent, N_BORROWED]
                nodes[parent, BLOCK] = with_room(heap, nodes[parent, BLOCK], ROW * n_rows, ROW)
                add_child_row(nodes, heap, parent, child)


@jit
def _take_atoms(nodes: NDArray[np.int32], heap: NDArray[np.int32], node: int, parent: int) -> None:
    """Make children of the parent of all atoms of the node that are not covered."""
    start = nodes[parent, BLOCK]
    for row in range(nodes[node, N_ATOMS] + nodes[node, N_BORROWED]):
        place = nodes[node, BLOCK] + ROW * row
        if heap[place + MEMBER] != BORROWED and not _is_covered(nodes, heap, parent, heap[place]):
            other = nodes[parent, N_DOWN]
            while heap[start + ROW * other] != heap[place]:
                other += 1
            swap_rows(heap, start, nodes[parent, N_DOWN], other)
            nodes[parent, N_DOWN] += 1


@jit
def _put_access_first(tree: Tree, parent: int) -> None:
    """Choose the access child anew among all children: the old ones are silent, the new ones not linked yet."""
    nodes, heap = tree.nodes, tree.heap
    reorder_children(nodes, heap, tree.chance, parent, 0)
    place = nodes[parent, BLOCK]
    if heap[place + UP] != UNLINKED:
        unlink(nodes, heap, tree.rules, tree.counts, parent, 0)
        heap[place + UP] = UNLINKED

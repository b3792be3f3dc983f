"""The links between the nodes of an A-Tree, in both directions, and what is fired along them.

Each link lies at both of its ends, and each end knows the place of the other: of the lists at the lower end an entry is
taken out by moving the last one into its place, so that no list is ever searched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import AND, OR
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.atree.heap import with_room, without_waste
from ruledex.engines.atree.layout import (
    BLOCK,
    CHILD,
    FIRE,
    LEVEL,
    MEMBER,
    MEMBERS,
    N_ATOMS,
    N_BORROWED,
    N_DOWN,
    N_EDGES,
    N_FIRE,
    N_LENT,
    N_MEMBERS,
    N_SILENT,
    NEXT,
    NO_RULE,
    ON_DEMAND,
    OP,
    PAIR,
    QUEUED,
    ROOT,
    ROW,
    RULE,
    SILENT,
    TOP_LEVEL,
    UP,
    USES,
)

VERIFY = 1  # in the flags of an entry


@inlined
def target_node(rules: NDArray[np.int32], target: int) -> int:
    """Return the node that an entry fires."""
    return target if target >= 0 else int(rules[~target, ROOT])


@inlined
def _row_of(nodes: NDArray[np.int32], heap: NDArray[np.int32], parent: int, child: int, column: int) -> int:
    """Where the row of a child lies in the parent's block: among children, or if `column` is MEMBER among all rows."""
    n_rows = nodes[parent, N_DOWN]
    if column == MEMBER:
        n_rows = nodes[parent, N_ATOMS] + nodes[parent, N_BORROWED]
    place = nodes[parent, BLOCK]
    end = place + ROW * n_rows
    while place < end and heap[place + CHILD] != child:
        place += ROW
    return int(place)


@inlined
def append_fired(nodes: NDArray[np.int32], heap: NDArray[np.int32], child: int, parent: int) -> int:
    """Let a child fire a parent; the rest of the entry is for `write_entries` to fill in. Returns its place."""
    n_fired = nodes[child, N_FIRE]
    start = with_room(heap, nodes[child, FIRE], ROW * n_fired, ROW)
    heap[start + ROW * n_fired] = parent
    nodes[child, FIRE] = start
    nodes[child, N_FIRE] = n_fired + 1
    return int(n_fired)


@inlined
def append_silent(nodes: NDArray[np.int32], heap: NDArray[np.int32], child: int, parent: int) -> int:
    """Note a silent parent; returns ~place."""
    n_silent = nodes[child, N_SILENT]
    start = with_room(heap, nodes[child, SILENT], n_silent, 1)
    heap[start + n_silent] = parent
    nodes[child, SILENT] = start
    nodes[child, N_SILENT] = n_silent + 1
    return ~int(n_silent)


@inlined
def _remove_fired(
    nodes: NDArray[np.int32], heap: NDArray[np.int32], rules: NDArray[np.int32], child: int, place: int
) -> None:
    start, last = nodes[child, FIRE], nodes[child, N_FIRE] - 1
    if place != last:
        for word in range(ROW):
            heap[start + ROW * place + word] = heap[start + ROW * last + word]
        moved = target_node(rules, heap[start + ROW * place])
        heap[_row_of(nodes, heap, moved, child, UP) + UP] = place
    nodes[child, FIRE] = without_waste(heap, start, ROW * last, ROW)
    nodes[child, N_FIRE] = last


@inlined
def _remove_silent(nodes: NDArray[np.int32], heap: NDArray[np.int32], child: int, place: int) -> None:
    start, last = nodes[child, SILENT], nodes[child, N_SILENT] - 1
    if place != last:
        moved = heap[start + last]
        heap[start + place] = moved
        heap[_row_of(nodes, heap, moved, child, UP) + UP] = ~place
    nodes[child, SILENT] = without_waste(heap, start, last, 1)
    nodes[child, N_SILENT] = last


@inlined
def remove_up(
    nodes: NDArray[np.int32], heap: NDArray[np.int32], rules: NDArray[np.int32], child: int, place: int
) -> None:
    """Take a link out of the lists of a child; `place` is as in the parent's row."""
    if place >= 0:
        _remove_fired(nodes, heap, rules, child, place)
    else:
        _remove_silent(nodes, heap, child, ~place)


@inlined
def append_member(nodes: NDArray[np.int32], heap: NDArray[np.int32], atom: int, node: int, signature: int) -> int:
    """Note that an atom is one of a node's; returns the place."""
    n_members = nodes[atom, N_MEMBERS]
    start = with_room(heap, nodes[atom, MEMBERS], PAIR * n_members, PAIR)
    heap[start + PAIR * n_members] = node
    heap[start + PAIR * n_members + 1] = signature
    nodes[atom, MEMBERS] = start
    nodes[atom, N_MEMBERS] = n_members + 1
    return int(n_members)


@inlined
def remove_member(nodes: NDArray[np.int32], heap: NDArray[np.int32], atom: int, place: int) -> None:
    """Take an entry out of an atom's list of members."""
    start, last = nodes[atom, MEMBERS], nodes[atom, N_MEMBERS] - 1
    if place != last:
        moved = heap[start + PAIR * last]
        heap[start + PAIR * place] = moved
        heap[start + PAIR * place + 1] = heap[start + PAIR * last + 1]
        heap[_row_of(nodes, heap, moved, atom, MEMBER) + MEMBER] = place
    nodes[atom, MEMBERS] = without_waste(heap, start, PAIR * last, PAIR)
    nodes[atom, N_MEMBERS] = last


@inlined
def link(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    counts: NDArray[np.int64],
    switches: int,
    parent: int,
    row: int,
) -> None:
    """Link the child in a row to the parent: row 0 of an AND is its access child, where that is asked on demand."""
    place = nodes[parent, BLOCK] + ROW * row
    child = heap[place + CHILD]
    if nodes[parent, OP] == AND and (switches & ON_DEMAND) != 0 and row > 0:
        heap[place + UP] = append_silent(nodes, heap, child, parent)
    else:
        heap[place + UP] = append_fired(nodes, heap, child, parent)
    nodes[child, USES] += 1
    nodes[child, N_LENT] += nodes[child, OP] == nodes[parent, OP]
    counts[N_EDGES] += 1


@inlined
def unlink(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    rules: NDArray[np.int32],
    counts: NDArray[np.int64],
    parent: int,
    row: int,
) -> None:
    """Undo the link in a row; the row stays."""
    place = nodes[parent, BLOCK] + ROW * row
    child = heap[place + CHILD]
    remove_up(nodes, heap, rules, child, heap[place + UP])
    nodes[child, USES] -= 1
    nodes[child, N_LENT] -= nodes[child, OP] == nodes[parent, OP]
    counts[N_EDGES] -= 1


@inlined
def swap_rows(heap: NDArray[np.int32], start: int, row: int, other: int) -> None:
    """Exchange two rows of a block: nothing outside of a block knows their order."""
    for word in range(ROW):
        one, two = start + ROW * row + word, start + ROW * other + word
        heap[one], heap[two] = heap[two], heap[one]


@inlined
def is_inner_sink(nodes: NDArray[np.int32], rules: NDArray[np.int32], node: int) -> bool:
    """Return whether one rule is all that an AND or OR is for."""
    rule = nodes[node, RULE]
    is_alone = nodes[node, USES] == 1 and rule != NO_RULE and rules[rule, NEXT] == NO_RULE
    return bool(nodes[node, OP] <= OR and is_alone)


@jit
def write_entries(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    rules: NDArray[np.int32],
    levels: NDArray[np.int32],
    counts: NDArray[np.int64],
    switches: int,
    node: int,
) -> bool:
    """Find a node's level anew, and write what its children fire; return whether its level has changed."""
    start, n_down = nodes[node, BLOCK], nodes[node, N_DOWN]
    highest = 0
    for row in range(n_down):
        highest = max(highest, nodes[heap[start + ROW * row], LEVEL])
    level, before = highest + 1, nodes[node, LEVEL]
    if level != before:
        levels[before] -= 1
        levels[level] += 1
        nodes[node, LEVEL] = level
        counts[TOP_LEVEL] = max(counts[TOP_LEVEL], level)
        while levels[counts[TOP_LEVEL]] == 0:
            counts[TOP_LEVEL] -= 1
    target = ~nodes[node, RULE] if is_inner_sink(nodes, rules, node) else node
    flags = level << 1
    n_fired = n_down
    second = node
    if nodes[node, OP] == AND and (switches & ON_DEMAND) != 0:
        n_fired = 1
        second = heap[start]
        # Only of a child that lies no higher than the access child is the truth known when that one fires.
        row = 1
        while row < n_down and nodes[heap[start + ROW * row], LEVEL] > nodes[second, LEVEL]:
            row += 1
        if row < n_down:
            swap_rows(heap, start, 1, row)
            second = heap[start + ROW]
        if row == n_down or n_down > 2:
            flags |= VERIFY
            target = node
    for row in range(n_fired):
        child, place = heap[start + ROW * row], heap[start + ROW * row + UP]
        entry = nodes[child, FIRE] + ROW * place
        heap[entry] = target
        heap[entry + 1] = second if n_fired == 1 else child
        heap[entry + 2] = flags
    return bool(level != before)


@jit
def settle_levels(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    rules: NDArray[np.int32],
    levels: NDArray[np.int32],
    counts: NDArray[np.int64],
    flags: NDArray[np.uint8],
    pending: NDArray[np.int32],
    n_pending: int,
    switches: int,
) -> None:
    """Carry changed levels upwards from the pending nodes, each of which is `QUEUED`."""
    while n_pending > 0:
        n_pending -= 1
        node = pending[n_pending]
        flags[node] &= ~np.uint8(QUEUED)
        n_fired = nodes[node, N_FIRE]
        for place in range(n_fired + nodes[node, N_SILENT]):
            parent = nodes[node, SILENT] + place - n_fired
            if place < n_fired:
                parent = target_node(rules, heap[nodes[node, FIRE] + ROW * place])
            else:
                parent = heap[parent]
            if write_entries(nodes, heap, rules, levels, counts, switches, parent) and flags[parent] & QUEUED == 0:
                flags[parent] |= np.uint8(QUEUED)
                pending[n_pending] = parent
                n_pending += 1

"""Make and adjust the nodes of an A-Tree (a-tree2021, Sections 4.2.2 to 4.2.4).

Reorganisation is the paper's greedy set cover: of the nodes whose atoms are some of the new one's, the one that covers
the most atoms not covered yet is borrowed. Self-adjustment is the converse: nodes that hold all atoms of the new one
borrow it, where it takes the place of two children or more. A node that is used only by borrowers is dissolved: they
take its children instead. The paper's Algorithm 3 does not count these uses, so its Algorithm 5 could remove a node
that others still borrow; here a use is a parent or a rule.

Candidates to borrow and to lend to are found in the lists of members, where signatures exclude nearly all. A set of two
atoms or more is in at least two lists, so the longest need not be read. Lists beyond a limit are not read either,
which is counted: a chance to share is then missed, and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import prefetch
from ruledex.compiled.constants import AND
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.atree.heap import TOP, new_block, with_room, words_for, words_to_append
from ruledex.engines.atree.layout import (
    BLOCK,
    BORROWED,
    CHILD,
    FIRE,
    KEY,
    LISTED,
    MEMBER,
    MEMBERS,
    N_ADJUSTED,
    N_ATOMS,
    N_BORROWED,
    N_COLUMNS,
    N_DOWN,
    N_FIRE,
    N_INNER,
    N_LISTS_SKIPPED,
    N_MEMBERS,
    N_NODES,
    N_REUSED,
    N_SILENT,
    N_WORDS_WANTED,
    ON_DEMAND,
    OP,
    PAIR,
    QUEUED,
    REORGANISE,
    ROW,
    SELF_ADJUST,
    SHARE,
    SILENT,
    TOP_LEVEL,
    UNLINKED,
    UNLISTED,
    UP,
    Tree,
    enter,
    hash_of,
    mix,
    n_atoms_in,
    new_node,
    place_in,
    signature_of,
)
from ruledex.engines.atree.links import (
    append_member,
    is_inner_sink,
    link,
    settle_levels,
    swap_rows,
    unlink,
    write_entries,
)

MOST_CANDIDATES = 64
MOST_ADOPTERS = 1024
LONGEST_COVER_LIST = 1024  # members of one atom, of which each may be borrowed
LONGEST_ADOPTER_LIST = 8192
NO_ROOM = -3
SPARE_WORDS = 4  # a list that grows step by step passes through blocks of less than four times its last one


class CoverPlan(NamedTuple):
    """What is to become of a new node: scratch, as long as it has atoms, but for the last."""

    covered: NDArray[np.uint8]  # [n_atoms]
    candidates: NDArray[np.int32]  # [MOST_CANDIDATES] nodes to borrow; those that are chosen come first
    adopters: NDArray[np.int32]  # [MOST_ADOPTERS] nodes that will borrow the new one


@jit
def new_cover_plan(most_atoms: int) -> CoverPlan:
    """Scratch for nodes of so many atoms at the most."""
    return CoverPlan(
        np.empty(most_atoms, np.uint8), np.empty(MOST_CANDIDATES, np.int32), np.empty(MOST_ADOPTERS, np.int32)
    )


@jit
def find_borrowable(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    counts: NDArray[np.int64],
    atoms: NDArray[np.int32],
    n_atoms: int,
    signature: int,
    candidates: NDArray[np.int32],
) -> int:
    """Nodes all of whose atoms are among these; return how many.

    First those are noted that may be such, so that the memory of all of them is waited for together.
    """
    longest = 0
    for place in range(n_atoms):
        if nodes[atoms[place], N_MEMBERS] > nodes[atoms[longest], N_MEMBERS]:
            longest = place
    n_found = 0
    for place in range(n_atoms):
        n_members = nodes[atoms[place], N_MEMBERS]
        start = nodes[atoms[place], MEMBERS]
        if place == longest:
            n_members = 0
        if n_members > LONGEST_COVER_LIST:
            counts[N_LISTS_SKIPPED] += 1
            n_members = 0
        for entry in range(start, start + PAIR * n_members, PAIR):
            if heap[entry + 1] & ~signature == 0 and n_found < candidates.size:
                node = heap[entry]
                is_known = False
                for other in range(n_found):
                    is_known = is_known or candidates[other] == node
                if not is_known:
                    prefetch(nodes, N_COLUMNS * np.int64(node))
                    candidates[n_found] = node
                    n_found += 1
    _fetch_blocks(nodes, heap, candidates, n_found)
    n_kept = 0
    for place in range(n_found):
        node = candidates[place]
        if n_atoms_in(nodes, heap, node, atoms, n_atoms) == nodes[node, N_ATOMS]:
            candidates[n_kept] = node
            n_kept += 1
    return n_kept


@inlined
def _fetch_blocks(nodes: NDArray[np.int32], heap: NDArray[np.int32], found: NDArray[np.int32], n_found: int) -> None:
    """Ask for the blocks of nodes."""
    for place in range(n_found):
        prefetch(heap, np.int64(nodes[found[place], BLOCK]))


@jit
def choose_cover(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    operation: int,
    atoms: NDArray[np.int32],
    n_atoms: int,
    covered: NDArray[np.uint8],
    candidates: NDArray[np.int32],
    n_candidates: int,
) -> int:
    """Run the greedy set cover of Algorithm 2: put the chosen candidates first, mark what they cover, return how many.

    One that covers a single atom more takes its place in an AND, where it is true less often; in an OR it is of no use.
    """
    n_chosen = 0
    while True:
        best, most = -1, 0 if operation == AND else 1
        for candidate in range(n_chosen, n_candidates):
            node = candidates[candidate]
            start, n_new = nodes[node, BLOCK], 0
            for row in range(nodes[node, N_ATOMS] + nodes[node, N_BORROWED]):
                if heap[start + ROW * row + MEMBER] != BORROWED:
                    n_new += 1 - int(covered[place_in(atoms, n_atoms, heap[start + ROW * row])])
            if n_new > most:
                best, most = candidate, n_new
        if best < 0:
            break
        node = candidates[best]
        candidates[best], candidates[n_chosen] = candidates[n_chosen], node
        n_chosen += 1
        start = nodes[node, BLOCK]
        for row in range(nodes[node, N_ATOMS] + nodes[node, N_BORROWED]):
            if heap[start + ROW * row + MEMBER] != BORROWED:
                covered[place_in(atoms, n_atoms, heap[start + ROW * row])] = 1
    return n_chosen


@inlined
def _n_replaced(
    nodes: NDArray[np.int32], heap: NDArray[np.int32], node: int, atoms: NDArray[np.int32], n_atoms: int
) -> int:
    """Return how many children of a node a set of its atoms stands for."""
    n_replaced, start = 0, nodes[node, BLOCK]
    for row in range(nodes[node, N_DOWN]):
        n_replaced += is_within(nodes, heap, start + ROW * row, atoms, n_atoms)
    return n_replaced


@inlined
def is_within(
    nodes: NDArray[np.int32], heap: NDArray[np.int32], place: int, atoms: NDArray[np.int32], n_atoms: int
) -> bool:
    """Return whether the child in the row at `place` is one of the atoms, or borrowed and made of some of them."""
    child = heap[place + CHILD]
    is_part = place_in(atoms, n_atoms, child) >= 0
    if heap[place + MEMBER] == BORROWED:
        is_part = n_atoms_in(nodes, heap, child, atoms, n_atoms) == nodes[child, N_ATOMS]
    return is_part


@jit
def find_adopters(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    counts: NDArray[np.int64],
    atoms: NDArray[np.int32],
    n_atoms: int,
    signature: int,
    adopters: NDArray[np.int32],
) -> int:
    """Nodes of more atoms than these, in which they stand for two children or more; return how many."""
    shortest = 0
    for place in range(n_atoms):
        if nodes[atoms[place], N_MEMBERS] < nodes[atoms[shortest], N_MEMBERS]:
            shortest = place
    start, n_members = nodes[atoms[shortest], MEMBERS], nodes[atoms[shortest], N_MEMBERS]
    if n_members > LONGEST_ADOPTER_LIST:
        counts[N_LISTS_SKIPPED] += 1
        n_members = 0
    n_found = 0
    for entry in range(start, start + PAIR * n_members, PAIR):
        if signature & ~heap[entry + 1] == 0 and n_found < adopters.size:
            prefetch(nodes, N_COLUMNS * np.int64(heap[entry]))
            adopters[n_found] = heap[entry]
            n_found += 1
    _fetch_blocks(nodes, heap, adopters, n_found)
    n_kept = 0
    for place in range(n_found):
        node = adopters[place]
        if (
            n_atoms_in(nodes, heap, node, atoms, n_atoms) == n_atoms
            and _n_replaced(nodes, heap, node, atoms, n_atoms) >= 2
        ):
            adopters[n_kept] = node
            n_kept += 1
    return n_kept


@jit
def _words_wanted(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    atoms: NDArray[np.int32],
    n_atoms: int,
    plan: CoverPlan,
    n_chosen: int,
    n_adopters: int,
) -> int:
    """Return how much of the heap a new node may take, what its neighbours' lists need included."""
    candidates, adopters = plan.candidates, plan.adopters
    n_words = words_for(ROW * (n_atoms + n_chosen)) + words_for(ROW * n_adopters) + words_for(n_adopters)
    for place in range(n_atoms + n_chosen):
        child = atoms[place] if place < n_atoms else candidates[place - n_atoms]
        n_words += words_to_append(heap, nodes[child, FIRE], ROW * nodes[child, N_FIRE], ROW)
        n_words += words_to_append(heap, nodes[child, SILENT], nodes[child, N_SILENT], 1)
        n_words += words_to_append(heap, nodes[child, MEMBERS], PAIR * nodes[child, N_MEMBERS], PAIR)
    for place in range(n_adopters):
        node = adopters[place]
        start, n_rows = nodes[node, BLOCK], nodes[node, N_ATOMS] + nodes[node, N_BORROWED]
        n_words += words_to_append(heap, start, ROW * n_rows, ROW)
        access = heap[start]
        n_words += words_to_append(heap, nodes[access, SILENT], nodes[access, N_SILENT], n_adopters)
    return SPARE_WORDS * n_words


@jit
def _rank(chance: NDArray[np.float32], parent: int, child: int) -> float:
    """Children are ordered by this: by how often they are true where that is known, or else at random, as the paper."""
    if chance.size != 0:
        return float(chance[child])
    return float(mix(int(parent) ^ mix(child)))


@jit
def reorder_children(
    nodes: NDArray[np.int32], heap: NDArray[np.int32], chance: NDArray[np.float32], node: int, first: int
) -> None:
    """Put a node's children from row `first` on into the order of their ranks: row 0 is the access child."""
    start = nodes[node, BLOCK]
    for row in range(first + 1, nodes[node, N_DOWN]):
        rank = _rank(chance, node, heap[start + ROW * row])
        at = row
        while at > first and _rank(chance, node, heap[start + ROW * (at - 1)]) > rank:
            swap_rows(heap, start, at, at - 1)
            at -= 1


@inlined
def _fetch_lists(nodes: NDArray[np.int32], heap: NDArray[np.int32], operation: int, atom: int) -> None:
    """Ask for both ends of the list of an atom's members, and for the end of the one that a link most likely goes to.

    It asks for nothing else: a request in vain, for a page that was not used lately, costs more than it saves.
    """
    members = nodes[atom, MEMBERS]
    prefetch(heap, np.int64(members))
    prefetch(heap, np.int64(members + PAIR * nodes[atom, N_MEMBERS]))
    if operation == AND:
        prefetch(heap, np.int64(nodes[atom, SILENT] + nodes[atom, N_SILENT]))
    else:
        prefetch(heap, np.int64(nodes[atom, FIRE] + ROW * nodes[atom, N_FIRE]))


@jit
def make_node(
    tree: Tree, switches: int, operation: int, atoms: NDArray[np.int32], n_atoms: int, chance_of: float, plan: CoverPlan
) -> int:
    """Make a node of at least two ascending atoms. Returns `NO_ROOM` if there is no room for it.

    Where nodes are shared, the caller has found that there is no node of these atoms yet. The function first finds out
    what to do and whether there is room for it, and then does it: `NO_ROOM` leaves everything as it was.
    """
    nodes, heap, rules, levels, counts = tree.nodes, tree.heap, tree.rules, tree.levels, tree.counts
    covered, candidates, adopters = plan.covered, plan.candidates, plan.adopters
    chance = tree.chance
    signature = signature_of(operation, atoms, n_atoms)
    n_chosen, n_adopters = 0, 0
    for place in range(n_atoms):
        covered[place] = 0
        _fetch_lists(nodes, heap, operation, atoms[place])
    if switches & REORGANISE != 0:
        n_candidates = find_borrowable(nodes, heap, counts, atoms, n_atoms, signature, candidates)
        n_chosen = choose_cover(nodes, heap, operation, atoms, n_atoms, covered, candidates, n_candidates)
    if switches & SELF_ADJUST != 0:
        n_adopters = find_adopters(nodes, heap, counts, atoms, n_atoms, signature, adopters)
    counts[N_WORDS_WANTED] = _words_wanted(nodes, heap, atoms, n_atoms, plan, n_chosen, n_adopters)
    made = NO_ROOM
    if (
        heap[TOP] + counts[N_WORDS_WANTED] <= heap.size
        and counts[N_NODES] < nodes.shape[0]
        and (2 * counts[N_INNER] < tree.table.size or switches & SHARE == 0)
        and 2 * counts[TOP_LEVEL] + 4 < levels.size
    ):
        made = new_node(nodes, levels, counts, operation, 1)
        if chance.size != 0:
            chance[made] = chance_of
        _fill_rows(nodes, heap, switches, made, atoms, n_atoms, signature, covered, candidates, n_chosen)
        reorder_children(nodes, heap, chance, made, 0)
        for row in range(nodes[made, N_DOWN]):
            child = heap[nodes[made, BLOCK] + ROW * row]
            was_sink = is_inner_sink(nodes, rules, child)
            link(nodes, heap, counts, switches, made, row)
            if was_sink:
                write_entries(nodes, heap, rules, levels, counts, switches, child)
        write_entries(nodes, heap, rules, levels, counts, switches, made)
        counts[N_INNER] += 1
        counts[N_REUSED] += n_chosen
        nodes[made, KEY] = hash_of(operation, atoms, n_atoms)
        if switches & SHARE != 0:
            enter(tree.table, made, nodes[made, KEY])
        n_pending = 0
        for place in range(n_adopters):
            if _adopt(nodes, heap, rules, levels, counts, chance, switches, adopters[place], made, atoms, n_atoms):
                tree.flags[adopters[place]] |= np.uint8(QUEUED)
                tree.pending[n_pending] = adopters[place]
                n_pending += 1
        settle_levels(nodes, heap, rules, levels, counts, tree.flags, tree.pending, n_pending, switches)
    return made


@jit
def _fill_rows(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    switches: int,
    node: int,
    atoms: NDArray[np.int32],
    n_atoms: int,
    signature: int,
    covered: NDArray[np.uint8],
    chosen: NDArray[np.int32],
    n_chosen: int,
) -> None:
    """Write the block of a new node: what it borrows, the atoms that are left over, and those that are covered."""
    start = new_block(heap, ROW * (n_atoms + n_chosen))
    n_down = 0
    for place in range(n_chosen):
        heap[start + ROW * n_down] = chosen[place]
        heap[start + ROW * n_down + UP] = UNLINKED
        heap[start + ROW * n_down + MEMBER] = BORROWED
        n_down += 1
    last = n_atoms + n_chosen
    for place in range(n_atoms):
        row = n_down
        if covered[place] != 0:
            last -= 1
            row = last
        else:
            n_down += 1
        heap[start + ROW * row] = atoms[place]
        heap[start + ROW * row + UP] = UNLINKED
        member = UNLISTED
        if switches & LISTED != 0:
            member = append_member(nodes, heap, atoms[place], node, signature)
        heap[start + ROW * row + MEMBER] = member
    nodes[node, BLOCK], nodes[node, N_DOWN] = start, n_down
    nodes[node, N_ATOMS], nodes[node, N_BORROWED] = n_atoms, n_chosen


@jit
def _adopt(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    rules: NDArray[np.int32],
    levels: NDArray[np.int32],
    counts: NDArray[np.int64],
    chance: NDArray[np.float32],
    switches: int,
    node: int,
    made: int,
    atoms: NDArray[np.int32],
    n_atoms: int,
) -> bool:
    """Let a node borrow the new one in the place of the children that it stands for; whether the level has changed."""
    n_rows = nodes[node, N_ATOMS] + nodes[node, N_BORROWED]
    start = with_room(heap, nodes[node, BLOCK], ROW * n_rows, ROW)
    nodes[node, BLOCK] = start
    access_is_gone, row = False, 0
    while row < nodes[node, N_DOWN]:
        if is_within(nodes, heap, start + ROW * row, atoms, n_atoms):
            access_is_gone = access_is_gone or row == 0
            child = heap[start + ROW * row]
            unlink(nodes, heap, rules, counts, node, row)
            remove_child_row(nodes, heap, node, row)
            if is_inner_sink(nodes, rules, child):
                write_entries(nodes, heap, rules, levels, counts, switches, child)
        else:
            row += 1
    row = add_child_row(nodes, heap, node, made)
    is_on_demand = nodes[node, OP] == AND and (switches & ON_DEMAND) != 0
    if is_on_demand and not access_is_gone and chance.size != 0 and chance[made] < chance[heap[start]]:
        unlink(nodes, heap, rules, counts, node, 0)
        access_is_gone = True
        swap_rows(heap, start, 0, row)
        link(nodes, heap, counts, switches, node, 0)
        link(nodes, heap, counts, switches, node, row)
    elif is_on_demand and access_is_gone:
        # What stands for the access child is true less often than it.
        swap_rows(heap, start, 0, row)
        link(nodes, heap, counts, switches, node, 0)
    else:
        link(nodes, heap, counts, switches, node, row)
    counts[N_ADJUSTED] += 1
    return write_entries(nodes, heap, rules, levels, counts, switches, node)


@jit
def remove_child_row(nodes: NDArray[np.int32], heap: NDArray[np.int32], node: int, row: int) -> None:
    """Take an unlinked row from among the children: an atom is then covered, and the row of a borrowed node goes."""
    start = nodes[node, BLOCK]
    last_child = nodes[node, N_DOWN] - 1
    nodes[node, N_DOWN] = last_child
    swap_rows(heap, start, row, last_child)
    if heap[start + ROW * last_child + MEMBER] == BORROWED:
        nodes[node, N_BORROWED] -= 1
        swap_rows(heap, start, last_child, nodes[node, N_ATOMS] + nodes[node, N_BORROWED])
    else:
        heap[start + ROW * last_child + UP] = UNLINKED


@jit
def add_child_row(nodes: NDArray[np.int32], heap: NDArray[np.int32], node: int, borrowed: int) -> int:
    """Add the row of a node to borrow, for which the block has room, among the children; return its number."""
    start, n_down = nodes[node, BLOCK], nodes[node, N_DOWN]
    last = nodes[node, N_ATOMS] + nodes[node, N_BORROWED]
    heap[start + ROW * last] = borrowed
    heap[start + ROW * last + UP] = UNLINKED
    heap[start + ROW * last + MEMBER] = BORROWED
    swap_rows(heap, start, n_down, last)
    nodes[node, N_BORROWED] += 1
    nodes[node, N_DOWN] = n_down + 1
    return int(n_down)

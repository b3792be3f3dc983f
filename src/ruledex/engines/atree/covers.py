"""What a new node of an A-Tree may borrow, and which nodes may borrow it (a-tree2021, Section 4.2).

Nothing changes here. Candidates are found in the lists of members, where signatures exclude nearly all. A set of two
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
from ruledex.engines.atree.layout import (
    BLOCK,
    BORROWED,
    CHILD,
    MEMBER,
    MEMBERS,
    N_ATOMS,
    N_BORROWED,
    N_COLUMNS,
    N_DOWN,
    N_LISTS_SKIPPED,
    N_MEMBERS,
    PAIR,
    ROW,
    n_atoms_in,
    place_in,
)

MOST_CANDIDATES = 64
MOST_ADOPTERS = 1024
LONGEST_COVER_LIST = 1024  # members of one atom, of which each may be borrowed
LONGEST_ADOPTER_LIST = 8192


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
    is_within = place_in(atoms, n_atoms, child) >= 0
    if heap[place + MEMBER] == BORROWED:
        is_within = n_atoms_in(nodes, heap, child, atoms, n_atoms) == nodes[child, N_ATOMS]
    return is_within


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

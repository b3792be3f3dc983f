"""Disjunctive and conjunctive normal forms of a Program's nodes.

Both are the same with the roles of AND and OR exchanged: `outer` is the operation between clauses, OR for DNF and AND
for CNF. A node of the outer operation has the clauses of all its children; one of the other has a clause for each way
to choose one of each child's. A clause is an ascending list of literals without duplicates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.inputs import Nodes

LARGEST_SIZE = 1e18  # sizes are counted up to here
MOST_COMPARED = 1000  # clauses of one rule; in a rule of more, none is compared with the others
SIGNATURE_BITS = 63


class FormScratch(NamedTuple):
    """What the conversion of one root needs: `path` is as long as the deepest root, the others as the largest form.

    Clauses of nodes whose parent is still open lie on a stack. `literals` has room for two forms, since a product is
    written above its factors before it takes their place.
    """

    path: NDArray[np.int64]  # [3, depth]: inner node, its next child, where its clauses begin
    ends: NDArray[np.int64]  # of clauses on the stack; clause c begins where the one before ends
    literals: NDArray[np.int32]
    signatures: NDArray[np.int64]


@jit
def form_sizes(
    nodes: Nodes, n_literals: int, outer: int, n_clauses: NDArray[np.float64], n_in_all: NDArray[np.float64]
) -> None:
    """For each node how many clauses its form has, and how many literals in all of them, none yet struck out."""
    for literal in range(n_literals):
        n_clauses[literal], n_in_all[literal] = 1.0, 1.0
    for inner in range(nodes.node_op.size):
        is_outer = nodes.node_op[inner] == outer
        clauses, in_all = 0.0 if is_outer else 1.0, 0.0
        for place in range(nodes.child_offsets[inner], nodes.child_offsets[inner + 1]):
            more, more_in_all = float(n_clauses[nodes.children[place]]), float(n_in_all[nodes.children[place]])
            if is_outer:
                clauses, in_all = clauses + more, in_all + more_in_all
            else:
                clauses, in_all = clauses * more, in_all * more + clauses * more_in_all
            clauses, in_all = min(clauses, LARGEST_SIZE), min(in_all, LARGEST_SIZE)
        n_clauses[n_literals + inner], n_in_all[n_literals + inner] = clauses, in_all


@inlined
def _merge(literals: NDArray[np.int32], left: int, left_end: int, right: int, right_end: int, out: int) -> int:
    """Write the union of two ascending lists to `out`; return where it ends."""
    while left < left_end and right < right_end:
        mine, other = literals[left], literals[right]
        literals[out] = min(mine, other)
        left += 1 if mine <= other else 0
        right += 1 if other <= mine else 0
        out += 1
    for place in range(left, left_end):
        literals[out] = literals[place]
        out += 1
    for place in range(right, right_end):
        literals[out] = literals[place]
        out += 1
    return out


@jit
def _multiply(scratch: FormScratch, first: int, middle: int, top: int) -> int:
    """Put all unions of a clause of `[first, middle)` and one of `[middle, top)` in their place; return the new top."""
    ends, literals = scratch.ends, scratch.literals
    if first == middle:
        return top
    begin = ends[first - 1] if first > 0 else 0
    out, clause = ends[top - 1], top
    for left in range(first, middle):
        for right in range(middle, top):
            left_begin = ends[left - 1] if left > 0 else 0
            out = _merge(literals, left_begin, ends[left], ends[right - 1], ends[right], out)
            ends[clause] = out
            clause += 1
    moved = ends[top - 1] - begin
    for place in range(ends[top - 1], out):
        literals[place - moved] = literals[place]
    for place in range(top, clause):
        ends[place - top + first] = ends[place] - moved
    return clause - top + first


@jit
def _clauses_of(nodes: Nodes, n_literals: int, outer: int, root: int, scratch: FormScratch) -> tuple[int, bool]:
    """Leave a root's clauses in the scratch; return how many there are, and whether any was multiplied out."""
    operations, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    path, ends, literals = scratch.path, scratch.ends, scratch.literals
    top, depth, node = 0, -1, root
    is_product = False
    while True:
        if node >= n_literals:
            depth += 1
            path[0, depth], path[1, depth], path[2, depth] = node - n_literals, child_offsets[node - n_literals], top
        else:
            begin = ends[top - 1] if top > 0 else 0
            literals[begin] = node
            ends[top] = begin + 1
            top += 1
        finished = top - 1 if node < n_literals else top
        # `finished` is where the clauses of the child begin that was just done; a node that is entered has none yet.
        while depth >= 0:
            inner = path[0, depth]
            if path[1, depth] > child_offsets[inner] and operations[inner] != outer:
                is_product = is_product or (finished - path[2, depth] > 1) or (top - finished > 1)
                top = _multiply(scratch, path[2, depth], finished, top)
            if path[1, depth] < child_offsets[inner + 1]:
                break
            finished = path[2, depth]
            depth -= 1
        if depth < 0:
            return top, is_product
        node = children[path[1, depth]]
        path[1, depth] += 1


@jit
def _is_part(literals: NDArray[np.int32], begin: int, end: int, other: int, other_end: int) -> bool:
    """Return whether all of one ascending list are in the other."""
    while begin < end and other < other_end:
        if literals[begin] < literals[other]:
            return False
        begin += 1 if literals[begin] == literals[other] else 0
        other += 1
    return begin == end


@jit
def _absorb(scratch: FormScratch, n_clauses: int) -> int:
    """Drop each clause that another one is part of; return how many are left. They stay in their order."""
    ends, literals, signatures = scratch.ends, scratch.literals, scratch.signatures
    for clause in range(n_clauses):
        bits = np.int64(0)
        for place in range(ends[clause - 1] if clause > 0 else 0, ends[clause]):
            bits |= np.int64(1) << (literals[place] % SIGNATURE_BITS)
        signatures[clause] = bits
    for clause in range(n_clauses):
        begin = ends[clause - 1] if clause > 0 else 0
        for other in range(n_clauses):
            if signatures[other] < 0 or other == clause or signatures[other] & ~signatures[clause] != 0:
                continue
            other_begin = ends[other - 1] if other > 0 else 0
            if _is_part(literals, other_begin, ends[other], begin, ends[clause]):
                signatures[clause] = -1  # of two that are the same, the later is left
                break
    n_kept, out, begin = 0, 0, 0
    for clause in range(n_clauses):
        end = ends[clause]
        if signatures[clause] >= 0:
            for place in range(begin, end):
                literals[out] = literals[place]
                out += 1
            ends[n_kept] = out
            n_kept += 1
        begin = end
    return n_kept


@jit
def write_clauses(
    nodes: Nodes,
    n_literals: int,
    outer: int,
    roots: NDArray[np.int32],
    sizes: NDArray[np.int64],
    first_root: int,
    scratch: FormScratch,
    root_clauses: NDArray[np.int64],
    clause_ends: NDArray[np.int64],
    literals: NDArray[np.int32],
) -> tuple[int, int, int]:
    """Write the clauses of roots from `first_root` on, as long as there is room for one more root's size.

    Write to `root_clauses` how many each root has, to `clause_ends` where each clause ends in `literals`, counted from
    the first that this call wrote; return the root that comes next, and how many clauses and literals were written.
    Clauses that another one of the same root makes needless are left out where clauses were multiplied, and stay
    where the tree was such a form from the start: there each is one that a score may come from.
    """
    root, n_clauses, n_written = first_root, 0, 0
    while root < roots.size and n_written + sizes[root] <= literals.size:
        found, is_product = _clauses_of(nodes, n_literals, outer, roots[root], scratch)
        if is_product and found <= MOST_COMPARED:
            found = _absorb(scratch, found)
        last = scratch.ends[found - 1]
        literals[n_written : n_written + last] = scratch.literals[:last]
        for clause in range(found):
            clause_ends[n_clauses + clause] = n_written + scratch.ends[clause]
        root_clauses[root] = found
        n_clauses, n_written = n_clauses + found, n_written + last
        root += 1
    return root, n_clauses, n_written

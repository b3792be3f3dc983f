"""Hash-consed AND and OR nodes: a subexpression that many rules share stands once.

A *code* names a node while an index is built: a number from 0 on is a literal, `~n` the inner node n, and the least
numbers are constants. Literals still grow then, so that nodes and literals cannot share one numbering yet;
program_layout.py gives it at the end. Inner nodes are numbered in the order in which they were made, children first.

`join` makes a node as the passes of rewrite/ would: flatten, fold, sort, and of absorb what needs one look at children:

    (a AND b) AND c = a AND b AND c      a AND TRUE = a      a AND FALSE = FALSE      a AND a = a
    p AND NOT p = FALSE                  a AND (a OR b) = a

and each with AND and OR, TRUE and FALSE exchanged, but for `p AND NOT p`: `p OR NOT p` is not always true.

The kernels take plain arrays, return in one place, their end, and call each other outside of branches. Elsewhere Numba
counts the references to each array at each call, by atomic instructions, and that took more time than all the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import (
    FREE,
    HASH_FACTOR,
    HASH_MASK,
    lengthened,
    read_only,
    slots_for,
)
from ruledex.compiled.constants import (
    AND,
    OR,
)
from ruledex.compiled.decorator import jit

ALWAYS_CODE = -(2**31)
NEVER_CODE = ALWAYS_CODE + 1
NO_ROOM = ALWAYS_CODE + 2  # what a node is where an array is full, and each node above it: enlarge, and begin again
_UNDECIDED = ALWAYS_CODE + 3
MAX_NODES = 2**31 - 4

NO_COMPLEMENT = -1

# The columns of `NodeTable.nodes`; the tag is twice the hash of the children, plus the operation.
START, TAG = 0, 1
# The places of `NodeTable.counts`; simplified is a node that became more, or less, than its children in order.
N_NODES, N_SIMPLIFIED = 0, 1


class NodeTable(NamedTuple):
    """Inner nodes. The arrays are longer than what is used of them."""

    nodes: NDArray[np.int64]  # [n_nodes + 1, 2] where its children start, and its tag
    children: NDArray[np.int32]  # codes, ascending within a node, at least two, none twice
    slots: NDArray[np.int32]  # open addressing, a power of two long
    counts: NDArray[np.int64]  # [2]

    @property
    def n_nodes(self) -> int:
        """How many inner nodes there are."""
        return int(self.counts[N_NODES])


def empty_node_table() -> NodeTable:
    """A table without nodes."""
    slots = slots_for(np.empty(0, np.int32), np.empty(0, np.int64), 64)
    return NodeTable(np.zeros((65, 2), np.int64), np.empty(256, np.int32), slots, np.zeros(2, np.int64))


def with_room(table: NodeTable, codes: NDArray[np.int64]) -> tuple[NodeTable, NDArray[np.int64]]:
    """The table and the scratch of `join`, with more room in what was full."""
    n_nodes = table.n_nodes
    if n_nodes >= MAX_NODES:
        raise OverflowError(f"an index has at most {MAX_NODES:,} distinct AND and OR nodes")
    n_children = int(table.nodes[n_nodes, START])
    n_room = n_nodes + n_nodes // 2 + 64
    if n_room < len(table.nodes) and n_children + len(codes) <= len(table.children):
        codes = lengthened(codes, 2 * len(codes))  # it is not the table that is full
    nodes = lengthened(table.nodes, n_room + 1)
    children = lengthened(table.children, n_children + n_children // 2 + len(codes))
    hashes = nodes[:n_nodes, TAG] >> 1
    return NodeTable(nodes, children, slots_for(table.slots, hashes, n_room), table.counts), codes


def add_node(
    table: NodeTable, operation: int, children: NDArray[np.integer], complement: NDArray[np.int32]
) -> tuple[NodeTable, int]:
    """The code of AND or OR of codes, which may be constants, stand in any order and repeat.

    Returns the table to go on with; the one given must not be used again. `complement` is as in `join`.
    """
    given = np.ascontiguousarray(children, np.int64)
    codes = np.empty(len(given) + 16, np.int64)
    complement = read_only(complement)
    while True:
        code = join(*table, complement, operation, given, 0, len(given), codes)
        if code != NO_ROOM:
            return table, int(code)
        table, codes = with_room(table, codes)


@jit
def join(
    nodes: NDArray[np.int64],
    children: NDArray[np.int32],
    slots: NDArray[np.int32],
    counts: NDArray[np.int64],
    complement: NDArray[np.int32],
    operation: int,
    given: NDArray[np.int64],
    first: int,
    last: int,
    codes: NDArray[np.int64],
) -> int:
    """The code of AND or OR of `given[first:last]`, simplified and interned; `NO_ROOM` if an array is full.

    `complement[literal]` is the literal that is its negation, or `NO_COMPLEMENT`. `codes` is scratch for the children.
    """
    decided, n_codes = _gather(nodes, children, operation, given, first, last, codes)
    n_kept = _sort_distinct(codes, n_codes)
    if operation == AND:
        n_kept = _contradiction(codes, n_kept, complement)
    n_kept = _absorb(nodes, children, codes, n_kept)
    found = _intern(nodes, children, slots, counts, operation, codes, n_kept)
    counts[N_SIMPLIFIED] += 1 if n_kept != last - first else 0
    if decided != _UNDECIDED:
        return decided
    if n_kept > 1:
        return found
    if n_kept == 1:
        return int(codes[0])
    is_contradiction = n_codes > 0
    return NEVER_CODE if (operation == OR) != is_contradiction else ALWAYS_CODE


@jit
def _gather(
    nodes: NDArray[np.int64],
    children: NDArray[np.int32],
    operation: int,
    given: NDArray[np.int64],
    first: int,
    last: int,
    codes: NDArray[np.int64],
) -> tuple[int, int]:
    """Write the codes without constants, and the children of nodes of the same operation in their place.

    Returns what the node is, if it is decided by this, and the number of codes; that is 0 for a node that is decided.
    """
    decides, drops = (NEVER_CODE, ALWAYS_CODE) if operation == AND else (ALWAYS_CODE, NEVER_CODE)
    decided, n_codes = _UNDECIDED, 0
    for place in range(first, last):
        code = given[place]
        if code == decides or decided == decides:
            decided = decides
        elif code == NO_ROOM or n_codes == codes.size:
            decided = NO_ROOM
        elif code >= 0 or (code != drops and nodes[~code, TAG] & 1 != operation):
            codes[n_codes] = code
            n_codes += 1
        elif code != drops:
            begin, end = nodes[~code, START], nodes[~code + 1, START]
            if n_codes + end - begin <= codes.size:
                for edge in range(begin, end):
                    codes[n_codes] = children[edge]
                    n_codes += 1
            else:
                decided = NO_ROOM
    return decided, n_codes if decided == _UNDECIDED else 0


@jit
def _sort_distinct(codes: NDArray[np.int64], n_codes: int) -> int:
    """Sort the first `n_codes` in place and drop repetitions; return how many are left."""
    gap = 1
    while gap < n_codes >> 4:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort; for the few children that most nodes have, by insertion alone
        for place in range(gap, n_codes):
            code = codes[place]
            other = place
            while other >= gap and codes[other - gap] > code:
                codes[other] = codes[other - gap]
                other -= gap
            codes[other] = code
        gap //= 3
    n_distinct = min(n_codes, 1)
    for place in range(1, n_codes):
        if codes[place] != codes[n_distinct - 1]:
            codes[n_distinct] = codes[place]
            n_distinct += 1
    return n_distinct


@jit
def _contradiction(codes: NDArray[np.int64], n_codes: int, complement: NDArray[np.int32]) -> int:
    """0 if a literal and its negation are among the ascending codes, else `n_codes`."""
    n_kept = n_codes
    for place in range(n_codes):
        if codes[place] >= 0:
            other = complement[codes[place]]
            # Looked for from one side only, behind the literal: the complement of a complement is the literal.
            low, high = place + 1, n_codes if other > codes[place] else 0
            while low < high:
                middle = (low + high) >> 1
                if codes[middle] < other:
                    low = middle + 1
                else:
                    high = middle
            if low < n_codes and codes[low] == other:
                n_kept = 0
    return n_kept


@jit
def _absorb(nodes: NDArray[np.int64], children: NDArray[np.int32], codes: NDArray[np.int64], n_codes: int) -> int:
    """Drop inner nodes that have a child among the ascending codes; return how many codes are left.

    Such a child is a literal: inner nodes among the codes are of one operation, and their inner children of the other.
    """
    n_inner = 0
    while n_inner < n_codes and codes[n_inner] < 0:
        n_inner += 1
    n_kept = 0
    for place in range(n_codes):
        code = codes[place]
        is_absorbed = False
        if code < 0 and n_inner < n_codes:
            for edge in range(nodes[~code, START], nodes[~code + 1, START]):
                low, high = n_inner, n_codes
                while low < high:
                    middle = (low + high) >> 1
                    if codes[middle] < children[edge]:
                        low = middle + 1
                    else:
                        high = middle
                is_absorbed = is_absorbed or (low < n_codes and codes[low] == children[edge])
        if not is_absorbed:
            codes[n_kept] = code
            n_kept += 1
    return n_kept


@jit
def _intern(
    nodes: NDArray[np.int64],
    children: NDArray[np.int32],
    slots: NDArray[np.int32],
    counts: NDArray[np.int64],
    operation: int,
    codes: NDArray[np.int64],
    n_codes: int,
) -> int:
    """The code of the node with these ascending children, made if there is none; `NO_ROOM` if there is no room for it.

    Fewer than two children make no node.
    """
    hashed = operation
    for place in range(n_codes):
        hashed = ((hashed ^ (int(codes[place]) & HASH_MASK)) * HASH_FACTOR) & HASH_MASK
        hashed ^= hashed >> 15
    tag = 2 * hashed + operation
    mask = slots.size - 1
    slot = hashed & mask
    found = _UNDECIDED
    while n_codes > 1 and found == _UNDECIDED and slots[slot] != FREE:
        node = int(slots[slot])
        if nodes[node, TAG] == tag and nodes[node + 1, START] - nodes[node, START] == n_codes:
            start = nodes[node, START]
            same = 0
            while same < n_codes and children[start + same] == codes[same]:
                same += 1
            if same == n_codes:
                found = ~node
        slot = (slot + 1) & mask
    if n_codes > 1 and found == _UNDECIDED:
        node = int(counts[N_NODES])
        start = nodes[node, START]
        if node + 1 < nodes.shape[0] and 2 * node < slots.size and start + n_codes <= children.size:
            found = ~node
            slots[slot] = node
            nodes[node, TAG] = tag
            for place in range(n_codes):
                children[start + place] = codes[place]
            nodes[node + 1, START] = start + n_codes
            counts[N_NODES] = node + 1
        else:
            found = NO_ROOM
    return found

"""The table of AND and OR nodes, hash-consed: a subexpression that many rules share stands once.

A *code* names a node during a build: a code from 0 on is a literal, `~n` is the inner node n, and the lowest codes are
constants. The number of literals is not known until the end, so nodes and literals get common ids only in layout.py.
Inner nodes are numbered in the order in which they are made, children first.

`join_nodes` makes a node as the passes of rewrite/ would: flatten, fold, sort, and as much of absorb as needs only
children:

    (a AND b) AND c = a AND b AND c      a AND TRUE = a      a AND FALSE = FALSE      a AND a = a
    p AND NOT p = FALSE                  a AND (a OR b) = a

and each with AND and OR, TRUE and FALSE exchanged, but for `p AND NOT p`: `p OR NOT p` is not always true.

The kernels take plain arrays, return only at their end, and call each other outside of branches. Otherwise Numba counts
the references to each array at each call, with atomic instructions, which took more time than everything else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE, HASH_FACTOR, HASH_MASK, buckets_for, lengthen, read_only
from ruledex.compiled.constants import AND, OR
from ruledex.compiled.decorator import jit
from ruledex.compiled.lists import sort_distinct
from ruledex.errors import RuledexError

ALWAYS_CODE = -(2**31)
NEVER_CODE = ALWAYS_CODE + 1
NO_ROOM = ALWAYS_CODE + 2  # the code of a node, and of all above it, if an array is full: enlarge it and begin again
_UNDECIDED = ALWAYS_CODE + 3
MAX_NODES = 2**31 - 4

NO_COMPLEMENT = -1

# The columns of `NodeTable.nodes`; the tag is twice the hash of the children, plus the operation.
START, TAG = 0, 1
# The entries of `NodeTable.counts`. A node counts as simplified if it became anything but its children in order.
N_NODES, N_SIMPLIFIED = 0, 1


class NodeTable(NamedTuple):
    """The inner nodes. The arrays have room for more."""

    nodes: NDArray[np.int64]  # [n_nodes + 1, 2] where its children start, and its tag
    children: NDArray[np.int32]  # codes, ascending within a node, at least two, none twice
    buckets: NDArray[np.int32]  # of the hash table: node numbers
    counts: NDArray[np.int64]  # [2]

    @property
    def n_nodes(self) -> int:
        """The number of inner nodes."""
        return int(self.counts[N_NODES])


def empty_node_table() -> NodeTable:
    """Return a table without nodes."""
    buckets = np.full(128, FREE, np.int32)
    return NodeTable(np.zeros((65, 2), np.int64), np.empty(256, np.int32), buckets, np.zeros(2, np.int64))


def with_node_room(table: NodeTable, codes: NDArray[np.int64]) -> tuple[NodeTable, NDArray[np.int64]]:
    """Return the table and the scratch of `join_nodes`, with more room in the one that was full."""
    n_nodes = table.n_nodes
    if n_nodes >= MAX_NODES:
        raise RuledexError(f"an index has at most {MAX_NODES:,} AND and OR nodes: divide the rules among several")
    n_children = int(table.nodes[n_nodes, START])
    n_room = n_nodes + n_nodes // 2 + 64
    if n_room < len(table.nodes) and n_children + len(codes) <= len(table.children):
        codes = lengthen(codes, 2 * len(codes))  # it is not the table that is full
    nodes = lengthen(table.nodes, n_room + 1)
    children = lengthen(table.children, n_children + n_children // 2 + len(codes))
    hashes = nodes[:n_nodes, TAG] >> 1
    return NodeTable(nodes, children, buckets_for(table.buckets, hashes, n_room), table.counts), codes


def add_node(
    table: NodeTable, operation: int, children: NDArray[np.integer], complement: NDArray[np.int32]
) -> tuple[NodeTable, int]:
    """Add AND or OR of codes, which may be constants, come in any order and repeat. Returns the table and the code.

    The given table must not be used again. `complement` is as in `join_nodes`.
    """
    given = np.ascontiguousarray(children, np.int64)
    codes = np.empty(len(given) + 16, np.int64)
    complement = read_only(complement)
    while True:
        code = join_nodes(*table, complement, operation, given, 0, len(given), codes)
        if code != NO_ROOM:
            return table, int(code)
        table, codes = with_node_room(table, codes)


@jit
def join_nodes(
    nodes: NDArray[np.int64],
    children: NDArray[np.int32],
    buckets: NDArray[np.int32],
    counts: NDArray[np.int64],
    complement: NDArray[np.int32],
    operation: int,
    given: NDArray[np.int64],
    first: int,
    last: int,
    codes: NDArray[np.int64],
) -> int:
    """Return the code of AND or OR of `given[first:last]`, simplified and interned; `NO_ROOM` if an array is full.

    `complement[literal]` is the literal that is its negation, or `NO_COMPLEMENT`. `codes` is scratch for the children.
    """
    decided, n_codes = _gather(nodes, children, operation, given, first, last, codes)
    n_kept = sort_distinct(codes, n_codes)
    if operation == AND:
        n_kept = _contradiction(codes, n_kept, complement)
    n_kept = _absorb(nodes, children, codes, n_kept)
    found = _intern(nodes, children, buckets, counts, operation, codes, n_kept)
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
    """Write the codes without constants, with nodes of the same operation replaced by their children.

    Returns the code of the node, if that is decided by now, and the number of codes, which is 0 for a decided node.
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
def _contradiction(codes: NDArray[np.int64], n_codes: int, complement: NDArray[np.int32]) -> int:
    """Return 0 if a literal and its negation are among the ascending codes, else `n_codes`."""
    n_kept = n_codes
    for place in range(n_codes):
        if codes[place] >= 0:
            other = complement[codes[place]]
            # Search only behind the literal: the complement of its complement is the literal itself.
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
    buckets: NDArray[np.int32],
    counts: NDArray[np.int64],
    operation: int,
    codes: NDArray[np.int64],
    n_codes: int,
) -> int:
    """Return the code of the node with these ascending children, new or known; `NO_ROOM` if an array is full.

    Fewer than two children make no node.
    """
    hashed = operation
    for place in range(n_codes):
        hashed = ((hashed ^ (int(codes[place]) & HASH_MASK)) * HASH_FACTOR) & HASH_MASK
        hashed ^= hashed >> 15
    tag = 2 * hashed + operation
    mask = buckets.size - 1
    bucket = hashed & mask
    found = _UNDECIDED
    while n_codes > 1 and found == _UNDECIDED and buckets[bucket] != FREE:
        node = int(buckets[bucket])
        if nodes[node, TAG] == tag and nodes[node + 1, START] - nodes[node, START] == n_codes:
            start = nodes[node, START]
            same = 0
            while same < n_codes and children[start + same] == codes[same]:
                same += 1
            if same == n_codes:
                found = ~node
        bucket = (bucket + 1) & mask
    if n_codes > 1 and found == _UNDECIDED:
        node = int(counts[N_NODES])
        start = nodes[node, START]
        if node + 1 < nodes.shape[0] and 2 * node < buckets.size and start + n_codes <= children.size:
            found = ~node
            buckets[bucket] = node
            nodes[node, TAG] = tag
            for place in range(n_codes):
                children[start + place] = codes[place]
            nodes[node + 1, START] = start + n_codes
            counts[N_NODES] = node + 1
        else:
            found = NO_ROOM
    return found

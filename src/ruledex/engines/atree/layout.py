"""What an A-Tree is made of (a-tree2021, Section 4): nodes in rows, and their links in a heap.

A node is a literal, or AND or OR of *atoms*: literals, and nodes of the other operation. The set of its atoms is the
node's expression, and no two nodes have the same. How it is put together is another matter: a node may *borrow* nodes
of its own operation whose atoms are some of its own, and has as children those and the atoms that they leave over.

    P1 OR P2 OR P3 OR P4          atoms P1, P2, P3, P4; children (P1 OR P2 OR P3), which is borrowed, and P4

The block of a node has rows of three words: children first, then the atoms that a borrowed child covers.

    CHILD      a node
    UP         its place in the child's list of those that it fires, ~place in that of its silent parents, UNLINKED
    MEMBER     its place in the atom's list of members; BORROWED in the row of a borrowed child, UNLISTED without lists

An OR is fired by each child. An AND is fired by its *access child* alone, the first row; the others know it as a silent
parent. A fired entry is (target, second, flags): the target is a node, or ~rule where a rule is all that the node is
for; the second is a child that decides most cases by itself; flags are the node's level, and in bit 0 whether the rest
of its children must be looked at when that level comes. A member's entry is (node, signature): a signature has a bit
for the operation and one for each atom, so that one set holds another only if its signature does.

The block of a literal has rows (low, high, place in its bucket): see literals.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE, HASH_FACTOR, HASH_MASK
from ruledex.compiled.constants import AND, OR
from ruledex.compiled.decorator import inlined, jit

POSITIVE, NEGATIVE = 2, 3
UNUSED = -1

# The columns of a node; matching needs the first half.
OP, LEVEL, FIRE, N_FIRE, BLOCK, N_DOWN, RULE, KEY = range(8)
SILENT, N_SILENT, N_ATOMS, N_BORROWED, MEMBERS, N_MEMBERS, USES, N_LENT = range(8, 16)
# KEY is the hash of the atoms; of a negative literal the positive one; of an unused row the next one that is unused.
# USES is parents plus rules, N_LENT how many of the parents borrow the node.
N_COLUMNS, N_MATCH_COLUMNS = 16, 8

CHILD, UP, MEMBER = 0, 1, 2
ROW = 3  # words of a block's row, and of an entry that is fired
PAIR = 2  # words of a member's entry
UNLINKED = -(2**31)
UNLISTED, BORROWED = -1, -2

# The columns of a rule: the node that it is, or one of the next two; and its neighbours among the rules of the node.
ROOT, NEXT, PREVIOUS = 0, 1, 2
RULE_COLUMNS = 3
NO_RULE = -1
RUN = -2  # in a packed tree, where a node has several rules: they and their number lie at RUN - rule in the heap

# The columns of a bucket of intervals (see literals.py).
CENTER, ENTRIES, N_ENTRIES = 0, 1, 2

# The counts.
TOP_NODE, FREE_NODE, N_NODES, N_INNER, N_EDGES, TOP_LEVEL, ALWAYS_RULE, N_CENTERS, N_WORDS_WANTED = range(9)
N_DOOMED, N_FREED, N_REUSED, N_ADJUSTED, N_DISSOLVED, N_LISTS_SKIPPED, N_CENTERS_WANTED = range(9, 16)
N_OF_WIDTH = 16  # from here on, how many intervals hang on a center with so many trailing zeros
N_COUNTS = N_OF_WIDTH + 32

# What a tree does; the bits of its switches.
SHARE, REORGANISE, SELF_ADJUST, ON_DEMAND = 1, 2, 4, 8
LISTED = REORGANISE | SELF_ADJUST  # either needs the lists of members

QUEUED, DOOMED = 1, 2  # the bits of `flags`

N_SIGNATURE_BITS = 29


class Tree(NamedTuple):
    """A tree that changes. Its arrays are longer than what is used of them."""

    nodes: NDArray[np.int32]  # [n, N_COLUMNS]
    heap: NDArray[np.int32]
    table: NDArray[np.int32]  # nodes by the hash of their atoms: open addressing, a power of two long
    rules: NDArray[np.int32]  # [n, 3]
    centers: NDArray[np.int32]  # [n, 3] buckets by the hash of their centers, likewise
    levels: NDArray[np.int32]  # how many nodes each level has; literals have level 1
    counts: NDArray[np.int64]
    flags: NDArray[np.uint8]  # [n] of each node
    pending: NDArray[np.int32]  # [n] nodes whose level has changed
    doomed: NDArray[np.int32]  # [n] nodes that nothing is for any longer
    freed: NDArray[np.int32]  # [n] literals that were removed
    chance: NDArray[np.float32]  # [n] how often a node is true, or empty where nothing is known


@inlined
def mix(number: int) -> int:
    """Return a hash of 32 bits."""
    hashed = ((int(number) + 1) * HASH_FACTOR) & HASH_MASK
    hashed ^= hashed >> 15
    hashed = (hashed * 0x2C1B3C6D) & HASH_MASK
    return hashed ^ (hashed >> 13)


@inlined
def atom_bit(atom: int) -> int:
    """Return the bit of an atom in signatures."""
    return 1 << (mix(atom) % N_SIGNATURE_BITS)


@inlined
def operation_bit(operation: int) -> int:
    """Return the bit of an operation in signatures."""
    return 1 << (N_SIGNATURE_BITS + operation)


@inlined
def hash_of(operation: int, atoms: NDArray[np.int32], n_atoms: int) -> int:
    """Return a hash of a set, of 31 bits: the order of the atoms does not matter."""
    total = operation
    for place in range(n_atoms):
        total += mix(atoms[place])
    return mix(total & HASH_MASK) >> 1


@inlined
def signature_of(operation: int, atoms: NDArray[np.int32], n_atoms: int) -> int:
    """Return the bits of an operation and of all atoms."""
    signature = operation_bit(operation)
    for place in range(n_atoms):
        signature |= atom_bit(atoms[place])
    return signature


@inlined
def place_in(atoms: NDArray[np.int32], n_atoms: int, atom: int) -> int:
    """Return the place of an atom among ascending ones, or -1."""
    low, high = 0, n_atoms
    while low < high:
        middle = (low + high) >> 1
        if atoms[middle] < atom:
            low = middle + 1
        else:
            high = middle
    return low if low < n_atoms and atoms[low] == atom else -1


@inlined
def n_atoms_in(
    nodes: NDArray[np.int32], heap: NDArray[np.int32], node: int, atoms: NDArray[np.int32], n_atoms: int
) -> int:
    """Return how many of a node's atoms are among ascending ones."""
    n_found = 0
    start = nodes[node, BLOCK]
    for row in range(nodes[node, N_ATOMS] + nodes[node, N_BORROWED]):
        if heap[start + ROW * row + MEMBER] != BORROWED:
            n_found += place_in(atoms, n_atoms, heap[start + ROW * row + CHILD]) >= 0
    return n_found


@jit
def find(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    table: NDArray[np.int32],
    operation: int,
    atoms: NDArray[np.int32],
    n_atoms: int,
    key: int,
) -> int:
    """Return the node of these ascending atoms, or `FREE`; equal hashes are not enough."""
    mask = table.size - 1
    bucket = key & mask
    found = FREE
    while found == FREE and table[bucket] != FREE:
        node = table[bucket]
        if (
            nodes[node, KEY] == key
            and nodes[node, OP] == operation
            and nodes[node, N_ATOMS] == n_atoms
            and n_atoms_in(nodes, heap, node, atoms, n_atoms) == n_atoms
        ):
            found = int(node)
        bucket = (bucket + 1) & mask
    return found


@inlined
def enter(table: NDArray[np.int32], node: int, key: int) -> None:
    """Put a node that is not there into the table of hashes."""
    mask = table.size - 1
    bucket = key & mask
    while table[bucket] != FREE:
        bucket = (bucket + 1) & mask
    table[bucket] = node


@inlined
def leave(nodes: NDArray[np.int32], table: NDArray[np.int32], node: int) -> None:
    """Take a node out of the table of hashes, and move up those that its place kept from their own."""
    mask = table.size - 1
    hole = nodes[node, KEY] & mask
    while table[hole] != node:
        hole = (hole + 1) & mask
    bucket = hole
    while True:
        bucket = (bucket + 1) & mask
        if table[bucket] == FREE:
            break
        wanted = nodes[table[bucket], KEY] & mask
        if ((bucket - wanted) & mask) >= ((bucket - hole) & mask):
            table[hole] = table[bucket]
            hole = bucket
    table[hole] = FREE


@inlined
def new_node(
    nodes: NDArray[np.int32], levels: NDArray[np.int32], counts: NDArray[np.int64], operation: int, level: int
) -> int:
    """Return a row for a node without links; there must be one."""
    node = int(counts[FREE_NODE])
    if node != UNUSED:
        counts[FREE_NODE] = nodes[node, KEY]
    else:
        node = int(counts[TOP_NODE])
        counts[TOP_NODE] += 1
    for column in range(N_COLUMNS):
        nodes[node, column] = 0
    nodes[node, OP], nodes[node, LEVEL], nodes[node, RULE] = operation, level, NO_RULE
    counts[N_NODES] += 1
    levels[level] += 1
    counts[TOP_LEVEL] = max(counts[TOP_LEVEL], level)
    return node


@inlined
def drop_node(nodes: NDArray[np.int32], levels: NDArray[np.int32], counts: NDArray[np.int64], node: int) -> None:
    """Give back the row of a node whose lists are given back."""
    levels[nodes[node, LEVEL]] -= 1
    while counts[TOP_LEVEL] > 0 and levels[counts[TOP_LEVEL]] == 0:
        counts[TOP_LEVEL] -= 1
    nodes[node, OP], nodes[node, KEY] = UNUSED, counts[FREE_NODE]
    counts[FREE_NODE] = node
    counts[N_NODES] -= 1


@jit
def refill_table(nodes: NDArray[np.int32], n_rows: int, table: NDArray[np.int32]) -> None:
    """Enter all AND and OR of the first rows into an empty table."""
    for node in range(n_rows):
        if nodes[node, OP] in (AND, OR):
            enter(table, node, nodes[node, KEY])


@jit
def refill_centers(centers: NDArray[np.int32], made: NDArray[np.int32]) -> None:
    """Move all buckets into an empty table."""
    mask = made.shape[0] - 1
    for bucket in range(centers.shape[0]):
        if centers[bucket, CENTER] != FREE:
            target = mix(centers[bucket, CENTER]) & mask
            while made[target, CENTER] != FREE:
                target = (target + 1) & mask
            for column in range(3):
                made[target, column] = centers[bucket, column]

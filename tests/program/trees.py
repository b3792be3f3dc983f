"""AND/OR trees as nested tuples for tests of labels, and what is true of them by the definitions.

A tree is a leaf, which is a name, or ("and", tree, …) or ("or", tree, …). AND and OR alternate.
"""

from itertools import pairwise

import numpy as np

from ruledex.compiled.constants import AND, OR
from ruledex.engines.labelled.annotator import LEAF, Trees

KINDS = {"and": AND, "or": OR}


def is_leaf(tree):
    return not isinstance(tree, tuple)


def leaves_of(tree):
    """The names of the leaves in pre-order."""
    return [tree] if is_leaf(tree) else [name for child in tree[1:] for name in leaves_of(child)]


def holds(tree, true):
    if is_leaf(tree):
        return tree in true
    return (all if tree[0] == "and" else any)([holds(child, true) for child in tree[1:]])


def trees_of(*trees):
    """As kernels have them; a leaf's node is its place among all leaves."""
    kind, end, node, offsets = [], [], [], [0]
    n_leaves = 0

    def write(tree):
        nonlocal n_leaves
        place = len(kind)
        kind.append(LEAF if is_leaf(tree) else KINDS[tree[0]])
        end.append(0)
        node.append(n_leaves)
        n_leaves += is_leaf(tree)
        for child in () if is_leaf(tree) else tree[1:]:
            write(child)
        end[place] = len(kind)

    for tree in trees:
        write(tree)
        offsets.append(len(kind))
    return Trees(
        np.array(offsets, np.int64), np.array(kind, np.uint8), np.array(end, np.int32), np.array(node, np.int32)
    )


def drawn_tree(rng, depth, most_children=4):
    """A tree of that depth or less, its leaves named by their places in pre-order."""
    n_leaves = 0

    def draw(operation, depth):
        nonlocal n_leaves
        if depth == 0 or rng.random() < 0.25:
            n_leaves += 1
            return n_leaves - 1
        other = "or" if operation == "and" else "and"
        return (operation, *(draw(other, depth - 1) for _ in range(rng.integers(2, most_children + 1))))

    return draw(("and", "or")[rng.integers(2)], depth)


def deep_tree(depth):
    """One leaf beside the rest of the tree at each level."""
    tree = depth
    for level in reversed(range(depth)):
        tree = (("and", "or")[level % 2], level, tree)
    return tree


def broken_invariants(tree, intervals):
    """The numbers of the invariants of fontoura2010, Section 4.1, that intervals of leaves, by name, do not keep."""
    broken = set()
    begins = []

    def interval(tree):
        """The interval of a node is that of its first child, or reaches from its first child to its last."""
        if is_leaf(tree):
            return intervals[tree]
        below = [interval(child) for child in tree[1:]]
        if tree[0] == "or":
            if len(set(below)) > 1:
                broken.add(1)
        else:
            if any(before[1] + 1 != after[0] for before, after in pairwise(below)):
                broken.add(2)
            begins.extend(begin for begin, _ in below[1:])
        return below[0][0], below[-1][1]

    interval(tree)
    if len(set(begins)) < len(begins):
        broken.add(3)
    return broken

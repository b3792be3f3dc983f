"""Small A-Trees for tests of their kernels: literals 0 to n, and nodes that are AND or OR of some of them."""

import numpy as np

from ruledex.compiled.constants import AND
from ruledex.engines.atree import layout
from ruledex.engines.atree.rules import RulesToLoad
from ruledex.engines.atree.tree import GrowingTree, LiteralIntervals, Switches


def literals(n_literals, switches=None):
    """A tree of literals, each of one cell of its own, and all of them held."""
    tree = GrowingTree(switches or Switches())
    cells = np.arange(n_literals, dtype=np.int32)
    nodes = tree.add_literals(LiteralIntervals(np.arange(n_literals + 1, dtype=np.int32), cells, cells))
    tree.hold(nodes)
    return tree


def new_rules(n_literals, sets, operation=AND, first_rule=0):
    """A rule for each set of literals."""
    offsets = np.cumsum([0, *map(len, sets)]).astype(np.int32)
    return RulesToLoad(
        np.full(len(sets), operation, np.uint8),
        offsets,
        np.array([literal for each in sets for literal in sorted(each)], np.int32),
        np.arange(n_literals, n_literals + len(sets), dtype=np.int32),
        np.arange(first_rule, first_rule + len(sets), dtype=np.int32),
        np.zeros(0, np.float32),
        np.arange(n_literals, dtype=np.int32),
    )


def tree_of(n_literals, sets, operation=AND, switches=None):
    """A tree with a rule for each set; the node of the first is `n_literals`, and so on."""
    tree = literals(n_literals, switches)
    tree.insert(new_rules(n_literals, sets, operation))
    return tree


def atoms_of(tree, node):
    """The atoms of a node."""
    return {row[0] for row in rows_of(tree, node) if row[2] != layout.BORROWED}


def children_of(tree, node):
    """The children of a node."""
    return [row[0] for row in rows_of(tree, node)[: tree.arrays.nodes[node, layout.N_DOWN]]]


def rows_of(tree, node):
    """The rows of a node's block."""
    row = tree.arrays.nodes[node]
    n_words = layout.ROW * (row[layout.N_ATOMS] + row[layout.N_BORROWED])
    return tree.arrays.heap[row[layout.BLOCK] :][:n_words].reshape(-1, layout.ROW).tolist()

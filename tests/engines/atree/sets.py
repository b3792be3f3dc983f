"""Small A-Trees for tests of their kernels: literals 0 to n, and nodes that are AND or OR of some of them."""

import numpy as np

from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import AND
from ruledex.engines.atree import layout
from ruledex.engines.atree.heap import empty_heap
from ruledex.engines.atree.removal import lose_use, remove_doomed
from ruledex.engines.atree.rules import RulesToLoad, ScoreHeap
from ruledex.engines.atree.tree import GrowingTree, LiteralIntervals, Switches


def literals(n_literals, switches=None):
    """A tree of literals, each of one cell of its own, and all of them held."""
    tree = GrowingTree(switches or Switches())
    cells = np.arange(n_literals, dtype=np.int32)
    nodes = tree.add_literals(LiteralIntervals(np.arange(n_literals + 1, dtype=np.int32), cells, cells))
    hold(tree, nodes)
    return tree


def hold(tree, literals):
    """Count one use more of each literal, so that it stays."""
    np.add.at(tree.arrays.nodes[:, layout.USES], literals, 1)


def release(tree, literals):
    """Undo `hold`; return the literals that nothing uses any longer, and that are gone."""
    tree.arrays.counts[layout.N_FREED] = 0
    for literal in literals:
        tree.arrays.nodes[literal, layout.USES] -= 1
        lose_use(tree.arrays, tree.switches.bits, literal)
    remove_doomed(tree.arrays, tree.switches.bits)
    return tree.arrays.freed[: tree.arrays.counts[layout.N_FREED]]


def no_scores(tree):
    """Scores of rules that have none."""
    n_rules = len(tree.arrays.rules)
    return ScoreHeap(np.zeros(n_rules), np.zeros(n_rules, np.int32), np.zeros(n_rules, np.int32), empty_heap(0))


def delete(tree, rules):
    """Take out rules that have no scores; return the literals that went with them."""
    return tree.delete_scored(read_only(np.asarray(rules, np.int32)), no_scores(tree))


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

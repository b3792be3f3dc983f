from itertools import pairwise

import numpy as np
import pytest

from ruledex.engines.labelled.interval import label_sorted
from tests.contract.sizes import scaled
from tests.program.trees import broken_invariants, deep_tree, drawn_tree, leaves_of, trees_of


def labelled(*trees):
    """For each tree its leaves' names with their intervals, in the order in which they are written."""
    arrays = trees_of(*trees)
    n_leaves = [len(leaves_of(tree)) for tree in trees]
    total = sum(n_leaves)
    leaves, begins, ends = np.zeros((3, total), np.int32)
    scratch, counts = np.zeros((3, len(arrays.kind)), np.int32), np.zeros(max(n_leaves) + 2, np.int32)
    label_sorted(arrays, len(trees), scratch, counts, leaves, begins, ends)
    names = [name for tree in trees for name in leaves_of(tree)]
    rows = [(names[leaf], (int(b), int(e))) for leaf, b, e in zip(leaves, begins, ends, strict=True)]
    bounds = np.cumsum([0, *n_leaves]).tolist()
    return [rows[first:last] for first, last in pairwise(bounds)]


def assert_valid(tree, rows):
    intervals = dict(rows)
    n_leaves = len(leaves_of(tree))
    assert len(intervals) == n_leaves
    assert broken_invariants(tree, intervals) == set()
    begins = [begin for _, (begin, _) in rows]
    assert begins == sorted(begins)
    assert begins[0] == 1
    assert max(end for _, (_, end) in rows) == n_leaves


def test_leaves_come_in_the_order_of_where_they_begin():
    tree = ("or", ("and", "A", "B"), "C", ("and", "D", "E", "F"))
    assert labelled(tree) == [
        [("A", (1, 1)), ("C", (1, 6)), ("D", (1, 4)), ("B", (2, 6)), ("E", (5, 5)), ("F", (6, 6))]
    ]


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 5])
def test_labellings_of_drawn_trees_are_valid(depth):
    rng = np.random.default_rng(depth)
    trees = [drawn_tree(rng, depth) for _ in range(scaled(200, 20))]
    for tree, rows in zip(trees, labelled(*trees), strict=True):
        assert_valid(tree, rows)


def test_a_labelling_of_a_tree_of_250_levels_is_valid():
    tree = deep_tree(250)
    (rows,) = labelled(tree)
    assert_valid(tree, rows)

from itertools import pairwise

import numpy as np
import pytest

from ruledex.engines.labelled.interval import label_sorted, match_intervals
from tests.contract.sizes import scaled
from tests.program.trees import deep_tree, drawn_tree, holds, leaves_of, trees_of


def true_expressions(trees, events, dtype=np.int32):
    """The trees that are true for each event, which is one set of true leaves for each tree."""
    arrays = trees_of(*trees)
    n_leaves = [len(leaves_of(tree)) for tree in trees]
    first = np.cumsum([0, *n_leaves]).astype(np.int32)
    nodes, begins, ends = np.zeros((3, first[-1]), np.int32)
    scratch, counts = np.zeros((3, len(arrays.kind)), np.int32), np.zeros(max(n_leaves) + 2, np.int32)
    label_sorted(arrays, len(trees), scratch, counts, nodes, begins, ends)
    place_of = np.argsort(nodes)
    found = [sorted(place_of[first[t] + name] for t, true in enumerate(event) for name in true) for event in events]
    leaf_offsets = np.cumsum([0, *map(len, found)])
    leaves = np.array([leaf for row in found for leaf in row], np.int32)
    true_offsets = np.zeros(len(events) + 1, np.int64)
    match_intervals(
        np.repeat(np.arange(len(trees), dtype=np.int32), n_leaves),
        first,
        begins.astype(dtype),
        ends.astype(dtype),
        np.zeros(max(n_leaves) + 2, np.int64),
        leaf_offsets,
        leaves,
        len(events),
        true_offsets,
        leaves,
    )
    return [leaves[begin:end].tolist() for begin, end in pairwise(true_offsets)]


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("portion", [0.2, 0.6, 0.9])
def test_expressions_are_true_when_their_trees_are(depth, portion):
    rng = np.random.default_rng(depth)
    trees = [drawn_tree(rng, depth) for _ in range(10)]
    events = [
        [{name for name in leaves_of(tree) if rng.random() < portion} for tree in trees] for _ in range(scaled(100, 10))
    ]
    assert true_expressions(trees, events) == [
        [place for place, (tree, true) in enumerate(zip(trees, event, strict=True)) if holds(tree, true)]
        for event in events
    ]


def test_narrow_and_wide_ends_answer_alike():
    trees = [("and", 0, ("or", 1, 2)), deep_tree(250)]
    events = [[{0, 2}, {0, 1}], [{1, 2}, {0, 2, 3}], [{0}, {1}]]
    expected = [[0, 1], [1], []]
    assert true_expressions(trees, events, np.uint16) == true_expressions(trees, events, np.int32) == expected


def test_an_event_without_true_leaves_makes_nothing_true():
    assert true_expressions([("or", 0, 1)], [[set()], [{1}], [set()]]) == [[], [0], []]

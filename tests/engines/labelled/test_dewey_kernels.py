from itertools import pairwise

import numpy as np
import pytest

from ruledex.engines.labelled.dewey import DeweyStack, evaluate_dewey, label_leaves
from tests.contract.sizes import scaled
from tests.program.trees import deep_tree, drawn_tree, holds, leaves_of, trees_of


def true_expressions(trees, events):
    """The trees that are true for each event, which is one set of true leaves for each tree."""
    n_leaves = [len(leaves_of(tree)) for tree in trees]
    first = np.cumsum([0, *n_leaves])
    leaves, lengths = np.zeros((2, first[-1]), np.int32)
    labels = np.zeros(40 * 1000, np.uint8)
    n_bytes = label_leaves(trees_of(*trees), len(trees), np.zeros((3, 300), np.int64), leaves, lengths, labels)
    assert n_bytes <= len(labels)
    found = [[first[t] + place for t, true in enumerate(event) for place in sorted(true)] for event in events]
    offsets = np.cumsum([0, *map(len, found)])
    leaves = np.array([leaf for row in found for leaf in row], np.int32)
    stack = DeweyStack(*(np.zeros(300, dtype) for dtype in (np.int64, np.uint8, np.int64, np.uint8)))
    true_offsets = np.zeros(len(events) + 1, np.int64)
    expression_of = np.repeat(np.arange(len(trees), dtype=np.int32), n_leaves)
    label_offsets = np.cumsum([0, *lengths]).astype(np.int32)
    evaluate_dewey(expression_of, label_offsets, labels, stack, offsets, leaves, len(events), true_offsets, leaves)
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


def test_a_tree_of_250_levels():
    # Pairs: an AND needs its leaf and the OR below, an OR its leaf or the AND below.
    tree = deep_tree(250)
    assert len(leaves_of(tree)) == 251
    events = [[set(range(251))], [{0, 1}], [set(range(0, 250, 2))], [{*range(0, 250, 2), 250}], [{1, 3}], [{0, 2, 3}]]
    found = true_expressions([tree], events)
    assert found == [[0], [0], [], [0], [], [0]]
    assert found == [[0] if holds(tree, true) else [] for (true,) in events]


def test_an_event_without_true_leaves_makes_nothing_true():
    assert true_expressions([("or", 0, 1)], [[set()], [{1}], [set()]]) == [[], [0], []]

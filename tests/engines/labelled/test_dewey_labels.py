import numpy as np
import pytest

from ruledex.engines.labelled.dewey import component_at, label_leaves
from tests.program.trees import deep_tree, drawn_tree, is_leaf, leaves_of, trees_of


def labelled(*trees):
    """The components of each leaf's ID."""
    n_leaves = sum(len(leaves_of(tree)) for tree in trees)
    leaves, lengths = np.zeros((2, n_leaves), np.int32)
    arrays, stack = trees_of(*trees), np.zeros((3, 300), np.int64)
    labels = np.zeros(label_leaves(arrays, len(trees), stack, leaves, lengths, np.zeros(0, np.uint8)), np.uint8)
    assert label_leaves(arrays, len(trees), stack, leaves, lengths, labels) == len(labels)
    assert leaves.tolist() == list(range(n_leaves))
    found, place = [], 0
    for length in lengths:
        end, components = place + length, []
        while place < end:
            component, place = component_at(labels, place)
            components.append(int(component))
        assert place == end
        found.append(components)
    return found


def expected(tree, path=()):
    if is_leaf(tree):
        return [list(path)]
    children = tree[1:]
    return [
        components
        for number, child in enumerate(children, 1)
        for components in expected(child, (*path, 2 * number + (tree[0] == "and" and number == len(children))))
    ]


def with_root(tree):
    return expected(tree) if not is_leaf(tree) and tree[0] == "and" else expected(("and", tree))


def test_edges_are_numbered_and_the_last_below_an_and_is_marked():
    assert labelled(("and", "A", ("or", "B", "C"), "D")) == [[2], [4, 2], [4, 4], [7]]


def test_what_is_no_and_stands_below_an_artificial_one():
    assert labelled("A", ("or", "A", ("and", "B", "C"))) == [[3], [3, 2], [3, 4, 2], [3, 4, 5]]


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_labels_of_drawn_trees_are_those_of_the_definition(depth):
    rng = np.random.default_rng(depth)
    trees = [drawn_tree(rng, depth) for _ in range(20)]
    assert labelled(*trees) == [components for tree in trees for components in with_root(tree)]


def test_labels_of_trees_of_any_depth():
    tree = deep_tree(250)
    assert labelled(tree) == with_root(tree)


def test_numbers_past_one_byte_and_past_two():
    tree = ("or", *range(20_000))
    assert labelled(tree) == with_root(tree)

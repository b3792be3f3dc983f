import numpy as np
import pytest

from ruledex.engines.labelled.annotator import LEAF, annotate_expressions, choose_access_leaves
from tests.program.trees import leaves_of, trees_of


def chosen(tree, how_often):
    """The names of the leaves that lead to a tree."""
    trees = trees_of(tree)
    often, is_chosen = np.zeros(len(trees.kind)), np.zeros(len(trees.kind), np.uint8)
    places = np.flatnonzero(trees.kind == LEAF)
    often[places] = [how_often[name] for name in leaves_of(tree)]
    choose_access_leaves(trees, 1, often, is_chosen)
    assert not is_chosen[trees.kind != LEAF].any()
    return "".join(name for name, place in zip(leaves_of(tree), places, strict=True) if is_chosen[place])


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("A", "A"),
        (("or", "A", "B"), "AB"),
        (("and", "B", "A", "C"), "A"),
        (("and", "C", "C"), "C"),
        (("and", ("or", "A", "B"), "C"), "AB"),
        (("and", ("or", "A", "C"), ("or", "B", "A")), "BA"),
        (("or", ("and", "B", "A"), ("and", "C", ("or", "A", "B")), "C"), "AABC"),
    ],
)
def test_an_and_is_reached_through_its_rarest_child_and_an_or_through_all(tree, expected):
    assert chosen(tree, {"A": 0.1, "B": 0.2, "C": 0.5}) == expected


def test_a_tested_expression_is_led_to_by_its_first_leaf_and_others_by_each_of_theirs():
    offsets = np.array([0, 3, 5, 9], np.int32)
    is_chosen = np.array([0, 1, 1, 1, 1, 1, 0, 0, 0], np.uint8)
    is_tested, leads_to = np.zeros(3, np.uint8), np.zeros(9, np.int32)
    annotate_expressions(offsets, is_chosen, 3, is_tested, leads_to)
    assert is_tested.tolist() == [1, 0, 0]  # the third has more leaves than are looked at
    assert leads_to.tolist() == [-1, 0, 0, 3, 4, 5, 6, 7, 8]

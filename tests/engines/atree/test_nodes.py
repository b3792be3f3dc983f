import numpy as np

from ruledex.compiled.constants import AND
from ruledex.engines.atree import layout
from ruledex.engines.atree.heap import TOP
from ruledex.engines.atree.nodes import NO_ROOM, make_node, new_cover_plan, reorder_children
from ruledex.engines.atree.tree import Switches
from tests.engines.atree.check import check_tree
from tests.engines.atree.sets import atoms_of, children_of, hold, literals, tree_of

BITS = Switches().bits


def made(tree, atoms):
    given = np.array(atoms, np.int32)
    return make_node(tree.arrays, BITS, AND, given, len(atoms), 0.0, new_cover_plan(len(atoms)))


def test_a_node_for_which_there_is_no_room_leaves_all_as_it_was():
    tree = literals(4)
    tree.arrays = tree.arrays._replace(heap=tree.arrays.heap[: tree.arrays.heap[TOP] + 1].copy())
    tree.arrays.counts[layout.N_WORDS_WANTED] = 0
    before = [array.copy() for array in tree.arrays]
    assert made(tree, [0, 1, 2]) == NO_ROOM
    assert tree.arrays.counts[layout.N_WORDS_WANTED] > 1
    tree.arrays.counts[layout.N_WORDS_WANTED] = 0
    assert all(np.array_equal(one, other) for one, other in zip(before, tree.arrays, strict=True))


def test_a_new_node_borrows_and_is_borrowed():
    tree = tree_of(5, [{0, 1}, {0, 1, 2, 3}])
    tree.reserve(100, 10_000)
    node = made(tree, [0, 1, 2])
    hold(tree, np.array([node], np.int32))
    assert atoms_of(tree, node) == {0, 1, 2}
    assert {*children_of(tree, node)} == {5, 2}
    assert {*children_of(tree, 6)} == {node, 3}
    assert tree.arrays.nodes[[5, node, 6], layout.LEVEL].tolist() == [2, 3, 4]


def test_children_are_put_in_the_order_of_how_often_they_are_true():
    tree = tree_of(4, [{0, 1, 2, 3}])
    check_tree(tree, range(4))
    chance = np.array([0.5, 0.1, 0.9, 0.3], np.float32)
    reorder_children(tree.arrays.nodes, tree.arrays.heap, chance, 4, 0)
    assert children_of(tree, 4) == [1, 3, 0, 2]
    reorder_children(tree.arrays.nodes, tree.arrays.heap, -chance, 4, 2)
    assert children_of(tree, 4) == [1, 3, 2, 0]

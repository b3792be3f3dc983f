import numpy as np

from ruledex.compiled.arrays import read_only
from ruledex.engines.atree import layout
from ruledex.engines.atree.heap import TOP
from ruledex.engines.atree.removal import lose_use, remove_doomed
from ruledex.engines.atree.rules import delete_scored
from tests.engines.atree.check import check_tree
from tests.engines.atree.sets import children_of, delete, no_scores, tree_of


def test_borrowers_take_the_children_of_a_node_that_goes():
    tree = tree_of(5, [{0, 1}, {0, 1, 2}, {0, 1, 3}])
    assert {*children_of(tree, 6)} == {5, 2}
    delete(tree, np.array([0], np.int32))
    check_tree(tree, range(5))
    assert [{*children_of(tree, node)} for node in (6, 7)] == [{0, 1, 2}, {0, 1, 3}]
    assert tree.arrays.nodes[5, layout.OP] == layout.UNUSED


def test_what_is_borrowed_by_what_goes_may_be_borrowed_on():
    tree = tree_of(6, [{0, 1}, {0, 1, 2}, {0, 1, 2, 3}])
    delete(tree, np.array([1], np.int32))
    check_tree(tree, range(6))
    assert {*children_of(tree, 8)} == {6, 2, 3}


def test_a_node_with_a_use_left_is_not_doomed():
    tree = tree_of(3, [{0, 1}, {0, 1}])
    tree.arrays.nodes[3, layout.USES] -= 1
    lose_use(tree.arrays, tree.switches.bits, 3)
    assert tree.arrays.counts[layout.N_DOOMED] == 0
    tree.arrays.nodes[3, layout.USES] += 1
    check_tree(tree, range(3))


def test_a_rule_for_whose_nodes_the_room_ends_is_come_back_to():
    tree = tree_of(8, [{0, 1}, *({0, 1, other} for other in range(2, 8))])
    full = tree.arrays
    top = int(full.heap[TOP])
    tree.arrays = full._replace(heap=full.heap[: top + 2].copy())
    given = read_only(np.array([0], np.int32))
    n_done = delete_scored(tree.arrays, no_scores(tree), tree.switches.bits, given, 0)
    assert (n_done, tree.arrays.counts[layout.N_DOOMED]) == (0, 1)
    while n_done == 0:
        tree._enlarge()
        n_done = delete_scored(tree.arrays, no_scores(tree), tree.switches.bits, given, 0)
    check_tree(tree, range(8))
    assert remove_doomed(tree.arrays, tree.switches.bits)

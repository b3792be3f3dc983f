import numpy as np

from ruledex.engines.atree import layout
from ruledex.engines.atree.links import is_inner_sink, link, remove_member, unlink, write_entries
from ruledex.engines.atree.tree import Switches
from tests.engines.atree.check import check_tree
from tests.engines.atree.sets import delete, rows_of, tree_of

PLAIN = Switches(reorganisation=False, self_adjustment=True)


def members_of(tree, atom):
    row = tree.arrays.nodes[atom]
    words = tree.arrays.heap[row[layout.MEMBERS] :][: layout.PAIR * row[layout.N_MEMBERS]]
    return words[:: layout.PAIR].tolist()


def test_the_last_member_takes_the_place_of_one_that_goes_and_its_node_knows():
    tree = tree_of(5, [{0, 1}, {0, 2}, {0, 3}])
    assert members_of(tree, 0) == [5, 6, 7]
    remove_member(tree.arrays.nodes, tree.arrays.heap, 0, 0)
    assert members_of(tree, 0) == [7, 6]
    (place,) = (member for child, _, member in rows_of(tree, 7) if child == 0)
    assert place == 0


def test_a_link_that_is_undone_and_made_again_leaves_a_sound_tree():
    tree = tree_of(6, [{0, 1}, {0, 2}, {0, 3, 4}, {0, 1, 5}], switches=PLAIN)
    arrays = tree.arrays
    nodes, heap, rules, levels, counts = arrays.nodes, arrays.heap, arrays.rules, arrays.levels, arrays.counts
    bits = PLAIN.bits
    for node in (6, 7, 8, 9):
        for row in range(nodes[node, layout.N_DOWN]):
            child = rows_of(tree, node)[row][0]
            uses = int(nodes[child, layout.USES])
            unlink(nodes, heap, rules, counts, node, row)
            assert nodes[child, layout.USES] == uses - 1
            link(nodes, heap, counts, bits, node, row)
            write_entries(nodes, heap, rules, levels, counts, bits, node)
            check_tree(tree, range(6))


def test_a_node_is_a_sink_as_long_as_one_rule_is_all_that_it_is_for():
    tree = tree_of(3, [{0, 1}, {0, 1, 2}])
    nodes, rules = tree.arrays.nodes, tree.arrays.rules
    assert [is_inner_sink(nodes, rules, node) for node in (0, 3, 4)] == [False, False, True]
    delete(tree, np.array([1], np.int32))
    assert is_inner_sink(nodes, rules, 3)

import numpy as np
import pytest

from ruledex.compiled.constants import AND, OR
from ruledex.engines.atree import layout
from ruledex.engines.atree.packing import guess_leads, pack
from tests.engines.atree.sets import children_of, tree_of


def test_chances_are_guessed_from_those_of_children():
    for operation, expected in ((AND, 0.5 * 0.4), (OR, 1 - 0.5 * 0.6)):
        tree = tree_of(2, [{0, 1}], operation)
        chance = np.array([0.5, 0.4, 0.0])
        guess_leads(tree.index(), np.arange(3), chance, np.zeros(3, np.int32))
        assert chance[2] == pytest.approx(expected)


def test_the_access_child_leads_to_an_and_and_the_child_that_is_true_most_often_to_an_or():
    for operation in (AND, OR):
        for often in range(3):
            tree = tree_of(3, [{0, 1, 2}], operation)
            chance, lead = np.full(4, 0.1), np.zeros(4, np.int32)
            chance[often] = 0.5
            guess_leads(tree.index(), np.arange(4), chance, lead)
            assert lead[3] == (often if operation == OR else children_of(tree, 3)[0])


def test_nodes_are_written_in_the_order_given_with_their_children_and_what_they_fire():
    tree = tree_of(3, [{0, 1}, {0, 1, 2}])
    n_nodes = int(tree.arrays.counts[layout.N_NODES])
    order = np.array([2, 0, 1, 4, 3])
    names = np.empty(n_nodes, np.int32)
    names[order] = np.arange(n_nodes)
    rows = tree.arrays.nodes[:n_nodes]
    n_words = layout.ROW * int(rows[:, layout.N_FIRE].sum()) + int(rows[3:, layout.N_DOWN].sum())
    nodes, heap = np.empty(layout.N_MATCH_COLUMNS * n_nodes, np.int32), np.empty(n_words, np.int32)
    assert pack(tree.index(), order, names, np.zeros(n_nodes, np.bool_), nodes, heap) == n_words
    packed = nodes.reshape(n_nodes, -1)
    for place, node in enumerate(order.tolist()):
        assert packed[place, layout.OP] == rows[node, layout.OP]
        fired = heap[packed[place, layout.FIRE] :][: layout.ROW * packed[place, layout.N_FIRE]]
        old = tree.arrays.heap[rows[node, layout.FIRE] :][: layout.ROW * rows[node, layout.N_FIRE]]
        targets = [names[target] if target >= 0 else target for target in old[:: layout.ROW].tolist()]
        assert fired[:: layout.ROW].tolist() == targets
        if packed[place, layout.OP] <= OR:
            children = heap[packed[place, layout.BLOCK] :][: packed[place, layout.N_DOWN]].tolist()
            assert children == names[children_of(tree, node)].tolist()


def test_several_rules_of_a_node_lie_side_by_side_behind_what_it_fires():
    tree = tree_of(2, [{0, 1}, {0, 1}, {0, 1}])
    n_nodes = int(tree.arrays.counts[layout.N_NODES])
    rows = tree.arrays.nodes[:n_nodes]
    n_words = layout.ROW * int(rows[:, layout.N_FIRE].sum()) + int(rows[2:, layout.N_DOWN].sum()) + 4
    nodes, heap = np.empty(layout.N_MATCH_COLUMNS * n_nodes, np.int32), np.empty(n_words, np.int32)
    names, is_asked = np.arange(n_nodes, dtype=np.int32), np.zeros(n_nodes, np.bool_)
    assert pack(tree.index(), np.arange(n_nodes), names, is_asked, nodes, heap) == n_words
    place = layout.RUN - nodes.reshape(n_nodes, -1)[2, layout.RULE]
    assert heap[place] == 3
    assert sorted(heap[place + 1 : place + 4].tolist()) == [0, 1, 2]

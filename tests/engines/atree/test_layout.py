import numpy as np

from ruledex.compiled.arrays import FREE
from ruledex.compiled.constants import AND, OR
from ruledex.engines.atree import layout
from tests.engines.atree.sets import literals, tree_of


def test_a_hash_is_that_of_a_set_and_an_operation():
    atoms = np.array([3, 9, 14], np.int32)
    keys = {layout.hash_of(0, atoms[list(order)], 3) for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0))}
    assert len(keys) == 1
    assert layout.hash_of(1, atoms, 3) not in keys
    assert layout.hash_of(0, atoms, 2) not in keys


def test_the_place_of_an_atom_is_found_where_it_is_there():
    atoms = np.array([2, 5, 7, 11, 99], np.int32)
    assert [layout.place_in(atoms, 4, atom) for atom in (2, 5, 7, 11)] == [0, 1, 2, 3]
    assert [layout.place_in(atoms, 4, atom) for atom in (0, 6, 99)] == [-1, -1, -1]


def test_a_table_has_what_entered_and_did_not_leave():
    rng = np.random.default_rng(0)
    nodes, table = np.zeros((40, layout.N_COLUMNS), np.int32), np.full(64, FREE, np.int32)
    nodes[:, layout.KEY] = rng.integers(0, 12, 40)  # so that most of them meet
    held = set()
    for node in rng.integers(0, 40, 300).tolist():
        if node in held:
            layout.leave(nodes, table, node)
        else:
            layout.enter(table, node, nodes[node, layout.KEY])
        held ^= {node}
        assert {*table[table != FREE].tolist()} == held
        for other in held:
            slot = nodes[other, layout.KEY] & 63
            while table[slot] != other:
                assert table[slot] != FREE
                slot = (slot + 1) & 63


def test_equal_sets_are_found_and_others_are_not():
    tree = tree_of(4, [{0, 1}, {1, 2, 3}])
    arrays = tree.arrays
    for atoms, expected in (([0, 1], 4), ([1, 2, 3], 5), ([0, 2], FREE), ([1, 2], FREE)):
        given = np.array(atoms, np.int32)
        key = layout.hash_of(AND, given, len(atoms))
        args = arrays.nodes, arrays.heap, arrays.table
        assert layout.find(*args, AND, given, len(atoms), key) == expected
        assert layout.find(*args, OR, given, len(atoms), key) == FREE


def test_a_row_that_was_given_back_is_the_next_one():
    tree = literals(2)
    nodes, levels, counts = tree.arrays.nodes, tree.arrays.levels, tree.arrays.counts
    node = layout.new_node(nodes, levels, counts, OR, 3)
    assert (node, counts[layout.N_NODES], counts[layout.TOP_LEVEL], levels[3]) == (2, 3, 3, 1)
    layout.drop_node(nodes, levels, counts, node)
    assert (counts[layout.N_NODES], counts[layout.TOP_LEVEL]) == (2, 1)
    assert layout.new_node(nodes, levels, counts, AND, 2) == node

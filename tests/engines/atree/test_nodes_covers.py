import numpy as np

from ruledex.compiled.constants import AND, OR
from ruledex.engines.atree import layout
from ruledex.engines.atree.nodes import (
    choose_cover,
    find_adopters,
    find_borrowable,
    is_within,
    new_cover_plan,
)
from tests.engines.atree.sets import rows_of, tree_of

SETS = [{0, 1}, {1, 2}, {0, 1, 2}, {3, 4}, {2, 3}, {0, 1, 2, 3, 4, 5}]
FIRST = 6  # the node of the first set


def asked(atoms, operation=AND):
    given = np.array(atoms, np.int32)
    return given, len(atoms), layout.signature_of(operation, given, len(atoms))


def test_candidates_are_the_nodes_all_of_whose_atoms_are_asked_for():
    tree = tree_of(6, SETS)
    nodes, heap, counts = tree.arrays.nodes, tree.arrays.heap, tree.arrays.counts
    for atoms in ([0, 1, 2, 3], [1, 2], [0, 5], [2, 3, 4]):
        candidates = new_cover_plan(6).candidates
        n_found = find_borrowable(nodes, heap, counts, *asked(atoms), candidates)  # type: ignore[call-arg]
        expected = {FIRST + number for number, each in enumerate(SETS) if each <= {*atoms}}
        assert {*candidates[:n_found].tolist()} == expected
    found = find_borrowable(nodes, heap, counts, *asked([0, 1, 2], OR), new_cover_plan(6).candidates)  # type: ignore[call-arg]
    assert found == 0


def test_the_cover_is_greedy_and_says_what_it_covers():
    tree = tree_of(6, SETS)
    nodes, heap = tree.arrays.nodes, tree.arrays.heap
    plan = new_cover_plan(5)
    plan.covered[:] = 0
    plan.candidates[:4] = [FIRST, FIRST + 3, FIRST + 2, FIRST + 1]
    atoms = np.arange(5, dtype=np.int32)
    n_chosen = choose_cover(nodes, heap, AND, atoms, 5, plan.covered, plan.candidates, 4)
    assert plan.candidates[:n_chosen].tolist() == [FIRST + 2, FIRST + 3]
    assert plan.covered.tolist() == [1] * 5


def test_a_single_atom_more_is_worth_borrowing_for_an_and_but_not_for_an_or():
    for operation, expected in ((AND, 2), (OR, 1)):
        tree = tree_of(6, [{0, 1}, {1, 2}], operation)
        plan = new_cover_plan(3)
        plan.covered[:] = 0
        plan.candidates[:2] = [FIRST, FIRST + 1]
        args = tree.arrays.nodes, tree.arrays.heap, operation, np.arange(3, dtype=np.int32), 3
        assert choose_cover(*args, plan.covered, plan.candidates, 2) == expected


def test_adopters_are_the_nodes_in_which_two_children_or_more_are_replaced():
    tree = tree_of(6, [{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 4}])
    nodes, heap, counts = tree.arrays.nodes, tree.arrays.heap, tree.arrays.counts
    adopters = new_cover_plan(2).adopters
    n_found = find_adopters(nodes, heap, counts, *asked([0, 1]), adopters)  # type: ignore[call-arg]
    assert {*adopters[:n_found].tolist()} == {FIRST, FIRST + 1}


def test_a_borrowed_child_is_within_a_set_if_all_of_its_atoms_are():
    tree = tree_of(6, [{0, 1}, {0, 1, 2}])
    nodes, heap = tree.arrays.nodes, tree.arrays.heap
    rows = rows_of(tree, FIRST + 1)
    start = int(nodes[FIRST + 1, layout.BLOCK])
    (borrowed,) = (start + layout.ROW * at for at, row in enumerate(rows) if row[2] == layout.BORROWED)
    for atoms, expected in (([0, 1, 5], True), ([0, 5], False)):
        assert is_within(nodes, heap, borrowed, np.array(atoms, np.int32), len(atoms)) == expected

import numpy as np

from ruledex.compiled.constants import ALWAYS
from ruledex.engines.inputs import nodes_of
from ruledex.engines.labelled.annotator import write_conjunctions
from tests.contract.builder import make_program

A, B, C, D = (("in", (cell, cell)) for cell in range(1, 5))


def conjunctions(tree, leaves=None):
    """The literals of the root's own leaf, or of the given ones."""
    program = make_program([4], [(("or", A, B, C, D), 0.0, None), (tree, 0.0, None)])
    cell_of = program.interval_low
    leaves = np.array([program.root[1]] if leaves is None else leaves, np.int32)
    offsets, literals = np.zeros(len(leaves) + 1, np.int64), np.zeros(20, np.int32)
    stack = np.zeros((2, len(program.level_offsets)), np.int64)
    write_conjunctions(nodes_of(program), program.n_literals, leaves, stack, offsets, literals)
    return [cell_of[row].tolist() for row in np.split(literals[: offsets[-1]], offsets[1:-1])]


def test_a_leaf_has_the_literals_of_its_and_node_and_not_those_below_an_or():
    assert conjunctions(("and", B, C)) == [[2, 3]]
    assert conjunctions(("and", B, ("or", A, C), D)) == [[2, 4]]


def test_literals_of_dissolved_nodes_come_once_and_in_order():
    assert conjunctions(("and", D, ("and", B, ("and", C, D)), ("or", A, ("and", B, C)))) == [[2, 3, 4]]


def test_literals_and_nothing_are_leaves_too():
    assert conjunctions(("and", A, B), [ALWAYS, 2, ALWAYS, 0]) == [[], [3], [], [1]]

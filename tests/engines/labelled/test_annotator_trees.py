import numpy as np
from hypothesis import given

from ruledex.compiled.constants import ALWAYS, AND, NEVER, OR
from ruledex.engines.inputs import Nodes, nodes_of
from ruledex.engines.labelled.annotator import LEAF, MANY, Trees, count_leaves, list_annotations, unfold
from tests.contract.builder import make_program
from tests.contract.sizes import DRAWN
from tests.contract.strategies import programs


def counts_of(program):
    n_leaves, n_joined = np.zeros((2, len(program.node_op)), np.int64)
    count_leaves(nodes_of(program), program.n_literals, n_leaves, n_joined)
    return n_leaves, n_joined


def unfolded(program, roots):
    """Each tree as nested tuples, its leaves as nodes."""
    n_leaves, n_joined = counts_of(program)
    n_nodes = 2 * sum(int(n_leaves[root - program.n_literals]) if root >= program.n_literals else 1 for root in roots)
    trees = Trees(
        np.zeros(len(roots) + 1, np.int64),
        np.zeros(n_nodes, np.uint8),
        np.zeros(n_nodes, np.int32),
        np.zeros(n_nodes, np.int32),
    )
    stack = np.zeros((3, len(program.level_offsets) + 1), np.int64)
    unfold(nodes_of(program), program.n_literals, n_leaves, n_joined, np.array(roots, np.int32), stack, trees)

    def read(place):
        if trees.kind[place] == LEAF:
            assert trees.end[place] == place + 1
            return int(trees.node[place])
        children, child = [], place + 1
        while child < trees.end[place]:
            children.append(read(child))
            child = trees.end[child]
        assert child == trees.end[place]
        return ("or" if trees.kind[place] == OR else "and", *children)

    ends = [int(trees.end[place]) for place in trees.offsets[:-1]]
    assert ends == trees.offsets[1:].tolist()
    return [read(int(place)) for place in trees.offsets[:-1]]


def expected_tree(program, node, above=None):
    """By the definition: a list of what a node brings to the node above it; an AND's own leaf bears its name."""
    if node < program.n_literals:
        return [node]
    inner = node - program.n_literals
    operation = "and" if program.node_op[inner] == AND else "or"
    children = program.children[program.child_offsets[inner] : program.child_offsets[inner + 1]].tolist()
    parts = [part for child in children for part in expected_tree(program, child, operation)]
    if operation == above:
        return parts
    if operation == "or":
        return [("or", *parts)]
    others = [part for part in parts if isinstance(part, tuple)]
    leaf = [node] if len(others) < len(parts) else []
    return [("and", *leaf, *others)] if others else leaf


def n_leaves_of(tree):
    return sum(map(n_leaves_of, tree[1:])) if isinstance(tree, tuple) else 1


@DRAWN
@given(programs())
def test_trees_are_those_of_the_definition(program):
    roots = [int(root) for root in program.root if root != NEVER]
    expected = [[ALWAYS] if root == ALWAYS else expected_tree(program, root) for root in roots]
    assert unfolded(program, roots) == [tree for (tree,) in expected]
    n_leaves, _ = counts_of(program)
    for root, (tree,) in zip(roots, expected, strict=True):
        if root >= program.n_literals:
            assert n_leaves[root - program.n_literals] == n_leaves_of(tree)


def literal(cell):
    return ("in", (cell, cell))


def test_the_literals_of_an_and_are_one_leaf_and_those_of_an_or_one_each():
    tree = ("and", literal(1), literal(2), ("or", literal(3), ("and", literal(4), literal(5)), literal(6)))
    program = make_program([6], [(tree, 0.0, None)])
    inner_and, _, root = range(6, 9)
    assert unfolded(program, [root]) == [("and", root, ("or", 2, 5, inner_and))]
    assert counts_of(program)[1].tolist() == [2, 0, 2]


def test_counts_of_what_doubles_at_each_level_stop_before_they_overflow():
    # Literals 0 and 1; each level has two nodes of one operation, both over the two of the level below.
    n_levels = 100
    node_op = np.repeat(np.arange(n_levels) % 2, 2).astype(np.uint8)
    children = np.concatenate([[2 * level, 2 * level + 1] * 2 for level in range(n_levels)]).astype(np.int32)
    nodes = Nodes(node_op, np.arange(0, len(children) + 1, 2, dtype=np.int32), children)
    n_leaves, n_joined = np.zeros((2, len(node_op)), np.int64)
    count_leaves(nodes, 2, n_leaves, n_joined)
    assert n_leaves[:8].tolist() == [1, 1, 2, 2, 4, 4, 8, 8]
    assert n_leaves[-2:].tolist() == [MANY, MANY]


def test_annotations_ascend_within_each_conjunction():
    conjunctions = np.array([2, 0, 2, 3, 0, 2], np.int32)
    offsets, annotations = np.zeros(6, np.int32), np.zeros(6, np.int32)
    list_annotations(conjunctions, np.arange(6, dtype=np.int32), offsets, annotations)
    assert offsets.tolist() == [0, 2, 2, 5, 6, 6]
    assert annotations.tolist() == [1, 4, 0, 2, 5, 3]


def test_leaves_that_lead_to_nothing_have_no_annotation():
    conjunctions = np.array([2, 0, 2, 3, 0, 2], np.int32)
    offsets, annotations = np.zeros(5, np.int32), np.zeros(4, np.int32)
    list_annotations(conjunctions, np.array([0, 0, -1, 3, -1, 3], np.int32), offsets, annotations)
    assert offsets.tolist() == [0, 1, 1, 3, 4]
    assert annotations.tolist() == [0, 0, 3, 3]

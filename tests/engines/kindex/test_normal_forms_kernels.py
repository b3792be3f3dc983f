import itertools

import numpy as np
import pytest

from ruledex.compiled.constants import AND, OR
from ruledex.engines.inputs import Nodes
from ruledex.engines.kindex.normal_forms import FormScratch, find_parities, form_sizes, write_clauses

N_LITERALS = 6


def drawn_nodes(seed, n_inner=12):
    """AND and OR nodes over six literals, and one another."""
    rng = np.random.default_rng(seed)
    rows = [sorted(rng.choice(N_LITERALS + i, min(3, 2 + i % 2), replace=False).tolist()) for i in range(n_inner)]
    return Nodes(
        rng.integers(0, 2, n_inner).astype(np.uint8),
        np.cumsum([0, *map(len, rows)]).astype(np.int32),
        np.array([child for row in rows for child in row], np.int32),
    )


def holds(nodes, node, true_literals):
    if node < N_LITERALS:
        return node in true_literals
    inner = node - N_LITERALS
    below = nodes.children[nodes.child_offsets[inner] : nodes.child_offsets[inner + 1]].tolist()
    return (all if nodes.node_op[inner] == AND else any)(holds(nodes, child, true_literals) for child in below)


def sizes_of(nodes, outer):
    n_nodes = N_LITERALS + len(nodes.node_op)
    n_clauses, n_in_all = np.zeros(n_nodes), np.zeros(n_nodes)
    form_sizes(nodes, N_LITERALS, outer, n_clauses, n_in_all)
    return n_clauses, n_in_all


def clauses_of(nodes, outer, roots, room=100_000):
    sizes = sizes_of(nodes, outer)[1][roots].astype(np.int64)
    largest = int(sizes.max())
    scratch = FormScratch(
        np.zeros((3, len(nodes.node_op) + 1), np.int64),
        np.zeros(2 * largest + 1, np.int64),
        np.zeros(2 * largest + 1, np.int32),
        np.zeros(largest + 1, np.int64),
    )
    root_clauses, ends, literals = np.zeros(len(roots), np.int64), np.zeros(room, np.int64), np.zeros(room, np.int32)
    found, first = [], 0
    while first < len(roots):
        after, n_clauses, _ = write_clauses(
            nodes,
            N_LITERALS,
            outer,
            np.array(roots, np.int32),
            sizes,
            first,
            scratch,
            root_clauses,
            ends,
            literals,
        )
        bounds = [0, *ends[:n_clauses].tolist()]
        found += [literals[begin:end].tolist() for begin, end in itertools.pairwise(bounds)]
        assert after > first
        first = after
    rows = iter(found)
    return [[next(rows) for _ in range(n)] for n in root_clauses.tolist()]


@pytest.mark.parametrize("outer", [AND, OR])
@pytest.mark.parametrize("seed", range(6))
def test_a_form_is_true_where_its_node_is(seed, outer):
    nodes = drawn_nodes(seed)
    n_in_all = sizes_of(nodes, outer)[1]
    roots = [node for node in range(N_LITERALS + len(nodes.node_op)) if n_in_all[node] < 3000]
    forms = clauses_of(nodes, outer, roots)
    inside, outside = (all, any) if outer == OR else (any, all)
    for chosen in itertools.product((False, True), repeat=N_LITERALS):
        true_literals = {literal for literal in range(N_LITERALS) if chosen[literal]}
        for root, form in zip(roots, forms, strict=True):
            value = outside(inside(literal in true_literals for literal in clause) for clause in form)
            assert value == holds(nodes, root, true_literals)


@pytest.mark.parametrize("seed", range(6))
def test_the_literals_of_a_clause_ascend_and_none_stands_twice(seed):
    nodes = drawn_nodes(seed)
    roots = [node for node in range(N_LITERALS + len(nodes.node_op)) if sizes_of(nodes, OR)[1][node] < 500]
    for form in clauses_of(nodes, OR, roots):
        assert all(clause == sorted(set(clause)) for clause in form)


def test_sizes_are_those_before_anything_is_struck_out():
    # (0 OR 1) AND (2 OR 3) AND (0 OR 3)
    nodes = Nodes(
        np.array([OR, OR, OR, AND], np.uint8),
        np.array([0, 2, 4, 6, 9], np.int32),
        np.array([0, 1, 2, 3, 0, 3, 6, 7, 8], np.int32),
    )
    n_clauses, n_in_all = sizes_of(nodes, OR)
    assert (n_clauses[9], n_in_all[9]) == (8, 24)
    assert sorted(clauses_of(nodes, OR, [9])[0]) == [[0, 2], [0, 3], [1, 3]]
    assert sorted(clauses_of(nodes, AND, [9])[0]) == [[0, 1], [0, 3], [2, 3]]


def test_a_form_that_stands_already_keeps_what_another_clause_absorbs():
    # 0 OR (0 AND 1): a score may come from the second.
    nodes = Nodes(np.array([AND, OR], np.uint8), np.array([0, 2, 4], np.int32), np.array([0, 1, 0, 6], np.int32))
    assert clauses_of(nodes, OR, [7]) == [[[0], [0, 1]]]


def test_sizes_of_any_height_do_not_overflow():
    # Each node is the AND of two ORs of the one below and a literal: doubly exponential.
    rows, operations = [[0, 1]], [OR]
    for _ in range(40):
        below = N_LITERALS + len(rows) - 1
        rows += [[2, below], [3, below], [below + 1, below + 2]]
        operations += [OR, OR, AND]
    nodes = Nodes(
        np.array(operations, np.uint8),
        np.cumsum([0, *map(len, rows)]).astype(np.int32),
        np.array([child for row in rows for child in row], np.int32),
    )
    assert 1e17 < sizes_of(nodes, OR)[1][-1] <= 1e18


def test_little_room_is_used_several_times():
    nodes = drawn_nodes(1)
    roots = [node for node in range(N_LITERALS, N_LITERALS + 12) if sizes_of(nodes, OR)[1][node] < 300]
    assert clauses_of(nodes, OR, roots, 300) == clauses_of(nodes, OR, roots)


def test_nodes_above_an_xor_of_literals_are_found():
    # Literals 0 to 3 are positive; 4 is the negation of 1, and 5 that of 3: (1 AND 5) OR (3 AND 4), and 2 OR that.
    rows = [[1, 5], [3, 4], [6, 7], [0, 8], [1, 3], [6, 10]]
    nodes = Nodes(
        np.array([AND, AND, OR, AND, AND, OR], np.uint8),
        np.cumsum([0, *map(len, rows)]).astype(np.int32),
        np.array([child for row in rows for child in row], np.int32),
    )
    for outer, expected in ((AND, [8, 9]), (OR, [])):
        found = np.zeros(N_LITERALS + len(rows), np.bool_)
        find_parities(nodes, N_LITERALS, outer, np.array([1, 3], np.int32), found)
        assert np.flatnonzero(found).tolist() == expected

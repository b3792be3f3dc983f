"""Nodes made of nodes: by truth tables, and by what is shared."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from ruledex.compiled.constants import AND, OR
from ruledex.program.node_table import (
    ALWAYS_CODE,
    NEVER_CODE,
    NO_COMPLEMENT,
    START,
    TAG,
    NodeTable,
    add_node,
    empty_node_table,
)

N_LITERALS = 6
# 0 and 1 are each other's negation, and so are 2 and 3; 4 and 5 have none.
COMPLEMENT = np.array([1, 0, 3, 2, NO_COMPLEMENT, NO_COMPLEMENT], np.int32)


class Builder:
    """A table that is replaced as it grows."""

    def __init__(self) -> None:
        self.table = empty_node_table()

    def node(self, operation: int, *children: int) -> int:
        self.table, code = add_node(self.table, operation, np.array(children), COMPLEMENT)
        return code


def children_of(table: NodeTable, code: int) -> list[int]:
    return table.children[table.nodes[~code, START] : table.nodes[~code + 1, START]].tolist()


def holds(table: NodeTable, code: int, true: set[int]) -> bool:
    if code in (ALWAYS_CODE, NEVER_CODE):
        return code == ALWAYS_CODE
    if code >= 0:
        return code in true
    joined = all if table.nodes[~code, TAG] & 1 == AND else any
    return joined(holds(table, child, true) for child in children_of(table, code))


def possible() -> list[set[int]]:
    """Sets of literals that can be true together."""
    drawn = (set(np.flatnonzero(bits).tolist()) for bits in product((0, 1), repeat=N_LITERALS))
    return [true for true in drawn if not {0, 1} <= true and not {2, 3} <= true]


def test_nodes_are_true_where_their_children_say_so() -> None:
    draw = random.Random(2021)
    builder = Builder()
    known = [ALWAYS_CODE, NEVER_CODE, *range(N_LITERALS)]
    events = possible()
    for _ in range(600):
        children = draw.choices(known, k=draw.randint(1, 4))
        operation = draw.choice([AND, OR])
        code = builder.node(operation, *children)
        joined = all if operation == AND else any
        for true in draw.sample(events, 12):
            assert holds(builder.table, code, true) == joined(holds(builder.table, child, true) for child in children)
        known.append(code)
    for node in range(builder.table.n_nodes):
        children = children_of(builder.table, ~node)
        assert children == sorted(set(children))
        assert len(children) > 1
        inner = [~child for child in children if child < 0]
        assert all(child < node for child in inner)
        assert all((builder.table.nodes[child, TAG] ^ builder.table.nodes[node, TAG]) & 1 for child in inner)


def test_equal_nodes_are_one() -> None:
    builder = Builder()
    assert builder.node(AND, 2, 0, 4) == builder.node(AND, 4, 2, 0, 2)
    assert builder.node(AND, builder.node(AND, 0, 2), 4) == builder.node(AND, 2, 0, 4)
    assert builder.node(OR, 2, 0, 4) != builder.node(AND, 2, 0, 4)
    assert builder.node(AND, 2, 0) != builder.node(AND, 2, 0, 4)


@pytest.mark.parametrize(
    ("operation", "children", "expected"),
    [
        (AND, (0, ALWAYS_CODE), 0),
        (AND, (0, NEVER_CODE, 2), NEVER_CODE),
        (OR, (0, NEVER_CODE), 0),
        (OR, (0, ALWAYS_CODE), ALWAYS_CODE),
        (AND, (4, 4), 4),
        (AND, (), ALWAYS_CODE),
        (OR, (), NEVER_CODE),
        (AND, (0, 4, 1), NEVER_CODE),
        (AND, (3, 5, 2), NEVER_CODE),
        (OR, (ALWAYS_CODE, NEVER_CODE), ALWAYS_CODE),
        (AND, (ALWAYS_CODE, ALWAYS_CODE), ALWAYS_CODE),
    ],
)
def test_constants_repetitions_and_contradictions_fold(
    operation: int, children: tuple[int, ...], expected: int
) -> None:
    assert Builder().node(operation, *children) == expected


def test_a_literal_or_its_negation_is_not_always_true() -> None:
    assert Builder().node(OR, 0, 1) < 0


@pytest.mark.parametrize(("outer", "inner"), [(AND, OR), (OR, AND)])
def test_a_node_that_contains_a_sibling_is_absorbed(outer: int, inner: int) -> None:
    builder = Builder()
    assert builder.node(outer, 4, builder.node(inner, 5, 4)) == 4
    assert builder.node(outer, 4, 2, builder.node(inner, 5, 4)) == builder.node(outer, 2, 4)
    other = builder.node(inner, 5, 2)
    assert builder.node(outer, 4, builder.node(inner, 5, 4), other) == builder.node(outer, 4, other)


def test_nodes_of_one_hash_are_told_apart_by_their_children() -> None:
    builder, other = Builder(), Builder()
    first = builder.node(AND, 0, 4)
    other.node(AND, 2, 4)
    # The table is made to look as if the second node had the hash, and so the bucket, of the first.
    builder.table.nodes[~first, TAG] = other.table.nodes[0, TAG]
    builder.table.buckets[:] = other.table.buckets
    assert builder.node(AND, 2, 4) != first


@pytest.mark.slow
def test_the_table_grows_with_nodes_and_with_children() -> None:
    complement = np.full(200_000, NO_COMPLEMENT, np.int32)
    table = empty_node_table()
    for literal in range(3000):
        table, code = add_node(table, AND, np.array([literal, literal + 1]), complement)
        assert code == ~literal
    wide = np.random.default_rng(3).permutation(150_000)
    table, code = add_node(table, OR, wide, complement)
    assert children_of(table, code) == list(range(150_000))
    table, spliced = add_node(table, OR, np.array([code, 150_000]), complement)
    assert children_of(table, spliced) == list(range(150_001))
    assert add_node(table, AND, np.array([7, 8]), complement)[1] == ~7

from itertools import pairwise

import numpy as np
import pytest

from ruledex.compiled.constants import AND, OR
from ruledex.engines.atree.engine import AtreeEngine
from ruledex.engines.atree.layout import BLOCK, FIRE, LEVEL, N_DOWN, N_FIRE, N_MATCH_COLUMNS, OP, ROW
from ruledex.engines.atree.tree import Switches
from ruledex.engines.protocol import Statistics
from tests.contract.agreement import assert_agrees
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program

A, B, C = (("in", (cell, cell)) for cell in (1, 2, 3))
EITHER = ("or", A, B)
OFTEN, SELDOM = 0.5, 0.1


def built(rules, chance_of_c, **switches):
    program = make_program([1, 1, 1], [(tree, 0.0, None) for tree in rules])
    return AtreeEngine.build(program, Statistics(np.array([1.0, 0.2, 0.2, chance_of_c])), Switches(**switches))


def rows_of(engine):
    return engine.index.nodes.reshape(-1, N_MATCH_COLUMNS)


def block_of(engine, row):
    return engine.index.heap[row[BLOCK] : row[BLOCK] + row[N_DOWN]]


def test_an_or_that_leads_nowhere_is_asked_by_the_and_that_needs_it():
    engine = built([("and", EITHER, C)], SELDOM)
    rows = rows_of(engine)
    (conjunction,) = rows[rows[:, OP] == AND]
    access, second = block_of(engine, conjunction)
    assert second < 0
    n_children, *children = engine.index.heap[~second:][:3]
    assert n_children == 2
    assert not rows[children, N_FIRE].any()
    assert rows[:, N_FIRE].sum() == rows[access, N_FIRE] == 1
    assert_agrees(engine, make_batch(engine.program, [{1, 3}, {2, 3}, {1, 2, 3}, {1, 2}, {3}, set()]))


def test_an_or_that_several_ask_lies_in_one_place():
    engine = built([("and", EITHER, C), ("and", EITHER, ("in", (3, 3), (1, 1)))], SELDOM)
    rows = rows_of(engine)
    asked = {int(child) for row in rows[rows[:, OP] == AND] for child in block_of(engine, row) if child < 0}
    assert len(asked) == 1
    assert_agrees(engine, make_batch(engine.program, [{1, 3}, {2, 3}, {1}, {2}, {3}]))


@pytest.mark.parametrize(
    ("rules", "chance_of_c", "switches"),
    [
        ([("and", EITHER, C)], OFTEN, {}),  # it is the access child
        ([("and", EITHER, C), EITHER], SELDOM, {}),  # it has a rule
        ([("and", EITHER, C)], SELDOM, {"zero_suppression": False}),
        ([("and", EITHER, C)], SELDOM, {"propagation_on_demand": False}),
    ],
)
def test_other_ors_are_fired(rules, chance_of_c, switches):
    engine = built(rules, chance_of_c, **switches)
    rows = rows_of(engine)
    assert all((block_of(engine, row) >= 0).all() for row in rows[rows[:, OP] <= OR])
    assert rows[: engine.program.n_literals, N_FIRE].sum() >= 2
    assert_agrees(engine, make_batch(engine.program, [{1, 3}, {2, 3}, {1, 2}, {3}]))


def test_nodes_lie_by_levels_and_what_a_node_fires_lies_in_their_order():
    program = drawn_program(scaled(300, 25))
    engine = AtreeEngine.build(program)
    rows, heap = rows_of(engine), engine.index.heap
    assert (np.diff(rows[:, LEVEL]) >= 0).all()
    for row in rows:
        targets = heap[row[FIRE] : row[FIRE] + ROW * row[N_FIRE] : ROW]
        assert all(before < after for before, after in pairwise(targets[targets >= 0].tolist()))
    assert_agrees(engine, drawn_batch(program, 5))

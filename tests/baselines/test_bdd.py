"""BDD on a-tree2021's expressions, its diagrams, and where it gives up."""

import sys

import numpy as np
import pytest

from baselines.bdd import Bdd
from ruledex.engines.scan import ScanEngine
from ruledex.errors import BudgetError
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled

from .samples import drawn_expressions
from .test_baselines import assert_same

A, B = 1, 11
SIZES = [10, 5]


def leaf(cell):
    return ("in", (cell, cell))


@pytest.mark.parametrize(("depth", "n_children"), [(1, 4), (3, 4), (4, 2)])
def test_expressions_of_the_papers_generator_agree_with_scan(depth, n_children):
    program, batch = drawn_expressions(depth=depth, n_children=n_children)
    assert_same(Bdd.build(program), ScanEngine.build(program), batch)


def test_the_plain_python_part_of_the_library_gives_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "dd.cudd", None)
    program, batch = drawn_expressions(scaled(300, 60))
    assert_same(Bdd.build(program), ScanEngine.build(program), batch)


def test_the_papers_example_has_a_node_a_predicate():
    tree = ("and", ("or", leaf(A), leaf(A + 1), leaf(A + 2)), leaf(A + 3), ("or", leaf(B), leaf(B + 1)))
    engine = Bdd.build(make_program(SIZES, [(tree, 0.0, None)]))
    assert engine.describe()["n_nodes"] == 6


def test_rules_that_mean_the_same_are_one_function():
    a, b, c = leaf(A), leaf(A + 1), leaf(B)
    factored, expanded = ("and", a, ("or", b, c)), ("or", ("and", a, b), ("and", a, c))
    program = make_program(SIZES, [(tree, 0.0, None) for tree in (factored, expanded, a)])
    engine = Bdd.build(program)
    assert engine.describe()["n_functions"] == 2
    assert engine.match(make_batch(program, [{A, B}])).rule.tolist() == [0, 1, 2]


def test_a_walk_ends_at_the_first_literal_that_decides():
    program = make_program(SIZES, [(("and", leaf(A), leaf(A + 1), leaf(B)), 0.0, None)])
    engine = Bdd.build(program)
    visited = [engine.work(make_batch(program, [event]))["nodes visited"] for event in ({A, A + 1, B}, set())]
    assert visited == [3, 1]


def test_what_takes_too_long_or_too_much_memory_is_refused():
    program, _ = drawn_expressions(scaled(2000, 200))
    with pytest.raises(BudgetError, match="seconds"):
        Bdd.build(program, seconds=0.0)
    if "dd.cudd" in sys.modules:
        deep, _ = drawn_expressions(scaled(2000, 200), depth=4)
        with pytest.raises(BudgetError, match="bytes"):
            Bdd.build(deep, n_bytes=1 << 20)


def test_nodes_lie_in_the_order_of_a_walk_along_false_literals():
    program, _ = drawn_expressions(scaled(500, 60))
    nodes = Bdd.build(program).index.nodes.reshape(-1, 3)
    inner = nodes[:, 1] >= 0
    follows = (nodes[:, 1] >> 1)[inner] == np.flatnonzero(inner) + 1
    assert follows.mean() > 0.5

"""BoP on a-tree2021's expressions, and what it takes for candidates."""

import numpy as np
import pytest

from baselines.bop import Bop
from ruledex.compiled.constants import EVERY
from ruledex.engines.scan import ScanEngine
from tests.contract.builder import make_batch, make_program

from .samples import drawn_expressions
from .test_baselines import assert_same

A, B = 1, 11
SIZES = [10, 5]


def leaf(cell):
    return ("in", (cell, cell))


@pytest.mark.parametrize(("depth", "n_children"), [(1, 4), (3, 4), (4, 3), (3, 9)])
def test_expressions_of_the_papers_generator_agree_with_scan(depth, n_children):
    program, batch = drawn_expressions(depth=depth, n_children=n_children)
    assert_same(Bop.build(program), ScanEngine.build(program), batch)


def test_only_expressions_with_enough_true_predicates_are_evaluated():
    # The paper's example: three of the six must hold, and the three of one OR are taken for enough.
    tree = ("and", ("or", leaf(A), leaf(A + 1), leaf(A + 2)), leaf(A + 3), ("or", leaf(B), leaf(B + 1)))
    program = make_program(SIZES, [(tree, 0.0, None)])
    events = [{A, A + 3}, {A, A + 1, A + 2}, {A, A + 3, B}]
    engine = Bop.build(program)
    assert engine.index.needed.tolist() == [3]
    evaluated = [engine.work(make_batch(program, [event]))["expressions evaluated"] for event in events]
    assert evaluated == [0, 1, 1]
    assert engine.count(make_batch(program, events)).tolist() == [0, 0, 1]


def test_a_predicate_that_stands_twice_counts_twice():
    tree = ("and", ("or", leaf(A), leaf(A + 1)), ("or", leaf(A), leaf(A + 2)))
    program = make_program(SIZES, [(tree, 0.0, None)])
    assert Bop.build(program).count(make_batch(program, [{A}, {A + 1}, {A + 1, A + 2}])).tolist() == [1, 0, 1]


def test_weak_literals_are_not_waited_for():
    weak = ("not in", EVERY, (A, A + 3))
    program = make_program(SIZES, [(("and", weak, leaf(B)), 0.0, None), (("or", weak, leaf(B)), 0.0, None)])
    engine = Bop.build(program)
    found = engine.match(make_batch(program, [set(), {B}, {A, B}, {A}]))
    assert [found.of(event).tolist() for event in range(4)] == [[1], [0, 1], [1], []]


def test_more_needed_predicates_than_a_byte_counts_are_counted():
    wide = 300
    program = make_program([wide], [(("and", *(leaf(1 + i) for i in range(wide))), 0.0, None)])
    cells = set(range(1, wide + 1))
    engine = Bop.build(program)
    assert engine.index.needed.dtype == np.int32
    assert engine.count(make_batch(program, [cells, cells - {7}])).tolist() == [1, 0]

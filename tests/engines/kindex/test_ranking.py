import numpy as np
import pytest

from ruledex.engines.kindex.engine import CnfEngine, DnfEngine
from ruledex.engines.kindex.postings import ListBounds
from tests.contract.agreement import assert_top_agrees
from tests.contract.builder import make_batch, make_program

ENGINES = [DnfEngine, CnfEngine]
FIRST, SECOND, THIRD = ("in", (1, 1)), ("in", (3, 3)), ("in", (5, 5))
SIZES = [2, 2, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_bounds_decide_what_is_looked_at(engine):
    # The rule of three literals comes first. One of a single literal is better, unless its list promises nothing.
    program = make_program(SIZES, [(("and", FIRST, SECOND, THIRD), 0.0, None), (FIRST, 0.0, ("leaf", FIRST, 9.0))])
    batch = make_batch(program, [{1, 3, 5}])
    built = engine.build(program)
    assert built.top(batch, 1).scores.tolist() == [9.0]
    promised = built._form_ranker.bounds
    built._form_ranker.bounds = ListBounds(np.zeros_like(promised.own_weight), np.zeros_like(promised.share))
    assert built.top(batch, 1).scores.tolist() == [3.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_lists_of_rules_that_are_a_normal_form_are_bounded_by_the_literals_themselves(engine):
    program = make_program(SIZES, [(("and", FIRST, SECOND), 0.0, None), (("or", FIRST, THIRD), 0.0, None)])
    bounds = engine.build(program)._form_ranker.bounds
    assert bounds.own_weight == pytest.approx(1.0)
    assert not bounds.share.any()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_lists_of_a_key_are_bounded_by_its_largest_weight(engine):
    weighted = ("and", ("leaf", FIRST, 4.0), ("leaf", SECOND, 2.0))
    other = ("and", ("leaf", FIRST, 3.0), ("leaf", SECOND, 2.5))
    program = make_program(SIZES, [(("and", FIRST, SECOND), 0.0, score) for score in (weighted, other)])
    bounds = engine.build(program)._form_ranker.bounds
    assert sorted(bounds.own_weight.tolist()) == [2.5, 4.0]
    assert not bounds.share.any()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_lists_of_a_set_that_rules_share_are_bounded_by_its_weight(engine):
    either = ("in", (1, 1), (3, 3))
    score = ("and", ("leaf", either, 4.0), ("leaf", THIRD, 2.0))
    others = [(("and", either, ("in", (cell, cell))), 0.0, None) for cell in (2, 4, 6)]
    built = engine.build(make_program(SIZES, [(("and", either, THIRD), 0.0, score), *others]))
    assert len(built.index.links) > 0
    assert sorted(set(built._form_ranker.bounds.own_weight.tolist())) == [1.0, 2.0, 4.0]
    assert_top_agrees(built, make_batch(built.program, [{1, 5}, {3, 5}, {3, 4}, {2}]), 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_lists_of_other_rules_share_the_bound_of_the_whole(engine):
    score = ("and", ("leaf", FIRST, 4.0), ("or", ("leaf", SECOND, 2.0), ("leaf", THIRD, 1.0)))
    program = make_program(SIZES, [(("and", FIRST, SECOND), 0.0, score)])
    bounds = engine.build(program)._form_ranker.bounds
    assert bounds.share == pytest.approx(3.0)
    assert not bounds.own_weight.any()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_literal_that_scores_twice_is_bounded_twice(engine):
    # As a DNF this is FIRST alone, or more; as a CNF it is as it stands.
    tree = ("and", ("or", FIRST, SECOND), ("or", FIRST, THIRD))
    program = make_program(SIZES, [(tree, 0.0, None), (SECOND, 1.5, None)])
    built = engine.build(program)
    assert built.top(make_batch(program, [{1, 3}]), 1).scores.tolist() == [2.5]
    assert built.top(make_batch(program, [{1}]), 1).scores.tolist() == [2.0]
    assert_top_agrees(built, make_batch(program, [{1, 3, 5}, {1, 3}, {1}]), 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_among_equal_ranks_the_first_position_wins_wherever_its_list_lies(engine):
    rng = np.random.default_rng(2)
    trees = [FIRST, SECOND, THIRD, ("and", FIRST, SECOND), ("or", SECOND, THIRD)]
    drawn = [(trees[i], float(rng.integers(0, 2)), None) for i in rng.integers(0, len(trees), 60)]
    program = make_program(SIZES, drawn)
    built = engine.build(program)
    for k in (1, 4, 30, 100):
        assert_top_agrees(built, make_batch(program, [{1, 3, 5}, {1}, {3, 5}, set()]), k)

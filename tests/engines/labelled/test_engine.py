from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ruledex.engines.labelled.dewey import DeweyEngine
from ruledex.engines.labelled.engine import CHUNK, LabelledOptions
from ruledex.engines.labelled.interval import IntervalEngine
from ruledex.engines.protocol import Statistics
from ruledex.engines.scan import ScanEngine
from ruledex.errors import ArtifactError, BudgetError, RuledexError
from tests.contract.agreement import assert_agrees, assert_top_agrees
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program

pytestmark = pytest.mark.parametrize("engine_type", [DeweyEngine, IntervalEngine])

A, B, C, D = (("in", (cell, cell)) for cell in range(1, 5))
LARGE = ("or", ("and", A, ("or", B, C)), ("and", B, D), C)


def test_a_rule_past_the_budget_is_refused_by_its_position(engine_type):
    program = make_program([4], [(A, 0.0, None), (LARGE, 0.0, None)])
    with pytest.raises(BudgetError, match="the rule at position 1 has at least 5 leaves, over the budget of 4"):
        engine_type.build(program, options=LabelledOptions(budget=4))
    assert_agrees(engine_type.build(program, options=LabelledOptions(budget=5)), make_batch(program, [{1, 2}, {3}]))


def test_rules_past_the_budget_may_go_to_sparse_and_are_counted(engine_type):
    program = drawn_program(scaled(100, 40))
    batch = drawn_batch(program, scaled(10, 4))
    alive = np.random.default_rng(1).random(program.n_rules) < 0.7
    n_overflow = []
    for budget in (0, 3, 4, 1000):
        engine = engine_type.build(program, options=LabelledOptions(budget, "sparse"))
        stored = {name: array.copy() for name, array in engine.arrays().items()}
        restored = engine_type.from_arrays(program, stored)
        for one in (engine, restored):
            assert_agrees(one, batch)
            assert_agrees(one, batch, alive)
            assert_top_agrees(one, batch, 3)
        assert restored.describe() == engine.describe()
        n_overflow.append(engine.describe()["n_overflow"])
    assert n_overflow[0] == program.n_rules
    assert n_overflow[0] > n_overflow[1] > n_overflow[2] > n_overflow[3] == 0


def test_an_unknown_overflow_is_refused(engine_type):
    with pytest.raises(RuledexError, match="'drop'"):
        engine_type.build(make_program([2], []), options=LabelledOptions(overflow="drop"))


def test_statistics_change_no_answer(engine_type):
    program = drawn_program(scaled(300, 30))
    frequency = np.random.default_rng(1).random(program.n_cells)
    assert_agrees(engine_type.build(program, Statistics(frequency)), drawn_batch(program, scaled(30, 3)))


def test_scratch_is_clean_after_each_call(engine_type):
    program = drawn_program(scaled(400, 40))
    engine = engine_type.build(program)
    for seed in range(4):
        assert_agrees(engine, drawn_batch(program, 3, seed, several=bool(seed % 2)))
        (scratch,) = engine._pool
        assert not scratch.leaf_marks[0].any()
        assert not scratch.leaf_marks[1].any()
        assert not scratch.rule_marks.any()


def test_answers_longer_than_one_chunk_are_put_together(engine_type):
    cells = scaled(5000, 50)
    trees = [("or", ("in", (1, cells)), ("in", (1 + i, cells))) for i in range(1, cells)]
    program = make_program([cells], [(tree, 0.0, None) for tree in trees])
    n_events = scaled(CHUNK // len(trees) * 3, 4)
    engine = engine_type.build(program)
    batch = make_batch(program, [{cells}] * n_events)
    found = engine.match(batch)
    assert np.array_equal(found.rule, np.tile(np.arange(program.n_rules), n_events))
    assert engine.count(batch).tolist() == [program.n_rules] * n_events


def test_threads_may_share_an_engine(engine_type):
    program = drawn_program(scaled(400, 40))
    engine = engine_type.build(program)
    batches = [drawn_batch(program, scaled(20, 3), seed) for seed in range(8)]
    expected = [ScanEngine.build(program).match(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(engine.match, batches * 3))
    for one, other in zip(found, expected * 3, strict=True):
        assert np.array_equal(one.rule, other.rule)
        assert np.array_equal(one.offsets, other.offsets)


@pytest.mark.parametrize("name", ["annotations", "expression_of", "conjunctions.entries"])
def test_a_missing_array_is_a_damaged_index(engine_type, name):
    engine = engine_type.build(make_program([4], [(LARGE, 0.0, None)]))
    arrays = engine.arrays()
    del arrays[name]
    with pytest.raises(ArtifactError, match=name.rpartition(".")[2]):
        engine_type.from_arrays(engine.program, arrays)


def test_a_description_says_how_large_trees_are(engine_type):
    described = engine_type.build(make_program([4], [(LARGE, 0.0, None), (A, 0.0, None), (A, 0.0, None)])).describe()
    assert described["n_expressions"] == 2
    assert described["n_leaves"] == 6
    assert described["most_leaves"] == 5
    assert described["n_conjunctions"] == 4

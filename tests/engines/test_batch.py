import numpy as np
import pytest

from ruledex.engines.batch import BatchEngine
from ruledex.engines.scan import ScanEngine
from tests.contract.agreement import assert_agrees
from tests.contract.sizes import scaled

from .programs import drawn_batch, drawn_program

N_RULES = scaled(2000, 60)
MAX_ROWS = scaled(250, 12)


def same(left, right):
    return all(np.array_equal(one, other) for one, other in zip(left, right, strict=True) if one is not None)


@pytest.mark.parametrize("several", [False, True])
def test_tiles_of_rules_change_no_answer(several):
    program = drawn_program(N_RULES)
    batch = drawn_batch(program, scaled(600, 20), several=several)
    whole, tiled = BatchEngine.build(program), BatchEngine.build(program, max_rows=MAX_ROWS)
    assert whole.describe()["n_tiles"] == 1
    assert tiled.describe()["n_tiles"] > 4
    assert int(np.max(np.diff(tiled.index.tile_rows))) <= MAX_ROWS
    assert same(whole.match(batch), tiled.match(batch))
    assert same(whole.match(batch), ScanEngine.build(program).match(batch))
    assert np.array_equal(whole.count(batch), tiled.count(batch))
    assert same(whole.top(batch, 5), tiled.top(batch, 5))


@pytest.mark.parametrize("n_events", [100, 1100])
def test_threads_change_no_answer(n_events):
    program = drawn_program(N_RULES)
    batch = drawn_batch(program, scaled(n_events, 20))
    one, three = BatchEngine.build(program), BatchEngine.build(program, threads=3)
    assert same(one.match(batch), three.match(batch))
    assert np.array_equal(one.count(batch), three.count(batch))
    assert same(one.top(batch, 7, "product"), three.top(batch, 7, "product"))


def test_more_rules_than_fit_one_chunk_are_all_found():
    program = drawn_program(scaled(40_000, 100))
    batch = drawn_batch(program, 3)
    assert same(BatchEngine.build(program).match(batch), ScanEngine.build(program).match(batch))


def test_scratch_is_fit_for_batches_of_other_kinds():
    program = drawn_program(50)
    engine = BatchEngine.build(program)
    for n_events, several in ((5, False), (70, True), (3, False), (20, True)):
        assert_agrees(engine, drawn_batch(program, n_events, several=several))


def test_a_large_k_is_answered_from_all_that_was_found():
    program = drawn_program(N_RULES)
    batch = drawn_batch(program, scaled(40, 5))
    assert same(BatchEngine.build(program).top(batch, 1500), ScanEngine.build(program).top(batch, 1500))

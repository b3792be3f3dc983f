import numpy as np
import pytest

from ruledex import Schema
from ruledex.engines.batch.engine import BatchEngine, BatchOptions
from ruledex.engines.scan import ScanEngine
from ruledex.events.mappings import EventEncoder
from ruledex.index.build import build_program
from tests.contract.agreement import assert_agrees
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program

N_RULES = scaled(2000, 60)
MAX_ROWS = scaled(250, 12)


def same(left, right):
    return all(np.array_equal(one, other) for one, other in zip(left, right, strict=True) if one is not None)


@pytest.mark.parametrize("several", [False, True])
def test_tiles_of_rules_change_no_answer(several):
    program = drawn_program(N_RULES)
    batch = drawn_batch(program, scaled(600, 20), several=several)
    whole, tiled = BatchEngine.build(program), BatchEngine.build(program, options=BatchOptions(max_rows=MAX_ROWS))
    assert whole.describe()["n_tiles"] == 1
    assert tiled.describe()["n_tiles"] > 4
    assert int(np.max(np.diff(tiled.index.tile_rows))) <= MAX_ROWS
    assert same(whole.match(batch), tiled.match(batch))
    assert same(whole.match(batch), ScanEngine.build(program).match(batch))
    assert np.array_equal(whole.count(batch), tiled.count(batch))
    assert same(whole.top(batch, 5), tiled.top(batch, 5))


@pytest.mark.parametrize("rank", ["sum", "product", "static"])
@pytest.mark.parametrize("n_scores", [1, 2, 5])
def test_tiles_are_left_out_only_where_their_rules_come_too_late(monkeypatch, rank, n_scores):
    # With few scores most bounds are equal, and positions decide.
    monkeypatch.setattr("ruledex.engines.batch.engine.RANK_TILE", 8)
    program = drawn_program(N_RULES)
    batch = drawn_batch(program, scaled(200, 20))
    static = np.random.default_rng(n_scores).integers(0, n_scores, N_RULES).astype(np.float64)
    if n_scores == 5:
        static[:] = 0.0
        static[-3:] = 1.0  # the last tile comes first, and fills heaps with rules of the least score
    for k in (1, 3, 20):
        found = BatchEngine.build(program).top(batch, k, rank, None, static)
        assert same(found, ScanEngine.build(program).top(batch, k, rank, None, static))


@pytest.mark.parametrize("n_events", [100, 1100])
def test_threads_change_no_answer(n_events):
    program = drawn_program(N_RULES)
    batch = drawn_batch(program, scaled(n_events, 20))
    one, three = BatchEngine.build(program), BatchEngine.build(program, options=BatchOptions(threads=3))
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


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("rank", ["sum", "product", "static"])
def test_the_best_of_a_block_are_those_of_its_events_one_by_one(rank, several):
    program = drawn_program(N_RULES)
    batch = drawn_batch(program, scaled(600, 20), several=several)
    assert same(BatchEngine.build(program).top(batch, 9, rank), ScanEngine.build(program).top(batch, 9, rank))


def test_an_events_own_weights_count_in_a_block():
    program = drawn_program(N_RULES)
    batch = drawn_batch(program, scaled(200, 20), several=True)
    weighed = batch._replace(weights=np.random.default_rng(0).random(len(batch.cells)) * 3)
    assert same(BatchEngine.build(program).top(weighed, 9), ScanEngine.build(program).top(weighed, 9))
    assert not same(BatchEngine.build(program).top(batch, 9), ScanEngine.build(program).top(weighed, 9))


def test_rules_with_weights_and_exclusive_ors_are_ranked_in_a_block():
    texts = [
        f"a{n % 5} = {n % 7}^{1 + n % 4} XOR (a{n % 3} > {n % 6})^0.3 OR NOT (a4 < {n % 9} XNOR b IN ('x', 'y'))"
        for n in range(scaled(300, 70))
    ]
    built = build_program(texts, np.zeros(len(texts)), Schema())
    events = [{f"a{n}": (event * n) % 8 for n in range(5)} | {"b": "xyz"[event % 3]} for event in range(scaled(64, 9))]
    batch = EventEncoder(built.dictionary).encode(events)
    assert same(BatchEngine.build(built.program).top(batch, 20), ScanEngine.build(built.program).top(batch, 20))

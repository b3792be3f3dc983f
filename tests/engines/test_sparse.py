from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ruledex.engines.protocol import Statistics
from ruledex.engines.scan import ScanEngine
from ruledex.engines.sparse import CHUNK, SparseEngine
from ruledex.errors import ArtifactError, RuledexError
from tests.contract.agreement import assert_agrees
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled

from .programs import drawn_batch, drawn_program


def test_statistics_change_the_work_and_no_answer():
    program = drawn_program(scaled(500, 40))
    batch = drawn_batch(program, scaled(50, 5))
    frequency = np.random.default_rng(1).random(program.n_cells)
    engine = SparseEngine.build(program, Statistics(frequency))
    assert not np.array_equal(engine.index.and_edges, SparseEngine.build(program).index.and_edges)
    assert_agrees(engine, batch)


def test_statistics_of_another_program_are_refused():
    with pytest.raises(RuledexError, match="one entry for each of 3 cells"):
        SparseEngine.build(make_program([2], []), Statistics(np.ones(7)))


def test_the_access_child_is_the_one_that_is_true_least_often():
    rare, common = ("in", (1, 1)), ("in", (3, 3))
    program = make_program([2, 2], [(("and", common, rare), 0.0, None)])
    for frequencies, expected in (([1, 0.1, 0, 0.9, 0], 1), ([1, 0.9, 0, 0.1, 0], 3)):
        index = SparseEngine.build(program, Statistics(np.array(frequencies))).index
        (source,) = np.flatnonzero(np.diff(index.edge_offsets[1::2]))
        assert index.atom_low[source] == expected


def test_scratch_is_clean_after_each_event():
    program = drawn_program(scaled(500, 40))
    engine = SparseEngine.build(program)
    for seed in range(5):
        assert_agrees(engine, drawn_batch(program, 3, seed, several=bool(seed % 2)))
        ((scratch, _),) = engine._pool
        assert not scratch[0].any()
        assert not scratch[1].any()


def test_answers_longer_than_one_chunk_are_put_together():
    program = make_program([2], [("always", 0.0, None)] * scaled(5000, 300))
    n_events = scaled(CHUNK // 5000 * 3, 4)
    found = SparseEngine.build(program).match(make_batch(program, [{1}] * n_events))
    assert np.array_equal(found.rule, np.tile(np.arange(program.n_rules), n_events))


def test_threads_may_share_an_engine():
    program = drawn_program(scaled(500, 40))
    engine = SparseEngine.build(program)
    batches = [drawn_batch(program, scaled(20, 3), seed) for seed in range(8)]
    expected = [ScanEngine.build(program).match(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(engine.match, batches * 3))
    for one, other in zip(found, expected * 3, strict=True):
        assert np.array_equal(one.rule, other.rule)
        assert np.array_equal(one.offsets, other.offsets)


def test_a_missing_array_is_a_damaged_index():
    engine = SparseEngine.build(make_program([2], []))
    arrays = engine.arrays()
    del arrays["or_edges"]
    with pytest.raises(ArtifactError, match="or_edges"):
        SparseEngine.from_arrays(engine.program, arrays)


def test_an_interval_over_two_domains_is_refused():
    with pytest.raises(RuledexError, match="domain"):
        SparseEngine.build(make_program([2, 2], [(("in", (2, 3)), 0.0, None)]))

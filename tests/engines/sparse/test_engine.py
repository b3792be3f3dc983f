import random

import numpy as np
import pytest

from ruledex.engines.protocol import Statistics
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.engines.sparse.kernels import sparse_scratch
from ruledex.errors import RuledexError
from tests.contract.agreement import assert_agrees
from tests.contract.builder import make_program
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program


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
        (buffers,) = engine._pool
        scratch = sparse_scratch(buffers.handle.address)
        assert not scratch.bits.any()
        assert not scratch.touched.any()


def test_one_event_has_the_rules_that_it_has_in_a_batch_whatever_the_order_of_its_cells():
    program = drawn_program(scaled(500, 40))
    engine = SparseEngine.build(program)
    rng = random.Random(7)
    for seed in range(4):
        batch = drawn_batch(program, 20, seed, several=bool(seed % 2))
        expected = engine.match(batch)
        for event in range(batch.n_events):
            cells = batch.cells[batch.offsets[event] : batch.offsets[event + 1]].tolist()
            cells += rng.choices(cells, k=rng.choice((0, 3, 300))) if cells else []
            rng.shuffle(cells)
            assert engine.match_one(cells).tolist() == expected.of(event).tolist()


def test_an_interval_over_two_domains_is_refused():
    with pytest.raises(RuledexError, match="domain"):
        SparseEngine.build(make_program([2, 2], [(("in", (2, 3)), 0.0, None)]))

import numpy as np

from ruledex.engines.atree.engine import AtreeEngine
from ruledex.engines.atree.match import LAST_EVENT
from tests.contract.agreement import assert_agrees
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program


def test_what_an_earlier_event_left_counts_for_nothing():
    program = drawn_program(scaled(300, 25))
    engine = AtreeEngine.build(program)
    for seed in range(4):
        assert_agrees(engine, drawn_batch(program, 4, seed))
    assert len(engine._matcher._pool) == 1


def test_numbers_of_events_begin_again_when_they_run_out():
    program = drawn_program(scaled(300, 25))
    engine = AtreeEngine.build(program)
    engine.match(drawn_batch(program, 3))
    (scratch,) = engine._matcher._pool
    scratch.match.event[0] = LAST_EVENT - 1
    assert_agrees(engine, drawn_batch(program, 6, 1))
    assert 0 < scratch.match.event[0] < 20


def test_dead_rules_are_neither_written_nor_counted():
    program = drawn_program(scaled(300, 25))
    alive = np.random.default_rng(0).random(program.n_rules) < 0.5
    assert_agrees(AtreeEngine.build(program), drawn_batch(program, 5), alive)

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ruledex.engines.auto import AutoEngine, AutoOptions
from ruledex.engines.batch.engine import BatchEngine
from ruledex.engines.protocol import Statistics
from ruledex.engines.sparse.engine import SparseEngine

from .programs import drawn_program


@pytest.mark.parametrize(("n_events", "chosen"), [(1, SparseEngine), (127, SparseEngine), (128, BatchEngine)])
def test_the_size_of_the_batch_chooses(n_events, chosen):
    assert type(AutoEngine.build(drawn_program(20)).choose(n_events)) is chosen


def test_the_choice_is_described_for_people_and_for_json():
    engine = AutoEngine.build(drawn_program(20), options=AutoOptions(threads=2))
    assert engine.choose(128) is engine.batch
    described = json.loads(json.dumps(engine.describe()))
    assert described["batch_from_events"] == 128
    assert "128 events or more" in described["why"]
    assert described["batch"]["threads"] == 2


def test_batch_is_made_when_it_is_needed_and_once():
    engine = AutoEngine.build(drawn_program(20))
    engine.choose(1)
    assert engine.describe()["batch"] is None
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: id(engine.choose(1000)), range(64)))
    assert made == {id(engine.batch)}
    assert engine.describe()["bytes"] == engine.sparse.describe()["bytes"] + engine.batch.describe()["bytes"]


def test_statistics_are_kept_for_the_engine_that_is_made_later():
    program = drawn_program(20)
    frequency = np.random.default_rng(1).random(program.n_cells)
    engine = AutoEngine.build(program, Statistics(frequency))
    reopened = AutoEngine.from_arrays(program, engine.arrays())
    expected = BatchEngine.build(program, Statistics(frequency)).arrays()
    for made in (engine.batch.arrays(), reopened.batch.arrays()):
        assert all(np.array_equal(made[name], expected[name]) for name in expected)
    plain = BatchEngine.build(program).arrays()
    assert any(not np.array_equal(plain[name], expected[name]) for name in expected)


def test_sparse_of_few_rules_is_made_when_it_is_needed_and_once():
    engine = AutoEngine.build(drawn_program(20))
    engine.match_one([0])
    assert engine._sparse is None
    with ThreadPoolExecutor(8) as pool:
        assert {id(made) for made in pool.map(lambda _: engine.sparse, range(16))} == {id(engine.sparse)}
    assert engine.with_threads(2).sparse is engine.sparse
    assert AutoEngine.build(drawn_program(20), Statistics(np.ones(engine.program.n_cells)))._sparse is not None

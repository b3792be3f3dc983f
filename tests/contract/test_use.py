"""How an engine is used: by several threads, for long answers, out of stored arrays."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ruledex.engines.scan import ScanEngine
from ruledex.errors import ArtifactError
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program


def test_long_answers_are_put_together(engine_type):
    program = make_program([2], [("always", 0.0, None)] * scaled(5000, 300))
    n_events = scaled(40, 4)  # more matches than any engine writes at a time
    found = engine_type.build(program).match(make_batch(program, [{1}] * n_events))
    assert np.array_equal(found.rule, np.tile(np.arange(program.n_rules), n_events))


def test_threads_may_share_an_engine(engine_type):
    program = drawn_program(scaled(500, 30))
    engine = engine_type.build(program)
    batches = [drawn_batch(program, scaled(20, 3), seed) for seed in range(8)]
    expected = [ScanEngine.build(program).match(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(engine.match, batches * 3))
    for one, other in zip(found, expected * 3, strict=True):
        assert np.array_equal(one.rule, other.rule)
        assert np.array_equal(one.offsets, other.offsets)


def test_a_missing_array_is_a_damaged_index(engine_type):
    engine = engine_type.build(make_program([2], []))
    for name in engine.arrays():
        arrays = engine.arrays()
        del arrays[name]
        with pytest.raises(ArtifactError, match=name.rpartition(".")[2]):
            engine_type.from_arrays(engine.program, arrays)

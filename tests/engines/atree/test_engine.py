from itertools import product

import numpy as np

from ruledex.engines.atree.engine import AtreeEngine
from ruledex.engines.atree.layout import FIRE, N_FIRE, N_MATCH_COLUMNS, ROW
from ruledex.engines.atree.tree import Switches
from ruledex.engines.protocol import Statistics
from ruledex.engines.scan import ScanEngine
from tests.contract.agreement import assert_agrees, assert_top_agrees
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program


def test_no_switch_changes_an_answer():
    program = drawn_program(scaled(300, 20))
    batches = [drawn_batch(program, 4, seed, several=bool(seed)) for seed in range(2)]
    expected = [ScanEngine.build(program).match(batch) for batch in batches]
    for given in product([False, True], repeat=len(Switches._fields)):
        engine = AtreeEngine.build(program, options=Switches(*given))
        for batch, answer in zip(batches, expected, strict=True):
            assert np.array_equal(engine.match(batch).rule, answer.rule), engine.switches
            assert np.array_equal(engine.count(batch), np.diff(answer.offsets))


def test_switches_are_stored_with_the_arrays():
    program = drawn_program(scaled(100, 20))
    built = AtreeEngine.build(program, options=Switches(zero_suppression=False, sharing=False))
    engine = AtreeEngine.from_arrays(program, built.arrays())
    assert engine.describe()["switches"] == built.describe()["switches"]
    assert_agrees(engine, drawn_batch(program, 5))


def test_statistics_choose_the_access_child():
    common, rare = ("in", (1, 1)), ("in", (3, 3))
    program = make_program([2, 2], [(("and", common, rare), 0.0, None)])
    for frequencies, expected in (([1, 0.1, 0, 0.9, 0], 1), ([1, 0.9, 0, 0.1, 0], 3)):
        index = AtreeEngine.build(program, Statistics(np.array(frequencies))).index
        fired = index.nodes.reshape(-1, N_MATCH_COLUMNS)
        (access,) = np.flatnonzero(fired[:, N_FIRE])
        assert index.heap[fired[access, FIRE]] == ~0
        buckets = index.centers[index.centers[:, 0] >= 0]
        literal_of = {int(center): int(index.heap[start + ROW - 1]) for center, start, _ in buckets}
        assert literal_of[expected] == access


def test_scores_do_not_depend_on_what_is_borrowed():
    one, two, three, four = (("in", (cell, cell)) for cell in range(1, 5))
    rules = [(("and", one, two, three), 0.0, None), (("and", three, four), 0.0, None)]
    program = make_program([1, 1, 1, 1], [*rules, (("and", one, two, three, four), 0.0, None)])
    engine = AtreeEngine.build(program)
    assert engine.describe()["n_reused_by_reorganisation"] == 2
    assert_top_agrees(engine, make_batch(program, [{1, 2, 3, 4}]), 3)

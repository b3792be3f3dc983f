import numpy as np
import pytest

from ruledex.compiled.scheduler import scheduler
from ruledex.engines.auto import AutoEngine
from ruledex.engines.road_costs import BLOCK, BUILD_BLOCKS, LOOK_AGAIN, MOST_UNSEEN, WATCH, RoadCosts
from ruledex.engines.sparse.engine import SparseEngine

from .programs import drawn_batch, drawn_program

ESTIMATE = 1e-3  # seconds of a block


def known(by_events, by_blocks):
    costs = RoadCosts()
    costs.by_events, costs.by_blocks = by_events, by_blocks
    return costs


def choice(costs, n_events, *, is_built=True, try_events=lambda: None):
    return costs.is_by_blocks(n_events, 128, ESTIMATE, is_built, try_events)


@pytest.mark.parametrize(("n_events", "expected"), [(127, False), (128, True)])
def test_the_number_of_events_decides_where_nothing_is_known(n_events, expected):
    assert choice(RoadCosts(), n_events) is expected


def test_what_was_measured_decides():
    assert choice(known(1e-5, 1e-3), 101)
    assert not choice(known(1e-5, 1e-3), 99)
    assert not choice(known(1e-5, 1e-2), BLOCK)
    assert choice(known(1e-5, 5e-3), 2 * BLOCK)


def test_a_large_batch_tries_a_few_events_before_anything_is_built():
    costs = RoadCosts()
    tried = []

    def try_events():
        tried.append(1)
        costs.by_events = 1e-8

    assert not choice(costs, BLOCK, is_built=False, try_events=try_events)
    assert tried == [1]


def test_small_batches_build_once_they_have_lost_what_building_takes():
    costs = known(1e-4, None)
    n_calls = 0
    while not choice(costs, 20, is_built=False):
        n_calls += 1
    assert n_calls == BUILD_BLOCKS
    assert choice(known(1e-4, None), 20, is_built=True)


def test_small_batches_build_later_where_blocks_may_only_take_less_if_the_estimate_is_wrong():
    costs = known(ESTIMATE / 20 / 2, None)
    n_calls = 0
    while not choice(costs, 20, is_built=False):
        n_calls += 1
    assert n_calls > 4 * BUILD_BLOCKS
    costs = known(ESTIMATE / 20 / 4, None)
    assert not any(choice(costs, 20, is_built=False) for _ in range(1000))


def test_the_first_call_on_a_road_may_have_waited_for_compiled_code_and_does_not_count():
    costs = RoadCosts()
    for is_by_blocks in (False, True):
        costs.note(is_by_blocks, 100, 10.0)
    assert costs.by_events is None
    assert costs.by_blocks is None
    for seconds in (1e-2, 2e-2):
        costs.note(False, 100, seconds)
        costs.note(True, 2 * BLOCK, seconds)
    assert 1e-4 < costs.by_events < 2e-4
    assert 5e-3 < costs.by_blocks < 1e-2


def test_the_other_road_is_looked_at_again():
    costs = known(1e-5, 1e-2)
    assert [choice(costs, BLOCK) for _ in range(LOOK_AGAIN)] == [False] * (LOOK_AGAIN - 1) + [True]


def test_each_look_that_changes_nothing_makes_the_next_one_rarer():
    costs = known(1e-5, 1e-2)
    looks = [call for call in range(8 * MOST_UNSEEN) if choice(costs, BLOCK)]
    apart = np.diff(looks)
    assert apart[0] == 2 * LOOK_AGAIN
    assert list(apart) == sorted(apart)
    assert set(apart[-3:]) == {MOST_UNSEEN}
    costs.by_blocks = 1e-3  # another road is faster now: soon it is looked whether that stays so
    assert choice(costs, BLOCK)
    assert costs.next_look - costs.n_calls <= LOOK_AGAIN


def test_blocks_that_are_built_and_may_be_faster_are_tried():
    assert choice(known(ESTIMATE / 20 / 2, None), 20, is_built=True)
    assert not choice(known(ESTIMATE / 20 / 4, None), 20, is_built=True)
    assert not choice(known(ESTIMATE / 20 / 2, None), 20, is_built=False)


def test_few_calls_are_timed_once_both_roads_are_known():
    costs = RoadCosts()
    assert costs.settled(BLOCK) is None
    costs = known(1e-5, 1e-2)
    n_timed = 0
    for _ in range(LOOK_AGAIN - WATCH):
        settled = costs.settled(BLOCK)
        n_timed += settled is None
        assert (choice(costs, BLOCK) if settled is None else settled) is False
    assert n_timed == (LOOK_AGAIN - WATCH) // WATCH
    assert costs.n_calls == LOOK_AGAIN - WATCH


def test_a_number_of_events_that_takes_the_other_road_is_not_settled():
    costs = known(1e-5, 1e-3)
    costs.n_calls = 1
    assert costs.settled(99) is None
    assert not choice(costs, 99)
    assert costs.settled(99) is False
    assert costs.settled(101) is None


@pytest.mark.parametrize("n_events", [1, 16, 100, 600])
@pytest.mark.parametrize("by_events", [None, 1e-12, 1e12])
def test_roads_answer_alike(monkeypatch, n_events, by_events):
    monkeypatch.setattr(scheduler, "is_compiled", True)
    program = drawn_program(50)
    batch = drawn_batch(program, n_events)
    auto, sparse = AutoEngine.build(program), SparseEngine.build(program)
    for question in ("match", "count", "top by sum"):
        auto._costs[question, min(n_events, BLOCK).bit_length()] = known(by_events, None if by_events is None else 1.0)
    for _ in range(2):
        expected, found = sparse.match(batch), auto.match(batch)
        assert np.array_equal(found.offsets, expected.offsets)
        assert np.array_equal(found.rule, expected.rule)
        assert np.array_equal(auto.count(batch), np.diff(expected.offsets))
        expected, found = sparse.top(batch, 3), auto.top(batch, 3)
        assert np.array_equal(found.offsets, expected.offsets)
        assert np.array_equal(found.rule, expected.rule)
        assert np.array_equal(found.scores, expected.scores)

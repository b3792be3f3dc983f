"""Keys added up to bounds, on keys written by hand."""

import numpy as np

from ruledex.engines.inputs import PRODUCT, SUM
from ruledex.relaxed.candidates import UNTOUCHED, CandidateScratch, CellRows, ConjunctKeys, OneEvent, find_candidates

# Rules 0 and 2 have one branch, rule 1 has two. Key 0 is an interval; cell 1 has the keys 1 to 3, cell 2 the key 4.
KEYS = ConjunctKeys(
    np.array([0, 1, 2, 3, 0], np.int32),
    np.array([0.5, 4.0, 2.0, 1.0, 8.0]),
    np.array([1, 1, 4, 5], np.int64),
    np.array([0, 1, 1, 2], np.int32),
)
ALL = np.zeros(0, np.uint8)


def candidates(cells, intervals=(), weights=None, rank=SUM, alive=ALL, slack=1.0, static=(0.0, 0.0, 10.0)):
    """The candidates of an event and their bounds; `intervals` has one that is met, or none, and weighs 2."""
    row_keys = np.array(intervals, np.int32).reshape(-1, 1)
    n_filled = np.ones(len(row_keys), np.int64)
    scratch = CandidateScratch(np.full(4, UNTOUCHED), np.full(3, UNTOUCHED), np.empty(4, np.int32))
    event = OneEvent(np.array(cells, np.int32), np.zeros(0), 0, len(cells), rank, np.array(static))
    found, bounds = np.empty(3, np.int32), np.empty(3)
    n_found = find_candidates(
        KEYS,
        CellRows(row_keys, n_filled, np.full(len(row_keys), 2.0)),
        event,
        np.array(weights or [1.0] * len(cells)),
        slack,
        alive,
        scratch,
        found,
        bounds,
    )
    assert np.all(scratch.totals == UNTOUCHED)
    assert np.all(scratch.most == UNTOUCHED)
    return dict(zip(found[:n_found].tolist(), bounds[:n_found].tolist(), strict=True))


def test_a_rule_is_bounded_by_the_best_of_its_branches():
    assert candidates([0, 1]) == {1: 4.0, 2: 11.0}


def test_points_of_all_cells_and_intervals_are_added_up_with_their_weights():
    assert candidates([0, 2], intervals=[0], weights=[1.0, 3.0]) == {0: 25.0}


def test_rules_that_are_not_alive_are_left_out():
    assert candidates([0, 1, 2], alive=np.array([1, 0, 1], np.uint8)) == {0: 8.0, 2: 11.0}


def test_bounds_are_of_ranks_and_leave_room_for_rounding():
    assert candidates([0, 1], rank=PRODUCT, static=(1.0, 2.0, -1.0)) == {1: 8.0, 2: 0.0}
    assert candidates([0, 1], slack=1.5) == {1: 6.0, 2: 11.5}


def test_an_event_that_meets_no_key_has_no_candidates():
    assert candidates([0]) == {}

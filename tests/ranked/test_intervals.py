import numpy as np
import pytest

from ruledex.errors import RuledexError
from ruledex.ranked.intervals import closed_intervals, doubles, entries_of


def test_open_ends_close_to_the_next_number_within():
    ends = closed_intervals([1, 1], [2, 2], [0, 0], [True, False], [False, True]).ends
    assert ends.tolist() == [np.nextafter(1, 2), 2.0, 1.0, np.nextafter(2, 1)]


def test_one_flag_may_stand_for_all_intervals():
    assert (closed_intervals([1, 3], [2, 4], [0, 0], True).ends[0::2] > [1, 3]).all()


@pytest.mark.parametrize(("left_open", "right_open"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("point", [-np.inf, -0.0, 3.0, np.inf])
def test_a_point_with_an_open_end_holds_nothing_and_is_in_no_tree(point, left_open, right_open):
    intervals = closed_intervals([point, 0], [point, 1], [5, 1], [left_open, False], [right_open, False])
    assert np.isnan(intervals.ends[:2]).all()
    assert entries_of(intervals).ids.tolist() == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, np.nan], [2, 2], [0, 0]), "interval 1: left is not a number"),
        (([1, 1], [np.nan, 2], [0, 0]), "interval 0: right is not a number"),
        (([1, 1], [2, 2], [0, np.inf]), "interval 1: the score"),
        (([1, 3], [2, 2], [0, 0]), "interval 1: left is larger"),
        (([1, 3], [2], [0, 0]), "right has 1"),
        (([1], [2], [0, 0]), "score has 2"),
        ((["a"], [2], [0]), "numbers"),
        (([[1]], [2], [0]), "one dimension"),
        (([2**53 + 1], [2**60], [0]), "not exact"),
        (([1, 1], [2, 2], [0, 0], [True]), "left_open"),
        (([1, 1], [2, 2], [0, 0], None, [True, False, True]), "right_open"),
    ],
)
def test_what_is_no_interval_is_an_error(arguments, message):
    with pytest.raises(RuledexError, match=message):
        closed_intervals(*arguments)


def test_the_callers_arrays_are_neither_changed_nor_kept():
    left = np.array([1.0, 2.0])
    intervals = closed_intervals(left, [3, 3], left, True)
    assert left.tolist() == [1.0, 2.0]
    left[:] = 9
    assert intervals.score.tolist() == [1.0, 2.0]


def test_entries_are_by_tree_then_score_then_id():
    intervals = closed_intervals(np.zeros(6), np.ones(6), [1, 2, 1, 2, 3, 1])
    entries = entries_of(intervals, np.array([1, 0, 1, 1, 0, 3]), 4)
    assert entries.ids.tolist() == [4, 1, 3, 0, 2, 5]
    assert entries.offsets.tolist() == [0, 2, 5, 5, 6]


def test_whole_numbers_that_doubles_have_are_welcome():
    assert doubles("left", [2**53, -(2**53)]).tolist() == [2.0**53, -(2.0**53)]

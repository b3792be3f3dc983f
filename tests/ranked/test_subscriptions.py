import numpy as np

from ruledex.ranked.subscriptions import event_rows


def test_a_mapping_and_an_array_with_holes_are_the_same_event():
    one, other = event_rows({2: 5.0, 0: 1}, 4), event_rows([1, np.nan, 5, np.nan], 4)
    assert one.dimensions.tolist() == other.dimensions.tolist() == [0, 2]
    assert np.array_equal(one.event.low, other.event.low, equal_nan=True)
    assert one.is_point
    assert other.is_point


def test_one_interval_makes_an_event_no_point():
    assert not event_rows({0: 1.0, 1: (1.0, 2.0)}, 2).is_point
    assert event_rows({0: 1.0, 1: (2.0, 2.0)}, 2).is_point


def test_a_value_that_is_no_number_is_not_there():
    assert event_rows({0: np.nan, 1: 3.0}, 2).dimensions.tolist() == [1]


def test_the_callers_array_is_not_kept():
    given = np.array([1.0, 2.0])
    rows = event_rows(given, 2)
    given[:] = 9
    assert rows.event.low.tolist() == [1.0, 2.0]

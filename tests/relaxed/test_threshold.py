"""Rows filled from lists and bits cleared; that the answer is right is tested in tests/engines."""

import numpy as np

from ruledex.relaxed.candidates import ConjunctKeys
from ruledex.relaxed.threshold import ThresholdRows, fill_from_lists, forget_rules

KEYS = ConjunctKeys(
    np.array([3, 0, 1, 2, 3], np.int32),
    np.array([9.0, 5.0, 4.0, 2.0, 8.0]),
    np.array([1, 1, 4, 5], np.int64),
    np.array([0, 70, 140, 210], np.int32),
)


def test_lists_are_read_as_far_as_is_wanted_and_then_on():
    cells = np.array([0, 1, 2], np.int32)
    keys, points = np.zeros((3, 4), np.int32), np.zeros((3, 4))
    n_filled, has_more = np.zeros(3, np.int64), np.ones(3, np.int64)
    fill_from_lists(KEYS, cells, 2, keys, points, n_filled, has_more)
    assert (n_filled.tolist(), has_more.tolist()) == ([0, 2, 1], [0, 1, 0])
    assert (keys[1, :2].tolist(), points[1, :2].tolist()) == ([1, 2], [5.0, 4.0])
    fill_from_lists(KEYS, cells, 4, keys, points, n_filled, has_more)
    assert (n_filled.tolist(), has_more.tolist()) == ([0, 3, 1], [0, 0, 0])
    assert (keys[1, :3].tolist(), points[2, 0]) == ([1, 2, 3], 8.0)


def test_only_what_was_read_is_forgotten():
    seen = np.full(5, 2**64 - 1, np.uint64)
    rows = ThresholdRows(
        np.array([[1, 2], [0, 0]], np.int32),
        np.zeros((2, 2)),
        np.array([2, 0], np.int64),
        np.zeros(2, np.int64),
        np.ones(2),
        np.array([210, 300], np.int32),
    )
    forget_rules(KEYS, rows, 1, seen)
    assert (seen == 0).tolist() == [True, False, False, True, False]

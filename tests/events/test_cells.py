from bisect import bisect_left

import numpy as np

from ruledex.compiled.constants import EVERY
from ruledex.events.cells import (
    count_pairs,
    double_cells,
    gather_pairs,
    integer_cells,
    order_cells,
    place_cells,
    text_cells,
)


def cell(cuts, value, first_cell):
    at = bisect_left(cuts, value)
    return first_cell + 2 * at + (at < len(cuts) and cuts[at] == value)


CUTS = [-3, 0, 2.5, 3, 3.25, 3.5, 9]


def test_integers_lie_in_the_gaps_and_points_between_cuts_whether_searched_or_looked_up():
    floors = np.floor(CUTS).astype(np.int64)
    is_whole, nothing = floors == CUTS, np.empty(0, np.int32)
    between = np.arange(floors[0], floors[-1] + 1)
    near = np.empty(len(between), np.int32)
    integer_cells(between, floors, is_whole, nothing, 0, near)
    extremes = np.iinfo(np.int64)
    values = np.concatenate([np.arange(-5, 12), [extremes.min, extremes.max]])
    for ready in (nothing, near):
        cells = np.empty(len(values), np.int32)
        integer_cells(values, floors, is_whole, ready, 7, cells)
        assert cells.tolist() == [cell(CUTS, value, 7) for value in values.tolist()]


def test_doubles_lie_in_the_gaps_and_points_between_cuts():
    values = np.concatenate([np.arange(-5, 12), CUTS, [3.3, np.inf, -np.inf]])
    cells = np.empty(len(values), np.int32)
    double_cells(values, np.array(CUTS, np.float64), 7, cells)
    assert cells.tolist() == [cell(CUTS, value, 7) for value in values]


def test_texts_lie_in_the_gaps_and_points_between_cuts():
    cuts = [b"", b"a", b"ab", b"b", "é".encode(), "😀".encode()]
    values = [*cuts, b"aa", b"abc", b"c", "ê".encode(), b"\0", "😀😀".encode()]
    offsets, text = (np.cumsum([0, *map(len, values)]), np.frombuffer(b"".join(values), np.uint8))
    cut_offsets, cut_text = (np.cumsum([0, *map(len, cuts)]), np.frombuffer(b"".join(cuts), np.uint8))
    cells = np.empty(len(values), np.int32)
    text_cells(offsets, text, cut_offsets, cut_text, 3, cells)
    assert cells.tolist() == [cell(cuts, value, 3) for value in values]


def test_codes_are_replaced_by_all_of_their_cells():
    offsets, cells = np.array([0, 2, 2, 3]), np.array([5, 9, 7], np.int32)
    events, codes = np.array([4, 5, 6, 8]), np.array([0, 1, 2, 0])
    out_events, out_cells = np.empty(5, np.int64), np.empty(5, np.int32)
    gather_pairs(events, codes, offsets, cells, out_events, out_cells)
    assert list(zip(out_events.tolist(), out_cells.tolist(), strict=True)) == [(4, 5), (4, 9), (6, 7), (8, 5), (8, 9)]


def test_pairs_become_ascending_cells_of_each_event_without_duplicates():
    rng = np.random.default_rng(2)
    n_events = 30
    many = np.zeros(200, np.int32)  # more than are sorted by insertion
    events = np.concatenate([rng.integers(0, n_events, 400).astype(np.int32), many])
    cells = rng.integers(1, 40, len(events)).astype(np.int32)
    offsets = np.zeros(n_events + 1, np.int64)
    count_pairs(events, offsets)
    out = np.empty(offsets[-1], np.int32)
    place_cells(events, cells, offsets, np.empty(n_events, np.int64), out)
    n_cells = order_cells(offsets, out)
    assert offsets[-1] == n_cells
    for event in range(n_events):
        expected = [EVERY, *sorted(set(cells[events == event].tolist()))]
        assert out[offsets[event] : offsets[event + 1]].tolist() == expected

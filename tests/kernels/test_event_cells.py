from bisect import bisect_left

import numpy as np
import pytest

from ruledex.kernels.event_cells import (
    EVERY,
    count_pairs,
    double_cells,
    gather_pairs,
    integer_cells,
    order_cells,
    place_cells,
    set_bits,
    text_cells,
)


def cell(cuts, value, first_cell):
    at = bisect_left(cuts, value)
    return first_cell + 2 * at + (at < len(cuts) and cuts[at] == value)


@pytest.mark.parametrize("density", [0.0, 0.02, 0.5, 1.0])
def test_set_bits_are_found_at_any_offset_and_length(density):
    rng = np.random.default_rng(1)
    for n_bytes in (1, 7, 8, 20, 33):
        bitmap = np.packbits(rng.random(8 * n_bytes) < density, bitorder="little")
        bits = np.unpackbits(bitmap, bitorder="little")
        whole = n_bytes & ~7
        for _ in range(20):
            offset = int(rng.integers(0, 8 * n_bytes))
            length = int(rng.integers(0, 8 * n_bytes - offset + 1))
            out = np.empty(length, np.int64)
            n_set = set_bits(bitmap[:whole].view(np.uint64), bitmap[whole:], offset, length, out)
            assert out[:n_set].tolist() == np.flatnonzero(bits[offset : offset + length]).tolist()


def test_integers_and_doubles_lie_in_the_gaps_and_points_between_cuts():
    cuts = [-3, 0, 2.5, 3, 3.25, 3.5, 9]
    values = np.arange(-5, 12)
    cells = np.empty(len(values), np.int32)
    floors = np.floor(cuts).astype(np.int64)
    integer_cells(values, floors, floors == cuts, 7, cells)
    assert cells.tolist() == [cell(cuts, value, 7) for value in values]
    doubles = np.concatenate([values, np.array(cuts), [3.3, np.inf, -np.inf]])
    cells = np.empty(len(doubles), np.int32)
    double_cells(doubles, np.array(cuts, np.float64), 7, cells)
    assert cells.tolist() == [cell(cuts, value, 7) for value in doubles]


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
    events, codes = np.array([4, 5, 6, 8], np.int32), np.array([0, 1, 2, 0])
    out_events, out_cells = np.empty(5, np.int32), np.empty(5, np.int32)
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

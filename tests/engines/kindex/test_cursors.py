import numpy as np
import pytest

from ruledex.engines.kindex.cursors import (
    NONE,
    agreed_codes,
    hang_up,
    initialize_current_entries,
    n_hanging,
    next_agreement,
    next_occupied,
    skip_to,
    take_down,
)


@pytest.mark.parametrize("seed", range(5))
def test_a_list_skips_to_the_first_entry_that_is_not_smaller(seed):
    rng = np.random.default_rng(seed)
    entries = np.unique(rng.integers(0, 200, 60)).astype(np.int32)
    for place in range(len(entries) - 1):
        for entry in range(int(entries[place]) + 1, 205, 7):
            expected = int(np.searchsorted(entries, entry))
            assert skip_to(entries, place, len(entries), entry) == expected


def test_a_list_does_not_skip_past_its_end():
    entries = np.array([1, 4, 9, 2, 3], np.int32)  # the list ends before 2
    assert skip_to(entries, 0, 3, 100) == 3


def test_lists_hang_on_items_until_they_are_taken():
    following, p_lists = np.zeros(3, np.int32), np.zeros(3, np.int32)
    first_on, occupied = np.full(200, NONE, np.int32), np.zeros(4, np.uint64)
    for cursor, item in enumerate((130, 63, 130)):
        hang_up(cursor, item, following, first_on, occupied)
    assert [next_occupied(occupied, item) for item in (0, 63, 64, 130)] == [63, 63, 130, 130]
    assert n_hanging(130, following, first_on) == 2
    assert take_down(63, 0, p_lists, following, first_on, occupied) == 1
    assert take_down(130, 1, p_lists, following, first_on, occupied) == 3
    assert (p_lists[0], {*p_lists[1:].tolist()}) == (1, {0, 2})
    assert not occupied.any()
    assert (first_on == NONE).all()


def test_codes_ascend_and_stand_once():
    entries = np.array([5 << 2 | 3, 5 << 2 | 1, 5 << 2 | 3, 5 << 2], np.int32)
    codes = np.zeros(4, np.int32)
    n_codes = agreed_codes(4, 2, entries, np.arange(4), np.arange(4, dtype=np.int32), codes)
    assert codes[:n_codes].tolist() == [0, 1, 3]


def agreements(lists, k, bounds=None, least=-np.inf):
    """The items that `next_agreement` stops at, with how many lists each time."""
    code_bits, n_lists = 1, len(lists)
    entries = np.array([item << code_bits | 1 for row in lists for item in row], np.int32)
    ends = np.cumsum([len(row) for row in lists])
    place = np.concatenate([[0], ends[:-1]])
    following, p_lists = np.zeros(n_lists, np.int32), np.zeros(n_lists, np.int32)
    first_on, occupied = np.full(100, NONE, np.int32), np.zeros(2, np.uint64)
    initialize_current_entries(0, n_lists, code_bits, entries, place, following, first_on, occupied)
    n_taken, item, found = 0, NONE, []
    while True:
        n_lists, item, n_taken = next_agreement(
            k,
            n_lists,
            n_taken,
            item + 1,
            code_bits,
            entries,
            place,
            ends,
            p_lists,
            following,
            first_on,
            occupied,
            np.zeros(0) if bounds is None else np.array(bounds),
            least,
        )
        if item == NONE:
            assert not occupied.any()
            assert (first_on == NONE).all()
            return found
        found.append((int(item), int(n_taken)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_agreements_are_the_items_that_enough_lists_have(seed, k):
    rng = np.random.default_rng(seed)
    lists = [np.unique(rng.integers(0, 90, rng.integers(1, 40))).tolist() for _ in range(6)]
    counts = np.bincount(np.concatenate(lists), minlength=90)
    assert agreements(lists, k) == [(item, int(counts[item])) for item in range(90) if counts[item] >= k]


def test_too_few_lists_agree_on_nothing():
    assert agreements([[1, 2, 3]], 2) == []


@pytest.mark.parametrize("seed", range(8))
def test_items_whose_bounds_suffice_are_never_passed_over(seed):
    rng = np.random.default_rng(seed)
    lists = [np.unique(rng.integers(0, 90, rng.integers(1, 40))).tolist() for _ in range(6)]
    bounds = rng.random(6)
    for least in (0.5, 1.5, 2.5):
        reached = {item for item, _ in agreements(lists, 2, bounds, least)}
        for item in range(90):
            own = [bound for row, bound in zip(lists, bounds, strict=True) if item in row]
            if len(own) >= 2 and sum(own) >= least:
                assert item in reached


def test_items_whose_bounds_do_not_suffice_are_passed_over():
    assert agreements([[1, 4], [1, 4], [4]], 2, [1.0, 1.0, 5.0], 3.0) == [(4, 3)]

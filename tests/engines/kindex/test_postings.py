import numpy as np
import pytest

from ruledex.engines.kindex.postings import (
    MOST_CODE_BITS,
    are_noted,
    forget_entries,
    note_entries,
    noted_codes,
)


def noted(lengths, k, code_bits=1):
    ends = np.cumsum(lengths)
    return are_noted(0, len(lengths), k, code_bits, ends - np.array(lengths), ends)


def test_short_lists_are_noted_and_those_beside_a_long_one_skip():
    assert noted([10] * 50, 3)
    assert noted([1000], 1)
    assert not noted([100_000, *[5] * 50], 2)
    assert not noted([100_000, 90_000, *[5] * 50], 3)
    assert noted([100_000, *[5000] * 50], 2)


def test_codes_that_do_not_fit_into_a_word_are_not_noted():
    assert noted([10] * 50, 3, MOST_CODE_BITS)
    assert not noted([10] * 50, 3, MOST_CODE_BITS + 1)


@pytest.mark.parametrize("seed", range(5))
def test_words_hold_the_codes_of_items_and_marks_those_of_k(seed):
    rng = np.random.default_rng(seed)
    code_bits, n_items, k = 3, 100, 3
    lists = [np.unique(rng.integers(0, n_items << code_bits, 60)) for _ in range(6)]
    entries, ends = np.concatenate(lists).astype(np.int32), np.cumsum([len(row) for row in lists])
    places = np.concatenate([[0], ends[:-1]])
    states, occupied = np.zeros(n_items, np.uint32), np.zeros(2, np.uint64)
    note_entries(1, 6, k, code_bits, entries, places, ends, states, occupied)
    expected = [sorted({e & 7 for e in entries[ends[0] :].tolist() if e >> code_bits == i}) for i in range(n_items)]
    codes = np.zeros(8, np.int32)
    assert [codes[: noted_codes(state, codes)].tolist() for state in states] == expected
    marked = np.unpackbits(occupied.view(np.uint8), bitorder="little")[:n_items]
    assert marked.tolist() == [len(row) >= k for row in expected]
    forget_entries(1, 6, code_bits, entries, places, ends, states)
    assert not states.any()

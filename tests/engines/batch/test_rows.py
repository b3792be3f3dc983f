import numpy as np
import pytest

from ruledex.compiled.decorator import jit
from ruledex.engines.batch import rows as words
from ruledex.engines.batch.rows import N_WORDS, ROW

FIRST, SECOND = np.uint64(0), ROW


@jit
def apply_all(target, source):
    """Each operation on a row of its own: the row at 0 of `target`, with the rows at 0 and at 8 of `source`."""
    words.copy_row(target[0], FIRST, source, FIRST)
    words.or_row(target[1], FIRST, source, FIRST)
    left_by_and = words.and_row(target[2], FIRST, source, FIRST)
    left_by_without = words.without_row(target[3], FIRST, source, FIRST)
    words.difference_row(target[4], FIRST, source, FIRST, SECOND)
    words.or_difference(target[5], FIRST, source, FIRST, SECOND)
    left_by_and_difference = words.and_difference(target[6], FIRST, source, FIRST, SECOND)
    return left_by_and, left_by_without, left_by_and_difference


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_combined_word_by_word(seed):
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 2**63, (7, N_WORDS)).astype(np.uint64)
    source = rng.integers(0, 2**63, 2 * N_WORDS).astype(np.uint64)
    one, other = source[:N_WORDS], source[N_WORDS:]
    target = before.copy()
    assert apply_all(target, source) == (True, True, True)
    assert np.array_equal(target[0], one)
    assert np.array_equal(target[1], before[1] | one)
    assert np.array_equal(target[2], before[2] & one)
    assert np.array_equal(target[3], before[3] & ~one)
    assert np.array_equal(target[4], one ^ other)
    assert np.array_equal(target[5], before[5] | (one ^ other))
    assert np.array_equal(target[6], before[6] & (one ^ other))


@pytest.mark.parametrize("word", range(N_WORDS))
def test_one_bit_that_is_left_is_noticed_in_any_word(word):
    target = np.zeros((7, N_WORDS), np.uint64)
    target[:, word] = 4
    source = np.zeros(2 * N_WORDS, np.uint64)
    assert apply_all(target.copy(), source) == (False, True, False)
    source[word] = 4
    assert apply_all(target.copy(), source) == (True, False, True)

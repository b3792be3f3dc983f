import numpy as np
import pytest

from ruledex.compiled.bits import eight_bytes, lowest_bit, n_bits, prefetch, swapped_bytes
from ruledex.compiled.decorator import jit


@jit
def lowest(word):
    return lowest_bit(word)


@jit
def number(word):
    return n_bits(word)


@jit
def bytes_at_place(data, place):
    return eight_bytes(data, np.uint64(place))


@jit
def swapped(word):
    return swapped_bytes(word)


@jit
def hinted_sum(values):
    total = 0
    for place in range(values.size):
        prefetch(values, place + 100)
        total += values[place]
    return total


@pytest.mark.parametrize("place", [0, 1, 31, 32, 62, 63])
def test_the_lowest_set_bit_is_found_below_others(place):
    assert lowest(np.uint64(1 << place | 1 << 63)) == place


@pytest.mark.parametrize("word", [0, 1, 0xFF00, (1 << 64) - 1, 1 << 63])
def test_set_bits_are_counted(word):
    assert number(np.uint64(word)) == word.bit_count()


def test_a_hint_beyond_the_end_changes_nothing():
    assert hinted_sum(np.arange(10)) == 45


@pytest.mark.parametrize("place", [0, 1, 7, 12])
def test_eight_bytes_are_read_at_any_place(place):
    data = np.arange(240, 260).astype(np.uint8)
    assert bytes_at_place(data, place) == int.from_bytes(data[place : place + 8].tobytes(), "little")


@pytest.mark.parametrize("word", [0, 1, 0x0102030405060708, (1 << 64) - 2])
def test_bytes_are_swapped(word):
    assert swapped(np.uint64(word)) == int.from_bytes(word.to_bytes(8, "little"), "big")

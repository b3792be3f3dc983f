import numpy as np
import pytest

from ruledex.compiled.decorator import jit
from ruledex.ranked.sopt_rtree import NONE, drop, highest_bit, last_member, level_offsets, next_member, put


@jit
def play(offsets, words, places, kinds, out):
    for step in range(places.size):
        if kinds[step] == 0:
            put(words, offsets, places[step])
        elif kinds[step] == 1:
            drop(words, offsets, places[step])
        out[step, 0] = next_member(words, offsets, places[step])
        out[step, 1] = last_member(words, offsets, places[step])


@jit
def highest(word):
    return highest_bit(word)


@pytest.mark.parametrize("n", [1, 64, 65, 4096, 4097, 300_000])
def test_a_set_gives_its_neighbours(n):
    rng = np.random.default_rng(n)
    n_steps = 400
    places = rng.integers(0, n, n_steps)
    kinds = rng.choice([0, 1, 2], n_steps, p=[0.4, 0.3, 0.3])
    offsets = level_offsets(n)
    out = np.empty((n_steps, 2), np.int64)
    play(offsets, np.zeros(offsets[-1], np.uint64), places, kinds, out)
    members = set()
    for place, kind, found in zip(places.tolist(), kinds.tolist(), out.tolist(), strict=True):
        if kind == 0:
            members.add(place)
        elif kind == 1:
            members.discard(place)
        assert found[0] == min((m for m in members if m >= place), default=NONE)
        assert found[1] == max((m for m in members if m <= place), default=NONE)


def test_levels_are_as_many_as_are_needed():
    assert level_offsets(64).tolist() == [0, 1]
    assert level_offsets(65).tolist() == [0, 2, 3]
    assert level_offsets(4097).tolist() == [0, 65, 67, 68]


@pytest.mark.parametrize("place", [0, 1, 31, 32, 63])
def test_the_highest_set_bit_is_found_above_others(place):
    assert highest(np.uint64(1 << place | 1)) == place

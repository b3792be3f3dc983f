import numpy as np

from ruledex.ranked.index import RankedIndex
from tests.contract.sizes import scaled

from .reference import pairs


def test_a_subscription_is_found_by_the_dimension_in_which_it_is_met_least_often():
    """Half the subscriptions are narrow in one dimension and half in the other: few are looked at in vain."""
    n = scaled(4000, 200)
    rng = np.random.default_rng(0)
    left, right = np.zeros((2, n)), np.ones((2, n))
    narrow = rng.integers(0, 2, n)
    left[narrow, np.arange(n)] = rng.random(n)
    right[narrow, np.arange(n)] = left[narrow, np.arange(n)] + 5 / n
    index = RankedIndex.from_columns(left, right, rng.random((2, n)), modes=["exact"])
    found, report = index.top_reported([0.5, 0.5], n)
    met = np.flatnonzero(((left <= 0.5) & (right >= 0.5)).all(axis=0))
    assert sorted(found.ids.tolist()) == met.tolist()
    assert 0 < report.n_checked == len(met) < n // 20


def test_checking_stops_when_k_have_passed():
    n = scaled(4000, 200)
    index = RankedIndex.from_columns(np.zeros((3, n)), np.ones((3, n)), np.ones((3, n)), modes=["exact"])
    found, report = index.top_reported([0.5] * 3, 5)
    assert pairs(found) == [(i, 3.0) for i in range(5)]
    assert report.n_checked == 5


def test_lists_of_many_dimensions_are_merged_to_their_ends():
    n = scaled(3000, 120)
    left = np.full((40, n), np.nan)
    left[np.arange(n) % 40, np.arange(n)] = 0.0
    score = np.random.default_rng(1).random((40, n))
    index = RankedIndex.from_columns(left, left + 1, score, modes=["exact"])
    expected = sorted(((i, score[i % 40, i]) for i in range(n)), key=lambda pair: (-pair[1], pair[0]))
    assert pairs(index.top([0.5] * 40, n)) == expected
    assert pairs(index.top([0.5] * 39 + [2.0], n)) == [pair for pair in expected if pair[0] % 40 != 39]

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ruledex.workloads.drawing import Stream, cumulative, zipf_weights


def test_a_stream_is_what_it_was_when_this_was_written() -> None:
    assert Stream(7, "rules", 3).uniform(3).tolist() == [0.4231633441114845, 0.4124362650209976, 0.38800055946085665]


def test_streams_of_different_paths_differ() -> None:
    paths = [(0, "a"), (0, "b"), (1, "a"), (0, "a", 1)]
    firsts = {float(Stream(*path).uniform(1)[0]) for path in paths}
    assert len(firsts) == len(paths)


def test_uniform_draws_fill_the_unit_interval() -> None:
    draws = Stream(0).uniform(100, 200)
    assert draws.shape == (100, 200)
    assert draws.min() >= 0
    assert draws.max() < 1
    assert np.histogram(draws, bins=10, range=(0, 1))[0] == pytest.approx(2000, rel=0.1)


def test_integers_are_below_their_bound_and_all_occur() -> None:
    assert np.unique(Stream(0).integers(7, 1000)).tolist() == list(range(7))


def test_integers_take_a_bound_each() -> None:
    bounds = np.array([1, 2, 1000])
    assert (Stream(0).integers(bounds, 500, 3) < bounds).all()


def test_choosing_follows_the_weights_and_never_takes_a_zero() -> None:
    counts = np.bincount(Stream(0).choose(cumulative([1, 0, 3]), 40_000), minlength=3)
    assert counts[1] == 0
    assert counts[2] / counts[0] == pytest.approx(3, rel=0.05)


def test_distinct_draws_give_every_subset_equally_often() -> None:
    rows = Stream(0).distinct(5, 3, 20_000)
    found, counts = np.unique(rows, axis=0, return_counts=True)
    assert [tuple(row) for row in found.tolist()] == list(combinations(range(5), 3))
    assert counts == pytest.approx(2000, rel=0.1)


def test_distinct_draws_may_take_all_or_none() -> None:
    assert Stream(0).distinct(4, 4, 2).tolist() == [[0, 1, 2, 3]] * 2
    assert Stream(0).distinct(4, 0, 2).shape == (2, 0)


def test_normal_draws_have_mean_zero_and_variance_one() -> None:
    draws = Stream(0).normal(50_000)
    assert draws.mean() == pytest.approx(0, abs=0.02)
    assert draws.var() == pytest.approx(1, rel=0.03)


def test_zipf_weights_fall_by_the_power_of_the_rank_and_exponent_zero_is_uniform() -> None:
    assert zipf_weights(4, 2.0).tolist() == [1, 1 / 4, 1 / 9, 1 / 16]
    assert zipf_weights(3, 0.0).tolist() == [1, 1, 1]


def test_a_cumulative_distribution_ends_at_exactly_one() -> None:
    assert cumulative(zipf_weights(1000, 0.6))[-1] == 1.0

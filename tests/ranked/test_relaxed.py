import numpy as np
import pytest

from ruledex.errors import RuledexError
from ruledex.ranked.index import RankedIndex
from ruledex.ranked.intervals import closed_intervals, entries_of
from ruledex.ranked.relaxed import score_gaps
from tests.contract.sizes import COMPILED

from .reference import pairs

N = 80_000


def index_of(*scores):
    """Subscriptions that a point of 0.5 meets in all dimensions, with scores by dimension."""
    columns = np.array(scores, float)
    return RankedIndex.from_columns(np.zeros(columns.shape), np.ones(columns.shape), columns, modes=["relaxed"])


@pytest.mark.skipif(not COMPILED, reason="as many subscriptions as it takes")
@pytest.mark.parametrize(
    ("scores", "method"),
    [
        ((np.arange(N), np.arange(N) / 2), "threshold"),  # the best are the best in both: a few rows tell
        ((np.arange(N), N - np.arange(N)), "scan"),  # what is best in one is worst in the other: all are equal
    ],
)
def test_the_threshold_algorithm_gives_up_where_a_scan_is_cheaper(scores, method):
    index = index_of(*scores)
    found, report = index.top_reported([0.5, 0.5], 7, "relaxed")
    assert report.method == method
    assert pairs(found) == pairs(index.top([0.5, 0.5], 7, "relaxed", method="scan"))
    assert pairs(found) == pairs(index.top([0.5, 0.5], 7, "relaxed", method="add_up"))


@pytest.mark.skipif(not COMPILED, reason="as many subscriptions as it takes")
def test_what_an_event_meets_is_added_up_where_it_has_few_of_many_dimensions():
    rng = np.random.default_rng(1)
    dimension = np.sort(rng.permuted(np.tile(np.arange(50), (N, 1)), axis=1)[:, :2], axis=1)
    left = rng.random(2 * N)
    index = RankedIndex.build(
        np.arange(N + 1) * 2, dimension.reshape(-1), left, left + 0.3, rng.random(2 * N), n_dimensions=50
    )
    event = {3: 0.5, 7: 0.5, 30: 0.5}
    found, report = index.top_reported(event, 500, "relaxed")
    assert report.method == "add_up"
    assert pairs(found) == pairs(index.top(event, 500, "relaxed", method="scan"))
    assert pairs(found) == pairs(index.top(event, 500, "relaxed", method="threshold"))


@pytest.mark.skipif(not COMPILED, reason="as many subscriptions as it takes")
def test_less_is_read_in_vain_after_it_was_in_vain_and_then_it_is_tried_again():
    columns = np.array([[*np.arange(N), 3.0 * N], [*(N - np.arange(N)), 3.0 * N]])
    left, right = np.zeros(columns.shape), np.ones(columns.shape)
    left[:, -1], right[:, -1] = 2, 3  # the last one is alone where it is, and the others where they are
    index = RankedIndex.from_columns(left, right, columns, modes=["relaxed"])
    methods = [index.top_reported([0.5, 0.5], 3, "relaxed")[1].method for _ in range(3)]
    assert methods == ["scan"] * 3
    found, report = index.top_reported([2.5, 2.5], 1, "relaxed")
    assert pairs(found) == [(N, 6.0 * N)]
    assert report.method == "threshold"  # for which a little is enough
    assert index._relaxed._n_in_vain == 0


def test_few_subscriptions_are_read_best_first_at_once():
    assert index_of([3, 1, 2]).top_reported([0.5], 1, "relaxed")[1].method == "best_first"


def test_best_first_reads_no_further_than_what_can_still_be_enough():
    index = index_of([5, 1, 9, 7, 7, 3], [0, 0, 0, 1, 0, 0])
    found, report = index.top_reported([0.5, 0.5], 2, "relaxed", method="best_first")
    assert pairs(found) == [(2, 9.0), (3, 8.0)]
    assert report.n_scored == 2
    found, report = index.top_reported({0: 0.5}, 2, "relaxed", method="best_first")
    assert pairs(found) == [(2, 9.0), (3, 7.0)]
    assert report.n_scored == 3  # one more, which ties


def test_best_first_allows_for_the_weights_of_an_event():
    index = index_of([5, 0], [0, 4])
    assert pairs(index.top([0.5, 0.5], 1, "relaxed", method="best_first", weights=[1, 2])) == [(1, 8.0)]
    assert pairs(index.top([0.5, 0.5], 1, "relaxed", method="best_first", weights=[0.5, 0.5])) == [(0, 2.5)]


@pytest.mark.skipif(not COMPILED, reason="as many subscriptions as it takes")
def test_subscriptions_are_read_best_first_where_lists_would_be_read_for_long():
    rng = np.random.default_rng(5)
    left = rng.random((4, N)) * 0.5
    index = RankedIndex.from_columns(left, left + 0.5, rng.random((4, N)), modes=["relaxed"])
    found, report = index.top_reported([0.5] * 4, 10, "relaxed")
    assert report.method == "best_first"
    assert report.n_scored < N // 4
    assert pairs(found) == pairs(index.top([0.5] * 4, 10, "relaxed", method="scan"))


def test_a_subscription_is_scored_once_however_many_lists_show_it():
    n = 300
    index = index_of(*[np.arange(n)] * 4)
    _, report = index.top_reported([0.5] * 4, 10, "relaxed", method="threshold")
    assert report.n_scored * 4 == report.n_read < 4 * n


def test_scratch_is_clean_after_each_event():
    rng = np.random.default_rng(2)
    index = index_of(*rng.random((3, 200)))
    for _ in range(5):
        event = rng.random(3)
        assert pairs(index.top(event, 9, "relaxed", method="threshold")) == pairs(
            index.top(event, 9, "relaxed", method="scan")
        )
        (bits,) = index._relaxed._pool
        assert not bits.any()


def test_scores_of_a_dimension_differ_by_its_gap_or_more():
    intervals = closed_intervals(np.zeros(6), np.ones(6), [1.0, 1.5, 1.0, 2.75, 4.0, 7.0])
    gaps = score_gaps(entries_of(intervals, np.array([0, 0, 0, 0, 1, 3]), 4))
    assert 0.499 < gaps[0] < 0.5
    assert gaps[1:].tolist() == [np.inf] * 3


def test_an_unknown_method_is_an_error():
    with pytest.raises(RuledexError, match="method"):
        index_of([1]).top([0.5], 1, "relaxed", method="magic")

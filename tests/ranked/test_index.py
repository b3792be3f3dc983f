import numpy as np
import pytest

from ruledex.errors import EventError, RuledexError
from ruledex.ranked.index import STRUCTURES, RankedIndex
from tests.contract.sizes import scaled

from .reference import pairs
from .subscriptions import best, drawn_event, drawn_subscriptions

METHODS = ("auto", "threshold", "best_first", "add_up", "scan")


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("combine", ["sum", "max"])
@pytest.mark.parametrize("n_dimensions", [1, 3, 9])
def test_both_modes_give_what_a_look_at_every_subscription_gives(structure, combine, n_dimensions):
    rng = np.random.default_rng(n_dimensions)
    for seed, n_scores in ((1, 1), (2, 3), (3, 200)):
        subscriptions = drawn_subscriptions(scaled(150, 30), n_dimensions, seed, n_scores)
        arguments, options = subscriptions.arguments()
        index = RankedIndex.build(*arguments, **options, combine=combine, structure=structure)
        for _ in range(scaled(8, 2)):
            event = drawn_event(n_dimensions, rng, STRUCTURES[structure].can_overlap)
            for k in (0, 1, 7, 500):
                expected = best(subscriptions, event, k, "relaxed", combine)
                for method in METHODS:
                    found, report = index.top_reported(event, k, "relaxed", method=method)
                    assert pairs(found) == expected
                    assert method in ("auto", report.method)
                assert pairs(index.top(event, k)) == best(subscriptions, event, k, "exact", combine)


@pytest.mark.parametrize("n_scores", [1, 2, 60])
def test_the_threshold_stops_right_when_scores_are_equal(n_scores):
    """Scores that are all equal, or nearly so, and that rounding may make equal."""
    rng = np.random.default_rng(n_scores)
    subscriptions = drawn_subscriptions(scaled(400, 40), 4, n_scores, n_scores, absent=0.1)
    subscriptions.given.score[:] = 0.1 + rng.integers(0, n_scores, subscriptions.given.n) * rng.choice([0.1, 1e-17])
    arguments, options = subscriptions.arguments()
    index = RankedIndex.build(*arguments, **options)
    for _ in range(scaled(40, 3)):
        event = drawn_event(4, rng)
        for k in (1, 3, 20):
            expected = best(subscriptions, event, k, "relaxed")
            assert pairs(index.top(event, k, "relaxed", method="threshold")) == expected


def test_equal_scores_stop_the_threshold_before_the_lists_end():
    n = scaled(20_000, 500)
    for combine in ("sum", "max"):
        index = RankedIndex.from_columns(np.zeros((3, n)), np.ones((3, n)), np.ones((3, n)), combine=combine)
        answer, report = index.top_reported([0.5] * 3, 5, "relaxed", method="threshold")
        assert answer.ids.tolist() == [0, 1, 2, 3, 4]
        assert report.n_read < 100


def test_weights_of_dimensions_make_a_weighted_sum():
    weights = [0.0, 2.5, 0.3]
    rng = np.random.default_rng(5)
    subscriptions = drawn_subscriptions(scaled(200, 30), 3, 5)
    arguments, options = subscriptions.arguments()
    plain = RankedIndex.build(*arguments, **options)
    weighted = RankedIndex.build(*arguments, **options, weights=weights)
    for _ in range(scaled(20, 3)):
        event = drawn_event(3, rng)
        relaxed = best(subscriptions, event, 9, "relaxed", weights=weights)
        assert pairs(weighted.top(event, 9, "relaxed")) == relaxed
        for method in METHODS:
            assert pairs(plain.top(event, 9, "relaxed", weights=weights, method=method)) == relaxed
        assert pairs(weighted.top(event, 9)) == best(subscriptions, event, 9, "exact", weights=weights)


def test_exact_matching_ranks_by_scores_of_subscriptions_where_they_are_given():
    rng = np.random.default_rng(6)
    subscriptions = drawn_subscriptions(scaled(200, 30), 3, 6, absent=0.7)
    own = rng.integers(-3, 4, len(subscriptions.offsets) - 1)
    arguments, options = subscriptions.arguments()
    index = RankedIndex.build(*arguments, **options, subscription_score=own)
    for _ in range(20):
        event = drawn_event(3, rng)
        assert pairs(index.top(event, 40)) == best(subscriptions, event, 40, "exact", own_scores=own)


@pytest.mark.parametrize("method", METHODS)
def test_200_dimensions_of_which_a_subscription_has_few(method):
    rng = np.random.default_rng(7)
    subscriptions = drawn_subscriptions(scaled(2000, 40), 200, 7, absent=0.98)
    arguments, options = subscriptions.arguments()
    index = RankedIndex.build(*arguments, **options)
    for _ in range(scaled(4, 1)):
        event = drawn_event(200, rng)
        assert pairs(index.top(event, 10, "relaxed", method=method)) == best(subscriptions, event, 10, "relaxed")
        assert pairs(index.top(event, 10)) == best(subscriptions, event, 10, "exact")


def test_a_subscription_without_intervals_matches_exactly_and_never_relaxed():
    index = RankedIndex.build([0, 0, 1, 1], [0], [1], [2], [5], n_dimensions=1)
    assert pairs(index.top({0: 1}, 9)) == [(1, 5.0), (0, 0.0), (2, 0.0)]
    assert pairs(index.top({}, 1)) == [(0, 0.0)]
    assert pairs(index.top({0: 1}, 9, "relaxed")) == [(1, 5.0)]
    assert pairs(index.top({}, 9, "relaxed")) == []


def test_a_dimension_that_an_event_lacks_is_not_met():
    index = RankedIndex.from_columns([[0, 0], [0, np.nan]], [[9, 9], [9, np.nan]], [[1, 1], [1, 1]])
    assert pairs(index.top([5, np.nan], 9)) == [(1, 1.0)]
    assert pairs(index.top({0: 5}, 9, "relaxed")) == [(0, 1.0), (1, 1.0)]
    assert pairs(index.top([5, 5], 9, "relaxed")) == [(0, 2.0), (1, 1.0)]


def test_an_interval_that_holds_nothing_is_never_met():
    index = RankedIndex.build(
        [0, 2, 3], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1], n_dimensions=2, left_open=[1, 0, 0]
    )
    assert pairs(index.top([1, 1], 9)) == [(1, 1.0)]
    assert pairs(index.top([1, 1], 9, "relaxed")) == [(0, 1.0), (1, 1.0)]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_an_index_from_stored_arrays_answers_alike(structure):
    subscriptions = drawn_subscriptions(60, 3, 8)
    arguments, options = subscriptions.arguments()
    for combine in ("sum", "max"):
        index = RankedIndex.build(*arguments, **options, structure=structure, combine=combine)
        again = RankedIndex.from_arrays(index.arrays())
        event = {0: 3.0, 1: 4.0, 2: 5.5}
        for mode in ("exact", "relaxed"):
            assert pairs(again.top(event, 20, mode)) == pairs(index.top(event, 20, mode))
        assert again.describe() == index.describe()


def test_a_batch_has_the_answers_of_its_events():
    subscriptions = drawn_subscriptions(60, 3, 9)
    arguments, options = subscriptions.arguments()
    index = RankedIndex.build(*arguments, **options)
    events = [{0: 3.0}, {}, {1: 4.0, 2: 5.0}]
    for mode in ("exact", "relaxed"):
        found = index.top_batch(events, 4, mode)
        for place, event in enumerate(events):
            assert found.of(place).tolist() == index.top(event, 4, mode).ids.tolist()
    assert index.top_batch([], 4).offsets.tolist() == [0]


def test_a_mode_that_was_not_built_is_an_error():
    index = RankedIndex.from_columns([[0]], [[1]], [[1]], modes=["relaxed"])
    with pytest.raises(RuledexError, match="without the mode 'exact'"):
        index.top([0.5], 1)
    assert "exact" not in index.describe()["bytes"]
    assert pairs(RankedIndex.from_arrays(index.arrays()).top([0.5], 1, "relaxed")) == [(0, 1.0)]


@pytest.mark.parametrize("structure", ["segment", "sopt"])
def test_an_event_with_an_interval_needs_a_structure_that_orders_what_overlaps(structure):
    index = RankedIndex.from_columns([[0]], [[1]], [[1]], structure=structure)
    for mode in ("exact", "relaxed"):
        with pytest.raises(RuledexError, match="interval, r, ir"):
            index.top({0: (0, 1)}, 1, mode)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({3: 1.0}, "dimension 3"),
        ([1.0], "one number for each of 2"),
        ({0: (2.0, 1.0)}, "smaller first"),
        ({0: (np.nan, 1.0)}, "two numbers"),
    ],
)
def test_an_event_that_cannot_be_read_is_an_error(event, message):
    index = RankedIndex.from_columns([[0], [0]], [[1], [1]], [[1], [1]])
    with pytest.raises(EventError, match=message):
        index.top(event, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"combine": "product"}, "combine"),
        ({"structure": "b"}, "structure"),
        ({"modes": ["both"]}, "mode"),
        ({"weights": [1.0]}, "weights"),
        ({"weights": [1.0, -1.0]}, "weights"),
        ({"score": [1.0, -1.0, 1.0]}, "not negative"),
        ({"offsets": [0, 2, 2]}, "offsets"),
        ({"offsets": [0, 3, 2, 3]}, "offsets"),
        ({"dimension": [0, 1, 2]}, "from 0 to 1"),
        ({"dimension": [1, 0, 0]}, "subscription 0"),
        ({"dimension": [0, 0, 0]}, "subscription 0"),
        ({"dimension": [0, 0]}, "shape"),
        ({"subscription_score": [1.0]}, "subscription_score"),
    ],
)
def test_what_cannot_be_indexed_is_an_error(changes, message):
    arguments = {
        "offsets": [0, 2, 3],
        "dimension": [0, 1, 0],
        "left": [0, 0, 0],
        "right": [1, 1, 1],
        "score": [1, 1, 1],
        "n_dimensions": 2,
    }
    RankedIndex.build(**arguments)
    with pytest.raises(RuledexError, match=message):
        RankedIndex.build(**{**arguments, **changes})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "best"}, "mode"),
        ({"k": -1}, "k must be a whole number of at least 0, not -1"),
        ({"weights": [1]}, "relaxed"),
        ({"method": "scan"}, "relaxed"),
    ],
)
def test_a_question_that_makes_no_sense_is_an_error(options, message):
    index = RankedIndex.from_columns([[0]], [[1]], [[1]])
    with pytest.raises(RuledexError, match=message):
        index.top(**{"event": [0.5], "k": 1, **options})

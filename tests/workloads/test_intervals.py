from __future__ import annotations

import re

import numpy as np
import pytest

from ruledex.errors import RuledexError
from ruledex.workloads.base import RULES_PER_BLOCK
from ruledex.workloads.intervals import SubscriptionIntervals

PREDICATE = re.compile(r"\(d(\d+) BETWEEN (-?[\d.]+) AND (-?[\d.]+)\)\^([\d.]+)")


def test_texts_have_one_weighted_interval_a_dimension() -> None:
    for _, text in SubscriptionIntervals(n_dimensions=3).rules(50):
        found = PREDICATE.findall(text)
        assert [dimension for dimension, _, _, _ in found] == ["0", "1", "2"]
        assert PREDICATE.sub("p", text) == "p AND p AND p"


def test_arrays_hold_exactly_the_numbers_of_the_texts() -> None:
    generator = SubscriptionIntervals(n_dimensions=2)
    n = RULES_PER_BLOCK + 20
    arrays = generator.arrays(n)
    assert arrays.left.shape == arrays.right.shape == arrays.score.shape == (2, n)
    for position, text in generator.rules(n):
        for dimension, left, right, score in PREDICATE.findall(text):
            at = int(dimension), position
            assert (arrays.left[at], arrays.right[at], arrays.score[at]) == (float(left), float(right), float(score))


def test_fewer_arrays_are_the_first_of_more() -> None:
    generator = SubscriptionIntervals()
    for few, many in zip(generator.arrays(10), generator.arrays(RULES_PER_BLOCK + 1), strict=True):
        assert (few == many[:, :10]).all()
    assert generator.arrays(0).left.shape == (1, 0)


def test_a_score_is_one_minus_half_the_width() -> None:
    arrays = SubscriptionIntervals(n_dimensions=2).arrays(1000)
    assert arrays.score == pytest.approx(1 - (arrays.right - arrays.left) / 2, abs=1e-9)
    assert arrays.score.min() >= 0


def test_a_higher_skew_makes_shorter_intervals() -> None:
    widths = []
    for skew in (0.0, 0.75, 1.5):
        arrays = SubscriptionIntervals(skew_length=skew).arrays(4000)
        widths.append((arrays.right - arrays.left).mean())
    assert widths == sorted(widths, reverse=True)


def test_events_lie_in_at_most_as_many_regions_of_the_given_volume() -> None:
    points = np.array([event["d0"] for event in SubscriptionIntervals(n_regions=2).events(4000)])
    cells = np.unique(np.clip((points * 100).astype(int), 0, 99))
    assert points.min() >= 0
    assert points.max() <= 1
    # Two regions of 100 / 20 cells, and a cell more each for points that rounding moved across an edge.
    assert cells.size <= 2 * (5 + 1)


def test_points_are_more_likely_near_the_middle_of_their_region_the_higher_the_skew() -> None:
    spreads = []
    for skew in (0.0, 1.0, 4.0):
        generator = SubscriptionIntervals(n_regions=1, skew_within=skew, min_volume=0.5, max_volume=0.5)
        spreads.append(np.std([event["d0"] for event in generator.events(4000)]))
    assert spreads == sorted(spreads, reverse=True)


def test_a_region_of_many_dimensions_keeps_its_volume() -> None:
    points = np.array(
        [list(event.values()) for event in SubscriptionIntervals(n_dimensions=3, n_regions=1).events(4000)]
    )
    extent = points.max(axis=0) - points.min(axis=0)
    assert np.prod(extent) == pytest.approx(1 / 20, rel=0.15)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_dimensions": 0}, "n_dimensions must be at least 1"),
        ({"skew_length": -1}, "skew_length must not be negative"),
        ({"min_volume": 0.5, "max_volume": 0.2}, "min_volume <= max_volume"),
        ({"min_volume": 0.0}, "min_volume <= max_volume"),
    ],
)
def test_parameters_that_mean_nothing_are_errors(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(RuledexError, match=message):
        SubscriptionIntervals(**parameters)


def test_a_negative_number_of_arrays_is_an_error() -> None:
    with pytest.raises(RuledexError, match="not be negative"):
        SubscriptionIntervals().arrays(-1)

"""Sketches stay within their size and their error, however their values were split between tasks."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ruledex.spark.jobs.profile.sketches import HeavyValues, Quantiles

N_VALUES = 60_000


def values(shape):
    generator = np.random.default_rng(3)
    return generator.zipf(1.4, N_VALUES) if shape == "zipf" else generator.permutation(N_VALUES)


def merged(make, numbers, n_parts):
    """A sketch of all values, each part of which was seen by one of its own in blocks."""
    parts = []
    for part in np.array_split(numbers, n_parts):
        sketch = make()
        for block in np.array_split(part, 3):
            sketch.add(pa.array(block))
        parts.append(sketch)
    for other in parts[1:]:
        parts[0].merge(other)
    return parts[0]


@pytest.mark.parametrize("shape", ["zipf", "different"])
@pytest.mark.parametrize("n_parts", [1, 7])
def test_counts_of_heavy_values_are_too_low_by_the_error_at_most(shape, n_parts):
    numbers = values(shape)
    sketch = merged(lambda: HeavyValues(pa.int64(), 50), numbers, n_parts)
    found = dict(zip(sketch.values.to_pylist(), sketch.counts.tolist(), strict=True))
    assert len(found) <= 50
    assert sketch.error <= N_VALUES / 51
    distinct, counts = np.unique(numbers, return_counts=True)
    for value, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        assert found.get(value, 0) <= count <= found.get(value, 0) + sketch.error


def test_few_values_are_counted_exactly_and_come_in_order():
    sketch = merged(lambda: HeavyValues(pa.int64(), 50), values("different") % 3 // 2, 4)
    found, counts = sketch.found()
    assert (found.to_pylist(), counts.tolist(), sketch.error) == ([0, 1], [40_000, 20_000], 0)


@pytest.mark.parametrize("shape", ["zipf", "different"])
@pytest.mark.parametrize("n_parts", [1, 7])
def test_ranks_are_near_the_truth_in_a_bounded_space(shape, n_parts):
    numbers = values(shape)
    sketch = merged(lambda: Quantiles(pa.int64(), 200), numbers, n_parts)
    found, weights = sketch.found()
    assert len(found) < 3 * 200 + 2 * len(sketch.levels)
    assert weights.sum() == N_VALUES
    ordered, ranks = np.sort(numbers), np.cumsum(weights)
    first = np.searchsorted(ordered, found.to_numpy(), "left")
    last = np.searchsorted(ordered, found.to_numpy(), "right")
    assert np.all(ranks >= first - 0.03 * N_VALUES)
    assert np.all(ranks - weights <= last + 0.03 * N_VALUES)


def test_a_few_values_are_kept_as_they_are():
    sketch = Quantiles(pa.string(), 20)
    sketch.add(pa.array(["b", "c", "a", "b"]))
    found, weights = sketch.found()
    assert (found.to_pylist(), weights.tolist()) == (["a", "b", "c"], [1, 2, 1])


@pytest.mark.parametrize(
    "array",
    [
        pa.array([True, False, True]),
        pa.array([Decimal("1.50"), Decimal("-2.25"), Decimal("1.50")], pa.decimal128(38, 2)),
        pa.array([date(2024, 1, 2), date(1900, 1, 1), date(2024, 1, 2)]),
        pa.array([5, 3, 5], pa.timestamp("us", "UTC")),
        pa.array([0.5, -1.0, 0.5]),
        pa.array(["é", "", "é"], pa.large_string()),
    ],
    ids=lambda array: str(array.type),
)
def test_values_of_all_types_that_rules_can_name(array):
    heavy, quantiles = HeavyValues(array.type, 2), Quantiles(array.type, 2)
    for _ in range(4):
        heavy.add(array)
        quantiles.add(array)
    assert heavy.found()[0][0] == array[0]
    assert heavy.found()[1].tolist() == [8, 4]
    assert quantiles.found()[1].sum() == 12

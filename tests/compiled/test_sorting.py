"""Short arrays are sorted, and repetitions dropped."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ruledex.compiled.sorting import sort_distinct


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", [0, 1, 2, 20, 300])
def test_the_first_numbers_are_sorted_each_once(n, dtype):
    rng = random.Random(n)
    numbers = [rng.randrange(-n, n + 1) for _ in range(n)]
    array = np.array([*numbers, 7, 7], dtype)
    n_left = sort_distinct(array, n)
    assert array[:n_left].tolist() == sorted(set(numbers))
    assert array[n:].tolist() == [7, 7]

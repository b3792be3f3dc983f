"""Lists in CSR form are copied, sorted parts of an array are searched, and short arrays sorted."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ruledex.compiled.arrays import frozen
from ruledex.compiled.lists import first_at_least, gather_lists, sort_distinct

VALUES = np.array([9, 1, 3, 3, 7, 0], np.int32)


def test_lists_are_gathered_in_the_order_given_and_as_often() -> None:
    lists = [[4, 5], [], [7], [1, 2, 3]]
    chosen = [3, 0, 1, 3]
    offsets = np.cumsum([0, *map(len, lists)])
    out_offsets = np.cumsum([0, *(len(lists[each]) for each in chosen)])
    out = np.zeros(out_offsets[-1], np.int32)
    entries = frozen(np.concatenate(lists), np.int32)
    gather_lists(frozen(offsets, np.int64), entries, frozen(np.array(chosen), np.int64), out_offsets, out)
    assert out.tolist() == [1, 2, 3, 4, 5, 1, 2, 3]


@pytest.mark.parametrize(("value", "at"), [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (7, 4), (8, 5)])
def test_the_first_value_that_is_not_smaller_is_found_within_the_part_that_is_searched(value: int, at: int) -> None:
    assert first_at_least(VALUES, 1, 5, value) == at


def test_an_empty_part_has_nothing() -> None:
    assert first_at_least(VALUES, 2, 2, 0) == 2


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", [0, 1, 2, 20, 300])
def test_the_first_numbers_are_sorted_each_once(n, dtype):
    rng = random.Random(n)
    numbers = [rng.randrange(-n, n + 1) for _ in range(n)]
    array = np.array([*numbers, 7, 7], dtype)
    n_left = sort_distinct(array, n)
    assert array[:n_left].tolist() == sorted(set(numbers))
    assert array[n:].tolist() == [7, 7]

"""Growth of arrays and hash tables."""

from __future__ import annotations

import numpy as np

from ruledex.compiled.arrays import FREE, buckets_for, lengthen, read_only


def test_an_array_keeps_what_it_has_and_grows_by_half_at_least() -> None:
    array = np.arange(8)
    assert lengthen(array, 8) is array
    assert lengthen(array, 9)[:8].tolist() == list(range(8))
    assert len(lengthen(array, 9)) == 12
    assert lengthen(np.ones((2, 3)), 10).shape == (10, 3)


def test_a_table_has_two_buckets_per_entry_and_finds_hashes_that_collide() -> None:
    buckets = buckets_for(np.empty(0, np.int32), np.array([5, 5, 21, 6]), 8)
    assert len(buckets) == 16
    assert buckets[5:9].tolist() == [0, 1, 2, 3]
    assert (buckets == FREE).sum() == 12
    assert buckets_for(buckets, np.array([5]), 8) is buckets


def test_a_read_only_view_leaves_the_array_as_it_is() -> None:
    array = np.arange(3)
    view = read_only(array)
    assert not view.flags.writeable
    assert array.flags.writeable
    assert np.shares_memory(array, view)

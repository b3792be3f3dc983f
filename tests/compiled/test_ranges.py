"""Ranges of a loop make up the whole loop, whatever the lists are."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from ruledex.compiled import ranges
from ruledex.compiled.ranges import in_ranges

SIZES = ([], [0], [5], [1] * 40, [30, 1, 1, 1, 1, 1, 1], [0, 0, 0, 40], [40, 0, 0, 0], [10, 20, 0, 7, 3])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("n_cores", [1, 2, 3, 50])
def test_each_list_is_in_one_range(monkeypatch, sizes, n_cores):
    monkeypatch.setattr(ranges, "FEWEST", 10)
    monkeypatch.setattr(ranges, "n_cores", lambda: n_cores)
    done, lock = np.zeros(len(sizes), int), threading.Lock()

    def run(first, last):
        with lock:
            done[first:last] += 1

    in_ranges(run, 7 + np.cumsum([0, *sizes]))
    assert done.tolist() == [1] * len(sizes)


def test_what_a_range_raises_is_raised(monkeypatch):
    monkeypatch.setattr(ranges, "FEWEST", 1)
    monkeypatch.setattr(ranges, "n_cores", lambda: 2)

    def run(first, last):
        if last == 10:
            raise ValueError("a range")

    with pytest.raises(ValueError, match="a range"):
        in_ranges(run, np.arange(11))

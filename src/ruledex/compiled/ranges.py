"""Divide a long loop among threads: compiled code runs without the GIL, so each core takes a range of the loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

FEWEST = 100_000  # items of a loop that are worth a thread
_MOST_THREADS = 8


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_ranges(run: Callable[[int, int], object], offsets: NDArray[np.integer]) -> None:
    """Call `run(first, last)` for ranges that make up all lists, each range with as many items as the others.

    List i has the items from `offsets[i]` to `offsets[i + 1]`. The calls may run at the same time.
    """
    n_lists, n_items = len(offsets) - 1, int(offsets[-1] - offsets[0])
    n_ranges = max(1, min(n_cores(), _MOST_THREADS, n_items // FEWEST))
    if n_ranges == 1:
        run(0, n_lists)
        return
    ends = offsets[0] + n_items * np.arange(n_ranges + 1) // n_ranges
    bounds = np.searchsorted(offsets, ends)
    bounds[0], bounds[-1] = 0, n_lists
    with ThreadPoolExecutor(n_ranges - 1, "range") as threads:
        first, *others = pairwise(bounds.tolist())
        waiting = [threads.submit(run, *other) for other in others]
        run(*first)
        for one in waiting:
            one.result()

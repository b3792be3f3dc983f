"""Kernels that copy, search and sort lists of numbers.

Many lists lie in one array, in CSR form: `entries[offsets[i]:offsets[i + 1]]` is list i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit


@jit
def gather_lists(
    offsets: NDArray[np.int64],
    entries: NDArray[np.int32],
    chosen: NDArray[np.int64],
    out_offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the chosen lists to `out`, the i-th of them from `out_offsets[i]` on."""
    for i in range(chosen.size):
        begin = offsets[chosen[i]]
        at = out_offsets[i]
        for entry in range(begin, offsets[chosen[i] + 1]):
            out[at] = entries[entry]
            at += 1


@jit
def first_at_least(values: NDArray[np.int32], begin: int, end: int, value: int) -> int:
    """Return the index of the first of the ascending `values[begin:end]` that is at least `value`; else `end`."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@jit
def sort_distinct(numbers: NDArray[np.int64] | NDArray[np.int32], n: int) -> int:
    """Sort the first `n` numbers in place and drop repetitions; return how many are left."""
    gap = 1
    while gap < n >> 4:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort, which for few numbers is an insertion sort
        for place in range(gap, n):
            number = numbers[place]
            other = place
            while other >= gap and numbers[other - gap] > number:
                numbers[other] = numbers[other - gap]
                other -= gap
            numbers[other] = number
        gap //= 3
    n_distinct = min(n, 1)
    for place in range(1, n):
        if numbers[place] != numbers[n_distinct - 1]:
            numbers[n_distinct] = numbers[place]
            n_distinct += 1
    return n_distinct

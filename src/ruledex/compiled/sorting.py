"""Sort the short arrays that kernels make on their way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit


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

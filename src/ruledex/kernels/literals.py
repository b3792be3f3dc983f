"""The literals of a Program, and how a sorted array is searched."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit


class Literals(NamedTuple):
    """The literals of a Program, under the names that they have there."""

    interval_offsets: NDArray[np.int32]
    interval_low: NDArray[np.int32]
    interval_high: NDArray[np.int32]
    negative_presence: NDArray[np.int32]
    negative_of: NDArray[np.int32]


@jit
def first_at_least(values: NDArray[np.int32], begin: int, end: int, value: int) -> int:
    """The first place in the ascending `values[begin:end]` that is not below `value`, or `end`."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin

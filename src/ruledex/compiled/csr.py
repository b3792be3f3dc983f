"""Lists of integers in CSR form.

The literals of a Program, and how a sorted array is searched.
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
    """Write the chosen lists one after the other, each to where `out_offsets` says that it begins."""
    for number in range(chosen.size):
        begin = offsets[chosen[number]]
        place = out_offsets[number]
        for entry in range(begin, offsets[chosen[number] + 1]):
            out[place] = entries[entry]
            place += 1


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

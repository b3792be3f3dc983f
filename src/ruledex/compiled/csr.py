"""Lists in CSR form: `entries[offsets[i]:offsets[i + 1]]` is list i. Kernels that copy lists and search sorted ones."""

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

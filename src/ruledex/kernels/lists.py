"""Lists of integers in CSR form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit


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

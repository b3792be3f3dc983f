"""Two answers to the same events as one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit


@jit
def merge_matches(
    left_offsets: NDArray[np.int64],
    left: NDArray[np.int32],
    right_offsets: NDArray[np.int64],
    right: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the rules of each event, ascending as those of either side do; no rule is on both sides."""
    place = 0
    for event in range(left_offsets.size - 1):
        one, one_end = left_offsets[event], left_offsets[event + 1]
        two, two_end = right_offsets[event], right_offsets[event + 1]
        while one < one_end or two < two_end:
            if two == two_end or (one < one_end and left[one] < right[two]):
                out[place] = left[one]
                one += 1
            else:
                out[place] = right[two]
                two += 1
            place += 1


@jit
def merge_top(
    left_offsets: NDArray[np.int64],
    left: NDArray[np.int32],
    left_ranks: NDArray[np.float64],
    right_offsets: NDArray[np.int64],
    right: NDArray[np.int32],
    right_ranks: NDArray[np.float64],
    out_offsets: NDArray[np.int64],
    out: NDArray[np.int32],
    out_ranks: NDArray[np.float64],
) -> None:
    """Write the best rules of each event, as many as `out_offsets` has room for: by rank, and then by position."""
    for event in range(left_offsets.size - 1):
        one, one_end = left_offsets[event], left_offsets[event + 1]
        two, two_end = right_offsets[event], right_offsets[event + 1]
        for place in range(out_offsets[event], out_offsets[event + 1]):
            takes_left = two == two_end or (
                one < one_end
                and (
                    left_ranks[one] > right_ranks[two]
                    or (left_ranks[one] == right_ranks[two] and left[one] < right[two])
                )
            )
            if takes_left:
                out[place], out_ranks[place] = left[one], left_ranks[one]
                one += 1
            else:
                out[place], out_ranks[place] = right[two], right_ranks[two]
                two += 1

"""The order of a node's children."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit


@jit
def order_children(
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    probability: NDArray[np.float64],
    out: NDArray[np.int32],
) -> None:
    """Write each node's children, those that are least often true first, ties as they stood.

    By insertion, which suits the few children that most nodes have.
    """
    for node in range(child_offsets.size - 1):
        first, last = child_offsets[node], child_offsets[node + 1]
        for place in range(first, last):
            child = children[place]
            other = place
            while other > first and probability[out[other - 1]] > probability[child]:
                out[other] = out[other - 1]
                other -= 1
            out[other] = child

"""The predicates that open partitions: which one each item is led by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit

NO_LEAD = -1


@jit
def pick_leads(
    offsets: NDArray[np.int64],
    group: NDArray[np.int32],
    n_needed: int,
    probability: NDArray[np.float64],
    n_items: NDArray[np.int64],
    lead: NDArray[np.int64],
) -> None:
    """Write the place of each item's lead among its candidates `offsets[i]` to `offsets[i + 1]`, or `NO_LEAD`.

    A candidate belongs to a group, of one source and one K, and may lead while its group has `n_needed` items; of
    those the least probable leads. `n_items` says how many items each group may have, and is left as how many it has.
    """
    for item in range(offsets.size - 1):
        best = NO_LEAD
        for place in range(offsets[item], offsets[item + 1]):
            is_open = n_items[group[place]] >= n_needed
            if is_open and (best == NO_LEAD or probability[place] < probability[best]):
                best = place
        lead[item] = best
    n_items[:] = 0
    for item in range(lead.size):
        if lead[item] != NO_LEAD:
            n_items[group[lead[item]]] += 1

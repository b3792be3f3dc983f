"""Relaxed matching by a look at the subscriptions in the order of what they score when all their intervals are met.

No subscription scores more than that, so that reading ends where it is less than the worst one that is held scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import prefetch
from ruledex.kernels.jit import jit
from ruledex.kernels.ranked_subscriptions import Event, SubscriptionArrays, Subscriptions, relaxed_score
from ruledex.kernels.top import precedes, push

AHEAD = 8  # how many subscriptions before its use a line of memory is asked for
ENTRIES_A_LINE = 4  # whose ends lie in one line of memory


@jit
def read_best_first(
    subscription_arrays: SubscriptionArrays,
    event: Event,
    combination: int,
    order: NDArray[np.int32],
    most: NDArray[np.float64],
    first: int,
    last: int,
    factor: float,
    n_held: int,
    ranks: NDArray[np.float64],
    found: NDArray[np.int32],
) -> tuple[int, int]:
    """Read subscriptions from place `first` of their order to `last` at the most; how many were read and are held.

    `most` is what each scores if it is met whole, along the order, and `factor` how much more the event's weights can
    make of it.
    """
    subscriptions = Subscriptions(*subscription_arrays)
    offsets, dimension, ends, score = (
        subscriptions.offsets,
        subscriptions.dimension,
        subscriptions.ends,
        subscriptions.score,
    )
    low, high, weight = event.low, event.high, event.weight
    place = first
    while place < last and (n_held < ranks.size or factor * most[place] >= ranks[0]):
        if place + 2 * AHEAD < last:
            prefetch(offsets, np.int64(order[place + 2 * AHEAD]))
            coming = order[place + AHEAD]
            for entry in range(offsets[coming], offsets[coming + 1], ENTRIES_A_LINE):
                prefetch(dimension, entry)
                prefetch(ends, 2 * entry)
                prefetch(score, entry)
        subscription = order[place]
        rank = relaxed_score(offsets, dimension, ends, score, low, high, weight, combination, subscription)
        if rank >= 0.0 and (n_held < ranks.size or precedes(rank, subscription, ranks[0], found[0])):
            n_held = push(ranks, found, n_held, rank, subscription)
        place += 1
    return place, n_held

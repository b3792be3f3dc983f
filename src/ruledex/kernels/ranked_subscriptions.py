"""Subscriptions over several dimensions: their intervals, subscription by subscription, and what they score."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import inlined, jit
from ruledex.kernels.top import precedes, push, sort_heap

SUM, MAX = 0, 1
NO_ENTRY = -1


class Subscriptions(NamedTuple):
    """An entry is an interval of a subscription in one dimension; a subscription's are in the order of dimensions."""

    offsets: NDArray[np.int64]  # [n_subscriptions + 1]
    dimension: NDArray[np.int32]  # [n_entries]
    ends: NDArray[np.float64]  # [2 * n_entries]
    score: NDArray[np.float64]  # [n_entries] finite and not negative
    owner: NDArray[np.int32]  # [n_entries] the subscription


SubscriptionArrays = tuple[NDArray[Any], ...]


class Event(NamedTuple):
    """An event by dimension: its interval, NaN where it has none, and the weight of the dimension."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: NDArray[np.float64]


@inlined
def combined(combination: int, score: float, other: float) -> float:
    """Two scores as one. Neither way is less than the larger, and in floating point too both grow with each score."""
    return score + other if combination == SUM else max(score, other)


@inlined
def relaxed_score(
    offsets: NDArray[np.int64],
    dimension: NDArray[np.int32],
    ends: NDArray[np.float64],
    score: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    weight: NDArray[np.float64],
    combination: int,
    subscription: int,
) -> float:
    """The score of those intervals that the event meets, from the first dimension to the last; -1 if it meets none."""
    # Without branches, which would be guessed wrong as often as not: what is not met adds 0, which changes no bit.
    total, n_met = 0.0, 0
    for entry in range(offsets[subscription], offsets[subscription + 1]):
        d = dimension[entry]
        is_met = (ends[2 * entry] <= high[d]) & (ends[2 * entry + 1] >= low[d])
        points = weight[d] * score[entry]
        total = combined(combination, total, points if is_met else 0.0)
        n_met += is_met
    return total if n_met > 0 else -1.0


@inlined
def matches(
    offsets: NDArray[np.int64],
    dimension: NDArray[np.int32],
    ends: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    subscription: int,
) -> bool:
    """Whether the event meets all of a subscription's intervals."""
    entry, last = offsets[subscription], offsets[subscription + 1]
    while entry < last:
        d = dimension[entry]
        if not (ends[2 * entry] <= high[d] and ends[2 * entry + 1] >= low[d]):
            break
        entry += 1
    return bool(entry == last)


@jit
def full_scores(subscription_arrays: SubscriptionArrays, combination: int, out: NDArray[np.float64]) -> None:
    """What each subscription scores when all its intervals are met."""
    subscriptions = Subscriptions(*subscription_arrays)
    for subscription in range(out.size):
        total = 0.0
        for entry in range(subscriptions.offsets[subscription], subscriptions.offsets[subscription + 1]):
            total = combined(combination, total, subscriptions.score[entry])
        out[subscription] = total


@jit
def choose_access(
    subscription_arrays: SubscriptionArrays, likelihood: NDArray[np.float64], out: NDArray[np.int32]
) -> None:
    """For each subscription the entry that is met least often, by which it is found.

    None for those that have no intervals, and for those with one that holds nothing.
    """
    subscriptions = Subscriptions(*subscription_arrays)
    ends = subscriptions.ends
    for subscription in range(out.size):
        best = NO_ENTRY
        for entry in range(subscriptions.offsets[subscription], subscriptions.offsets[subscription + 1]):
            if np.isnan(ends[2 * entry]):
                best = NO_ENTRY
                break
            if best == NO_ENTRY or likelihood[entry] < likelihood[best]:
                best = entry
        out[subscription] = best


@jit
def relaxed_scan(
    subscription_arrays: SubscriptionArrays,
    event: Event,
    combination: int,
    ranks: NDArray[np.float64],
    found: NDArray[np.int32],
) -> int:
    """Write the best subscriptions, as many as there is room for, by a look at each of them; return how many."""
    subscriptions = Subscriptions(*subscription_arrays)
    offsets, dimension, ends, score = (
        subscriptions.offsets,
        subscriptions.dimension,
        subscriptions.ends,
        subscriptions.score,
    )
    low, high, weight = event.low, event.high, event.weight
    n_held = 0
    for subscription in range(offsets.size - 1):
        rank = relaxed_score(offsets, dimension, ends, score, low, high, weight, combination, subscription)
        if rank >= 0.0 and (n_held < ranks.size or precedes(rank, subscription, ranks[0], found[0])):
            n_held = push(ranks, found, n_held, rank, subscription)
    sort_heap(ranks, found, n_held)
    return n_held

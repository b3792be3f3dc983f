"""Partitions of items: by size K, and by a predicate that leads many items of one size."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import LARGEST

NO_LEAD = -1
N_LED = 256  # items that a partition with a lead has at the least: each cuts lists, and a list has a head
N_ROUNDS = 4  # in which leads that few items chose are given up


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


class Partitions(NamedTuple):
    """Items in the order of their numbers, cut where K or the lead changes, or entries would outgrow their integer."""

    size: NDArray[np.int32]  # K, the lead not counted
    shift: NDArray[np.int32]
    first: NDArray[np.int32]
    lead: NDArray[np.int32]  # a source, or NO_LEAD


def choose_leads(
    sizes: NDArray[np.int64],
    offsets: NDArray[np.int64],
    candidates: NDArray[np.int32],
    probability: NDArray[np.float64],
) -> NDArray[np.int32]:
    """For each item the source that opens its partition, or `NO_LEAD`.

    Any of the sources `candidates[offsets[i]:offsets[i + 1]]` must be true where item i is. The rarer a lead, the
    seldomer its partition is looked at.
    """
    lead = np.full(len(sizes), NO_LEAD, np.int32)
    if len(sizes) < N_LED:
        return lead
    pairs = np.repeat(sizes, np.diff(offsets)) << 32 | candidates
    _, group, n_items = np.unique(pairs, return_inverse=True, return_counts=True)
    group, n_items = frozen(group, np.int32), n_items.astype(np.int64)
    of_candidate = frozen(probability[candidates], np.float64)
    place = np.zeros(len(sizes), np.int64)
    for _ in range(N_ROUNDS):
        pick_leads(offsets, group, N_LED, of_candidate, n_items, place)
    led = np.flatnonzero(place != NO_LEAD)
    led = led[n_items[group[place[led]]] >= N_LED]
    lead[led] = candidates[place[led]]
    return lead


def make_partitions(sizes: NDArray[np.int64], lead: NDArray[np.int32], n_codes: NDArray[np.int64]) -> Partitions:
    """Partitions of items in their order, whose K are `sizes`; `n_codes` is one more than an item's largest code."""
    size: list[int] = []
    shift: list[int] = []
    first: list[int] = []
    is_start = (np.diff(sizes, prepend=-1) != 0) | (np.diff(lead, prepend=NO_LEAD) != 0)
    for begin, end in pairwise([*np.flatnonzero(is_start).tolist(), len(sizes)]):
        bits = int(n_codes[begin:end].max() - 1).bit_length()
        for part in range(begin, end, max(LARGEST >> bits, 1)):
            size.append(int(sizes[begin]) - (lead[begin] != NO_LEAD))
            shift.append(bits)
            first.append(part)
    return Partitions(
        frozen(np.array(size), np.int32),
        frozen(np.array(shift), np.int32),
        frozen(np.array([*first, len(sizes)]), np.int32),
        lead[np.array(first, np.int64)],
    )

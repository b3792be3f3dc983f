"""The Threshold Algorithm over one list per dimension (Section 4, after Fagin, Lotem and Naor).

A row is a dimension that the event has. Its list holds the entries that the event meets, the largest score first, ties
by subscription, as far as the tree has been asked for them. All rows are read in step; a subscription that is new is
scored over all its dimensions and may enter the heap of the best. What no row has shown yet scores at most what the
rows' next entries score together: the threshold.

Sums are taken in the order of the dimensions everywhere, and rounding never reverses the order of sums, so the
threshold is a bound to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, prefetch
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.ranking import precedes, push, sort_heap
from ruledex.ranked.subscriptions import MAX, SUM, Event, Subscriptions, combine_scores, relaxed_score

AHEAD = 8  # how many entries before its use a line of memory is asked for
N_READ, N_HELD, N_SCORED = 0, 1, 2  # what `state` holds: entries read of each row, size of the heap, scored so far
Arrays = tuple[NDArray[Any], ...]


class DimensionRows(NamedTuple):
    """Lists of entries, and for each dimension the least gap between two of its scores (see `_only_later_can_tie`)."""

    dimensions: NDArray[np.int32]  # [n_rows] ascending
    entries: NDArray[np.int32]  # [n_rows, n_room]
    scores: NDArray[np.float64]
    n_filled: NDArray[np.int64]  # [n_rows]
    has_more: NDArray[np.int64]  # [n_rows] 0 where the list is whole
    gap: NDArray[np.float64]  # by dimension


@inlined
def next_score(
    scores: NDArray[np.float64], n_filled: NDArray[np.int64], has_more: NDArray[np.int64], row: int, n_read: int
) -> float:
    """Return the largest score that an unread entry of a row may have; 0, which adds nothing, if all are read."""
    if n_read < n_filled[row]:
        return float(scores[row, n_read])
    return float(scores[row, n_read - 1]) if has_more[row] != 0 else 0.0


@inlined
def _threshold(
    dimensions: NDArray[np.int32],
    scores: NDArray[np.float64],
    n_filled: NDArray[np.int64],
    has_more: NDArray[np.int64],
    weight: NDArray[np.float64],
    combination: int,
    n_read: int,
    other_row: int,
    other_score: float,
) -> float:
    """Return the most that an unseen subscription scores; `other_row` counts with `other_score` instead of its own."""
    bound = 0.0
    for row in range(dimensions.size):
        score = other_score if row == other_row else next_score(scores, n_filled, has_more, row, n_read)
        bound = combine_scores(combination, bound, weight[dimensions[row]] * score)
    return bound


@inlined
def _only_later_can_tie(
    rows: DimensionRows,
    owner: NDArray[np.int32],
    weight: NDArray[np.float64],
    combination: int,
    n_read: int,
    rank: float,
    subscription: int,
) -> bool:
    """Return whether all unseen subscriptions that reach `rank`, which is the threshold, have ids above `subscription`.

    The entries of a row that have one score ascend by subscription. So an unread entry with the score of its row's next
    one has a later subscription than that one. A sum reaches the threshold only with such an entry from each row whose
    next smaller score, at least `gap` below, would be too little. A maximum needs one from any row that has it.
    """
    dimensions, entries, scores, gap = rows.dimensions, rows.entries, rows.scores, rows.gap
    n_filled, has_more = rows.n_filled, rows.has_more
    are_later = combination == MAX
    for row in range(dimensions.size):
        if n_read >= n_filled[row] and has_more[row] == 0:
            continue
        place = n_read if n_read < n_filled[row] else n_read - 1
        score, is_later = scores[row, place], owner[entries[row, place]] > subscription
        if place < n_read:
            is_later = owner[entries[row, place]] >= subscription
        if combination == SUM:
            if is_later:
                less = max(np.nextafter(score - gap[dimensions[row]], np.inf), 0.0)
                bound = _threshold(dimensions, scores, n_filled, has_more, weight, combination, n_read, row, less)
                if bound < rank:
                    are_later = True
                    break
        elif weight[dimensions[row]] * score >= rank and not is_later:
            are_later = False
            break
    return are_later


@jit
def threshold_rows(
    subscription_arrays: Arrays,
    event: Event,
    combination: int,
    row_arrays: Arrays,
    seen: NDArray[np.uint64],
    state: NDArray[np.int64],
    ranks: NDArray[np.float64],
    found: NDArray[np.int32],
) -> bool:
    """Read the rows on, and return whether the heap in `ranks` and `found` is the answer: if not, rows need more.

    `seen` has a bit for each subscription, set for those that were scored.
    """
    subscriptions, rows = Subscriptions(*subscription_arrays), DimensionRows(*row_arrays)
    offsets, dimension, ends = subscriptions.offsets, subscriptions.dimension, subscriptions.ends
    entry_score, owner = subscriptions.score, subscriptions.owner
    low, high, weight = event.low, event.high, event.weight
    dimensions, entries, scores = rows.dimensions, rows.entries, rows.scores
    n_filled, has_more = rows.n_filled, rows.has_more
    n_read, n_held, n_scored = state[N_READ], state[N_HELD], state[N_SCORED]
    k, n_rows = ranks.size, dimensions.size
    is_done = False
    while not is_done:
        can_read, is_over = True, True
        for row in range(n_rows):
            can_read = can_read and (n_read < n_filled[row] or has_more[row] == 0)
            is_over = is_over and n_read >= n_filled[row] and has_more[row] == 0
        if is_over:
            is_done = True
        if is_over or not can_read:
            break
        for row in range(n_rows):
            if n_read >= n_filled[row]:
                continue
            if n_read + 2 * AHEAD < n_filled[row]:
                # A subscription's entries lie side by side, so that those of the one that will be read are near it.
                coming = np.int64(entries[row, n_read + 2 * AHEAD])
                prefetch(owner, coming)
                prefetch(dimension, coming)
                prefetch(ends, 2 * coming)
                prefetch(entry_score, coming)
                prefetch(offsets, np.int64(owner[entries[row, n_read + AHEAD]]))
            subscription = owner[entries[row, n_read]]
            word, bit = np.uint64(subscription) >> SIX, ONE << (np.uint64(subscription) & LOW_SIX)
            if seen[word] & bit != ZERO:
                continue
            seen[word] |= bit
            n_scored += 1
            rank = relaxed_score(offsets, dimension, ends, entry_score, low, high, weight, combination, subscription)
            if n_held < k or precedes(rank, subscription, ranks[0], found[0]):
                n_held = push(ranks, found, n_held, rank, subscription)
        n_read += 1
        if n_held == k:
            bound = _threshold(dimensions, scores, n_filled, has_more, weight, combination, n_read, -1, 0.0)
            is_done = bound < ranks[0] or (
                bound == ranks[0] and _only_later_can_tie(rows, owner, weight, combination, n_read, ranks[0], found[0])
            )
    state[N_READ], state[N_HELD], state[N_SCORED] = n_read, n_held, n_scored
    return is_done


@jit
def forget_subscriptions(
    owner: NDArray[np.int32], entries: NDArray[np.int32], n_read: NDArray[np.int64], seen: NDArray[np.uint64]
) -> None:
    """Clear the bits of the subscriptions of the entries that were read."""
    for row in range(n_read.size):
        for place in range(n_read[row]):
            seen[owner[entries[row, place]] >> 6] = ZERO


@jit
def add_up(
    owner: NDArray[np.int32],
    weight: NDArray[np.float64],
    combination: int,
    row_arrays: Arrays,
    totals: NDArray[np.float64],
    ranks: NDArray[np.float64],
    found: NDArray[np.int32],
) -> int:
    """Write the best subscriptions of rows that are whole, by adding up all that they hold; return how many.

    `totals` is scratch with one entry per subscription.
    """
    rows = DimensionRows(*row_arrays)
    entries, scores, n_filled = rows.entries, rows.scores, rows.n_filled
    totals[:] = -1.0
    for row in range(rows.dimensions.size):
        factor = weight[rows.dimensions[row]]
        for place in range(n_filled[row]):
            if place + 2 * AHEAD < n_filled[row]:
                prefetch(owner, np.int64(entries[row, place + 2 * AHEAD]))
                prefetch(totals, np.int64(owner[entries[row, place + AHEAD]]))
            subscription = owner[entries[row, place]]
            before = max(totals[subscription], 0.0)
            totals[subscription] = combine_scores(combination, before, factor * scores[row, place])
    n_held = 0
    for subscription in range(totals.size):
        rank = totals[subscription]
        if rank >= 0.0 and (n_held < ranks.size or precedes(rank, subscription, ranks[0], found[0])):
            n_held = push(ranks, found, n_held, rank, subscription)
    sort_heap(ranks, found, n_held)
    return n_held

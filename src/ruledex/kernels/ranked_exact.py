"""Exact matching: subscriptions that are found by one interval each, in the order of their scores, and then checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.ranked_cursor import add_to_heap, replace_best
from ruledex.kernels.ranked_subscriptions import Event, SubscriptionArrays, Subscriptions, matches

N_HELD, N_FOUND, N_CHECKED = 0, 1, 2  # what `state` holds: rows in the heap, answers, subscriptions checked


class Candidates(NamedTuple):
    """A row a dimension: subscriptions whose interval there is met, the best first, as far as they were asked for."""

    ids: NDArray[np.int32]  # [n_rows, n_room]
    scores: NDArray[np.float64]
    n_filled: NDArray[np.int64]  # [n_rows]
    has_more: NDArray[np.int64]  # [n_rows] 0 where the list is whole
    n_read: NDArray[np.int64]  # [n_rows] how far the merge is
    heap_score: NDArray[np.float64]  # [n_rows]
    heap_id: NDArray[np.int32]
    heap_row: NDArray[np.int32]


Arrays = tuple[NDArray[Any], ...]


@jit
def start_merge(candidate_arrays: Arrays, state: NDArray[np.int64]) -> None:
    """Put the first of each row into the heap."""
    rows = Candidates(*candidate_arrays)
    n_held = 0
    for row in range(rows.n_filled.size):
        rows.n_read[row] = 0
        if rows.n_filled[row] > 0:
            n_held = add_to_heap(
                rows.heap_score, rows.heap_id, rows.heap_row, n_held, rows.scores[row, 0], rows.ids[row, 0], row
            )
    state[:] = 0
    state[N_HELD] = n_held


@jit
def merge_exact(
    subscription_arrays: SubscriptionArrays,
    event: Event,
    candidate_arrays: Arrays,
    state: NDArray[np.int64],
    out_ids: NDArray[np.int32],
    out_scores: NDArray[np.float64],
) -> bool:
    """Check the rows' subscriptions, the best first, until the output is full; return whether the answer is whole.

    If it is not, the row on top of the heap has been read as far as it is filled, and needs more.
    """
    subscriptions, rows = Subscriptions(*subscription_arrays), Candidates(*candidate_arrays)
    offsets, dimension, ends = subscriptions.offsets, subscriptions.dimension, subscriptions.ends
    low, high = event.low, event.high
    ids, scores, n_filled, has_more, n_read = rows.ids, rows.scores, rows.n_filled, rows.has_more, rows.n_read
    heap_score, heap_id, heap_row = rows.heap_score, rows.heap_id, rows.heap_row
    n_held, n_found, n_checked = state[N_HELD], state[N_FOUND], state[N_CHECKED]
    needs_more = False
    while n_held > 0 and n_found < out_ids.size:
        row, place = heap_row[0], n_read[heap_row[0]] + 1
        if place >= n_filled[row] and has_more[row] != 0:
            needs_more = True
            break
        n_checked += 1
        if matches(offsets, dimension, ends, low, high, heap_id[0]):
            out_ids[n_found], out_scores[n_found] = heap_id[0], heap_score[0]
            n_found += 1
        n_read[row] = place
        if place < n_filled[row]:
            replace_best(heap_score, heap_id, heap_row, n_held, scores[row, place], ids[row, place], row)
        else:
            n_held -= 1
            replace_best(heap_score, heap_id, heap_row, n_held, heap_score[n_held], heap_id[n_held], heap_row[n_held])
    state[N_HELD], state[N_FOUND], state[N_CHECKED] = n_held, n_found, n_checked
    return not needs_more

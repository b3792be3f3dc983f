"""Exact matching: the subscriptions all of whose intervals an event meets, by their own scores.

The paper intersects one list per dimension. Here each subscription is in one tree alone, that of the dimension in which
it is met least often, with the score of the whole subscription. So lists have no subscription in common: they are
merged by score, and what comes is checked in the other dimensions until k have passed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import jit
from ruledex.ranked.intervals import Entries
from ruledex.ranked.subscriptions import (
    NO_ENTRY,
    Event,
    EventRows,
    RankedLists,
    SubscriptionArrays,
    Subscriptions,
    choose_access_entries,
    matches,
)
from ruledex.ranked.tree import Ranked, ScoredTree, add_to_heap, drop_best, replace_best

N_HELD, N_FOUND, N_CHECKED = 0, 1, 2  # what `state` holds: rows in the heap, answers, subscriptions checked
Arrays = tuple[NDArray[Any], ...]
FEWEST_WANTED = 16  # subscriptions that each list is asked for at first


class Candidates(NamedTuple):
    """One row per dimension: subscriptions whose interval there is met, the best first, as far as they were read."""

    ids: NDArray[np.int32]  # [n_rows, n_room]
    scores: NDArray[np.float64]
    n_filled: NDArray[np.int64]  # [n_rows]
    has_more: NDArray[np.int64]  # [n_rows] 0 where the list is whole
    n_read: NDArray[np.int64]  # [n_rows] how far the merge is
    heap_score: NDArray[np.float64]  # [n_rows]
    heap_id: NDArray[np.int32]
    heap_row: NDArray[np.int32]


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
            n_held = drop_best(heap_score, heap_id, heap_row, n_held)
    state[N_HELD], state[N_FOUND], state[N_CHECKED] = n_held, n_found, n_checked
    return not needs_more


class ExactReport(NamedTuple):
    """How an answer was found."""

    n_checked: int  # subscriptions


class ExactIndex:
    """One tree per dimension over subscriptions. Safe to use from several threads at once.

    `unconditional` are the subscriptions without intervals, which match every event, the best first.
    """

    def __init__(self, subscriptions: Subscriptions, tree: ScoredTree, unconditional: NDArray[np.int32]) -> None:
        self.subscriptions: SubscriptionArrays = tuple(subscriptions)
        self.tree = tree
        self.unconditional = unconditional
        self.score: NDArray[np.float64] = tree.arrays()["score"]

    @property
    def n_bytes(self) -> int:
        """What the tree takes, and the list of those without intervals."""
        return self.tree.n_bytes + self.unconditional.nbytes

    def top(self, rows: EventRows, k: int) -> tuple[Ranked, ExactReport]:
        """Return the best k subscriptions, ties by id; k is not more than there are."""
        out_ids, out_scores, state = np.empty(k, np.int32), np.empty(k), np.zeros(3, np.int64)
        others = self.unconditional[:k]
        lists = RankedLists(self.tree, rows, FEWEST_WANTED, Ranked(others, self.score[others]))
        n_rows = len(lists.n_filled)
        n_read, heap_score = np.zeros(n_rows, np.int64), np.empty(n_rows)
        heap_id, heap_row = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
        wanted = np.full(n_rows, FEWEST_WANTED)
        is_started = is_done = False
        while not is_done:
            lists.fill(wanted)
            candidates: Arrays = tuple(
                Candidates(
                    lists.ids, lists.scores, lists.n_filled, lists.has_more, n_read, heap_score, heap_id, heap_row
                )
            )
            if not is_started:
                start_merge(candidates, state)
                is_started = True
            is_done = merge_exact(self.subscriptions, rows.event, candidates, state, out_ids, out_scores)
            # All that are read more than half are asked for more, so that many lists do not run dry one by one.
            wanted = np.where(2 * n_read >= lists.n_filled, 4 * lists.n_filled, lists.n_filled)
        n_found = int(state[N_FOUND])
        return Ranked(out_ids[:n_found], out_scores[:n_found]), ExactReport(int(state[N_CHECKED]))


def exact_entries(subscriptions: Subscriptions, score: NDArray[np.float64], n_dimensions: int) -> Entries:
    """Return each subscription in the tree of one of its dimensions, with its whole score."""
    access = np.empty(len(score), np.int32)
    choose_access_entries(tuple(subscriptions), _likelihood(subscriptions, n_dimensions), access)
    ids = np.flatnonzero(access != NO_ENTRY)
    dimension = subscriptions.dimension[access[ids]]
    order = np.lexsort((-score[ids], dimension))
    ids = ids[order]
    return Entries(
        frozen(np.searchsorted(dimension[order], np.arange(n_dimensions + 1)), np.int64),
        frozen(subscriptions.ends.reshape(-1, 2)[access[ids]].reshape(-1), np.float64),
        frozen(ids, np.int32),
        frozen(score, np.float64),
    )


def unconditional_of(subscriptions: Subscriptions, score: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the subscriptions without intervals, by score and then by id."""
    ids = np.flatnonzero(np.diff(subscriptions.offsets) == 0)
    return frozen(ids[np.argsort(-score[ids], kind="stable")], np.int32)


def _likelihood(subscriptions: Subscriptions, n_dimensions: int) -> NDArray[np.float64]:
    """Return for each entry the part of all ends in its dimension that it holds: events are likely where ends are."""
    likelihood = np.empty(len(subscriptions.dimension))
    by_dimension = np.argsort(subscriptions.dimension, kind="stable")
    bounds = np.searchsorted(subscriptions.dimension[by_dimension], np.arange(n_dimensions + 1))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        entries = by_dimension[first:last]
        ends = subscriptions.ends.reshape(-1, 2)[entries]
        every = np.sort(ends.reshape(-1))
        n_held = np.searchsorted(every, ends[:, 1], "right") - np.searchsorted(every, ends[:, 0], "left")
        likelihood[entries] = n_held / max(len(every), 1)
    return frozen(likelihood, np.float64)

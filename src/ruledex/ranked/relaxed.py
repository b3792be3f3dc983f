"""Relaxed matching: subscriptions that an event meets in some dimension, ranked by the scores of all that it meets.

The Threshold Algorithm is used as long as it pays. Once it has read so many entries that another way takes no longer,
that way is taken instead, which in many dimensions is mostly so. The other ways are to read subscriptions in the order
of what they score when all their intervals are met (no subscription scores more, so reading ends once that is less than
the score of the worst one held), to scan all of them, or to add up all that the event meets.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.bits import prefetch
from ruledex.compiled.decorator import jit
from ruledex.engines.ranking import precedes, push, sort_heap
from ruledex.errors import RuledexError, quoted
from ruledex.program.scores.run import EPSILON
from ruledex.ranked.intervals import Entries, Intervals, entries_of
from ruledex.ranked.subscriptions import (
    Event,
    EventRows,
    RankedLists,
    SubscriptionArrays,
    Subscriptions,
    relaxed_scan,
    relaxed_score,
)
from ruledex.ranked.threshold import (
    N_HELD,
    N_READ,
    N_SCORED,
    DimensionRows,
    add_up,
    forget_subscriptions,
    threshold_rows,
)
from ruledex.ranked.tree import Ranked, ScoredTree

AHEAD = 8  # how many subscriptions before its use a line of memory is asked for
ENTRIES_A_LINE = 4  # whose ends lie in one line of memory
FEWEST_WANTED = 64  # entries that each list is asked for at first
MANY_WANTED = 4096  # up to here lists are asked for four times as many each time, for a call costs more than entries
# Measured at a million subscriptions: for one entry that the Threshold Algorithm reads, a scan passes some 40, and for
# one in the event's dimensions that is added up if it is met, 4.
ENTRIES_A_READ = 40
ENTRIES_AN_ADDITION = 4
# After it was in vain for an event, so much less is read for the next ones, and as much again for the 16th.
PATIENCE = 16
MOST_READ = 256  # entries of a list by the Threshold Algorithm, before subscriptions are read best first
PATIENCE_IN_ORDER = 4  # the same for reading best first, which costs less in vain
FEWEST_BY_SCORE = 1 << 14  # subscriptions, of which fewer are read best first without asking whether that pays
Method = Literal["auto", "threshold", "best_first", "add_up", "scan"]
METHODS: tuple[Method, ...] = ("auto", "threshold", "best_first", "add_up", "scan")


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
    offsets, dimension = subscriptions.offsets, subscriptions.dimension
    ends, score = subscriptions.ends, subscriptions.score
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


class SubscriptionReport(NamedTuple):
    """How an answer was found."""

    method: Method
    n_read: int  # entries of lists
    n_scored: int  # subscriptions


class BestFirst(NamedTuple):
    """Subscriptions in the order of what they score when all their intervals are met, and those scores."""

    order: NDArray[np.int32]
    most: NDArray[np.float64]

    @classmethod
    def of(cls, scores: NDArray[np.float64]) -> Self:
        """Sort all subscriptions by what each of them scores."""
        order = np.argsort(-scores, kind="stable")
        return cls(frozen(order, np.int32), frozen(scores[order], np.float64))


class RelaxedIndex:
    """One tree per dimension over the entries of all subscriptions. Safe to use from several threads at once."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        combination: int,
        tree: ScoredTree,
        gap: NDArray[np.float64],
        best_first: BestFirst,
    ) -> None:
        self.subscriptions: SubscriptionArrays = tuple(subscriptions)
        self.combination = combination
        self.tree = tree
        self.gap = gap
        self.best_first = best_first
        self.n_subscriptions = len(subscriptions.offsets) - 1
        self._n_in_dimension = np.bincount(subscriptions.dimension, minlength=len(gap))
        self._n_in_vain = 0  # events in a row, of those that came last, for which reading was
        self._n_unordered = 0  # events in a row for which subscriptions were scanned after all
        self._pool: list[NDArray[np.uint64]] = []  # bitmaps that are clear

    @property
    def n_bytes(self) -> int:
        """What the tree and the order take."""
        return self.tree.n_bytes + sum(array.nbytes for array in self.best_first)

    def top(self, rows: EventRows, k: int, method: Method) -> tuple[Ranked, SubscriptionReport]:
        """Return the best k subscriptions, ties by id; k is not more than there are."""
        if method not in METHODS:
            raise RuledexError(f"method must be one of {', '.join(METHODS)}, not {quoted(method)}")
        ranks, found = np.empty(k), np.empty(k, np.int32)
        if k == 0:  # the heap has no worst entry then, which the kernels compare with
            return Ranked(found, ranks), SubscriptionReport(method, 0, 0)
        if method == "scan":
            n_found, report = self._scan(rows, ranks, found)
        elif method == "best_first":
            n_found, report = self._best_first(rows, ranks, found)
        elif method == "add_up":
            n_found, report = self._add_up(rows, ranks, found)
        else:
            n_found, report = self._threshold(rows, ranks, found, method == "auto")
        return Ranked(found[:n_found], ranks[:n_found]), report

    def _scan(
        self, rows: EventRows, ranks: NDArray[np.float64], found: NDArray[np.int32]
    ) -> tuple[int, SubscriptionReport]:
        n_found = relaxed_scan(self.subscriptions, rows.event, self.combination, ranks, found)
        return n_found, SubscriptionReport("scan", 0, self.n_subscriptions)

    def _best_first(
        self, rows: EventRows, ranks: NDArray[np.float64], found: NDArray[np.int32], may_scan: bool = False
    ) -> tuple[int, SubscriptionReport]:
        """Read subscriptions in their order. If `may_scan`, scan instead where this can take longer."""
        factor, n_all, most = self._factor(rows), self.n_subscriptions, self.best_first.most
        n_read = n_held = 0
        for last, n_at_most in ((n_all // 8, 9 * n_all // 10), (n_all // 4, 6 * n_all // 10)):
            if not may_scan or n_all < FEWEST_BY_SCORE:
                break
            n_read, n_held = self._read(rows, n_read, last, factor, n_held, ranks, found)
            # How many can follow is known by now, and it will be fewer. A scan passes each in half the time, for it
            # reads memory in order.
            if n_read == last and (n_held < len(ranks) or factor * most[n_at_most] >= ranks[0]):
                return self._scan(rows, ranks, found)
        n_read, n_held = self._read(rows, n_read, n_all, factor, n_held, ranks, found)
        sort_heap(ranks, found, n_held)
        return n_held, SubscriptionReport("best_first", 0, n_read)

    def _read(
        self,
        rows: EventRows,
        first: int,
        last: int,
        factor: float,
        n_held: int,
        ranks: NDArray[np.float64],
        found: NDArray[np.int32],
    ) -> tuple[int, int]:
        order, most = self.best_first
        return read_best_first(
            self.subscriptions,
            rows.event,
            self.combination,
            order,
            most,
            first,
            last,
            factor,
            n_held,
            ranks,
            found,
        )

    def _factor(self, rows: EventRows) -> float:
        """Return how much more than in the order of subscriptions one may score by the weights of the event."""
        largest = float(rows.event.weight[rows.dimensions].max(initial=0.0))
        if largest <= 1.0:
            return 1.0  # each product and each sum is then not larger than there, in floating point too
        return largest * (1.0 + 4.0 * EPSILON * (len(rows.dimensions) + 4))

    def _add_up(
        self, rows: EventRows, ranks: NDArray[np.float64], found: NDArray[np.int32]
    ) -> tuple[int, SubscriptionReport]:
        lists = RankedLists(self.tree, rows, FEWEST_WANTED)
        while lists.has_more.any():
            lists.fill(np.full(len(rows.dimensions), 4 * lists.ids.shape[1]))
        totals = np.empty(self.n_subscriptions)
        n_found = add_up(
            self.subscriptions[-1], rows.event.weight, self.combination, self._rows(lists, rows), totals, ranks, found
        )
        return n_found, SubscriptionReport("add_up", int(lists.n_filled.sum()), self.n_subscriptions)

    def _threshold(
        self, rows: EventRows, ranks: NDArray[np.float64], found: NDArray[np.int32], may_stop: bool
    ) -> tuple[int, SubscriptionReport]:
        owner = self.subscriptions[-1]
        n_to_add = ENTRIES_AN_ADDITION * int(self._n_in_dimension[rows.dimensions].sum())
        are_added_up = n_to_add < len(owner)
        n_rows, n_wanted = max(len(rows.dimensions), 1), max(FEWEST_WANTED, len(ranks))
        n_most = self.n_subscriptions + 1  # one more than any list has, so that each is read to its end
        if may_stop:
            n_most = min(n_to_add, len(owner)) // ENTRIES_A_READ // n_rows
            n_most //= PATIENCE if self._n_in_vain % PATIENCE else 1
            n_most = n_most if are_added_up else min(n_most, max(MOST_READ, len(ranks)))
            if n_wanted > n_most:
                return self._otherwise(are_added_up, rows, ranks, found)
        lists = RankedLists(self.tree, rows, n_wanted)
        seen, state = self._clear_bits(), np.zeros(3, np.int64)
        is_done = False
        while not is_done and lists.n_filled.max(initial=0) < n_most:
            lists.fill(np.full(len(rows.dimensions), min(n_wanted, n_most)))
            is_done = threshold_rows(
                self.subscriptions,
                rows.event,
                self.combination,
                self._rows(lists, rows),
                seen,
                state,
                ranks,
                found,
            )
            n_wanted *= 4 if n_wanted < MANY_WANTED else 2
        n_read = np.minimum(lists.n_filled, state[N_READ])
        forget_subscriptions(owner, lists.ids, n_read, seen)
        self._pool.append(seen)
        if not is_done:
            return self._otherwise(are_added_up, rows, ranks, found)
        self._n_in_vain = 0
        n_found = int(state[N_HELD])
        sort_heap(ranks, found, n_found)
        return n_found, SubscriptionReport("threshold", int(n_read.sum()), int(state[N_SCORED]))

    def _otherwise(
        self, are_added_up: bool, rows: EventRows, ranks: NDArray[np.float64], found: NDArray[np.int32]
    ) -> tuple[int, SubscriptionReport]:
        """Answer in another way where the Threshold Algorithm does not pay."""
        self._n_in_vain += 1
        if are_added_up:
            return self._add_up(rows, ranks, found)
        if self._n_unordered % PATIENCE_IN_ORDER:
            self._n_unordered += 1
            return self._scan(rows, ranks, found)
        n_found, report = self._best_first(rows, ranks, found, may_scan=True)
        self._n_unordered = self._n_unordered + 1 if report.method == "scan" else 0
        return n_found, report

    def _rows(self, lists: RankedLists, rows: EventRows) -> tuple[NDArray[np.generic], ...]:
        return tuple(DimensionRows(rows.dimensions, lists.ids, lists.scores, lists.n_filled, lists.has_more, self.gap))

    def _clear_bits(self) -> NDArray[np.uint64]:
        try:
            return self._pool.pop()
        except IndexError:
            return np.zeros(self.n_subscriptions // 64 + 1, np.uint64)


def relaxed_entries(subscriptions: Subscriptions, n_dimensions: int) -> Entries:
    """Return the entries of all subscriptions, one tree per dimension."""
    return entries_of(Intervals(subscriptions.ends, subscriptions.score), subscriptions.dimension, n_dimensions)


def score_gaps(entries: Entries) -> NDArray[np.float64]:
    """Return for each dimension the least that two different scores differ by; infinity where all are the same."""
    gaps = np.full(len(entries.offsets) - 1, np.inf)
    scores = entries.score[entries.ids]
    for dimension, (first, last) in enumerate(zip(entries.offsets[:-1], entries.offsets[1:], strict=True)):
        steps = -np.diff(scores[first:last])
        # A difference is rounded, perhaps up: a little less than it is safe.
        gaps[dimension] = np.min(steps[steps > 0], initial=np.inf) * (1 - 1e-9)
    return frozen(gaps, np.float64)

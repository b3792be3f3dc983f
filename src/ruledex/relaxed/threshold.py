"""The Threshold Algorithm over the keys that an event meets (ranked-pubsub2008, Section 4).

A row is a cell of the event: the intervals of a tree that hold it, or the list of a single cell, the most points
first, as far as they have been read. All rows are read in step. A rule that is new is scored whole, and may enter the
heap of the best. What no row has shown yet scores at most what the rows' next keys have together; where a rule may have
several keys in one row, that row counts as often. Static scores are one more list, of all rules, the largest first.

Rules of equal rank are ordered by position, about which rows say nothing: reading goes on while the threshold ties with
the worst rule that is held.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.ranking import rank_bound
from ruledex.program.scores.run import ScoreStack
from ruledex.ranked.threshold import N_HELD, N_READ, N_SCORED, next_score
from ruledex.relaxed.candidates import ConjunctKeys, OneEvent, RelaxedRules, push_scored


class ThresholdRows(NamedTuple):
    """Keys of the event by row, and the static scores."""

    keys: NDArray[np.int32]  # [n_rows, n_room]
    points: NDArray[np.float64]  # [n_rows, n_room]
    n_filled: NDArray[np.int64]  # [n_rows]
    has_more: NDArray[np.int64]  # [n_rows] 0 where the row is whole
    factor: NDArray[np.float64]  # [n_rows] the weight of the cell, times how many keys a rule may have in the row
    by_static: NDArray[np.int32]  # all rules, the largest static score first; or none, where all are the same


@inlined
def _is_new(seen: NDArray[np.uint64], rule: int) -> bool:
    """Mark a rule as seen; return whether it was new."""
    word, bit = np.uint64(rule) >> SIX, ONE << (np.uint64(rule) & LOW_SIX)
    is_new = seen[word] & bit == ZERO
    seen[word] |= bit
    return bool(is_new)


@jit
def read_rows(
    rules: RelaxedRules,
    keys: ConjunctKeys,
    event: OneEvent,
    rows: ThresholdRows,
    most: float,
    slack: float,
    alive: NDArray[np.uint8],
    seen: NDArray[np.uint64],
    stack: ScoreStack,
    state: NDArray[np.int64],
    ranks: NDArray[np.float64],
    found: NDArray[np.int32],
) -> bool:
    """Read the rows on, and return whether the heap in `ranks` and `found` is the answer: if not, rows need more.

    No rule scores more than `most` on any event whose weights are those of this one at the most. `seen` has a bit for
    each rule; `slack` is what rounding can matter, as a factor.
    """
    row_keys, points, n_filled, has_more, factor = rows.keys, rows.points, rows.n_filled, rows.has_more, rows.factor
    by_static, static_score, kind = rows.by_static, event.static_score, event.rank
    branch_of, rule_of = keys.branch, keys.rule
    n_read, n_held, n_scored = state[N_READ], state[N_HELD], state[N_SCORED]
    n_rows = n_filled.size
    chosen, scores = np.empty(n_rows + 1, np.int32), np.empty(n_rows + 1, np.float64)
    is_done = False
    while not is_done:
        can_read, is_over = True, True
        for row in range(n_rows):
            can_read = can_read and (n_read < n_filled[row] or has_more[row] == 0)
            is_over = is_over and n_read >= n_filled[row] and has_more[row] == 0
        is_done = is_over
        if is_over or not can_read:
            break
        n_chosen = 0
        for row in range(n_rows + 1):
            if row < n_rows:
                if n_read >= n_filled[row]:
                    continue
                rule = rule_of[branch_of[row_keys[row, n_read]]]
            elif n_read < by_static.size:
                rule = by_static[n_read]
            else:
                continue
            if (alive.size == 0 or alive[rule] != 0) and _is_new(seen, rule):
                chosen[n_chosen] = rule
                n_chosen += 1
        if n_chosen > 0:
            n_held = push_scored(rules, event, stack, chosen, n_chosen, scores, ranks, found, n_held)
        n_scored += n_chosen
        n_read += 1
        if n_held == ranks.size:
            total = 0.0
            for row in range(n_rows):
                total += float(factor[row]) * next_score(points, n_filled, has_more, row, n_read)
            static = static_score[0]
            if by_static.size > 0:
                static = static_score[by_static[min(n_read, by_static.size - 1)]]
            is_done = rank_bound(kind, static, min(total, most), slack) < ranks[0]
    state[N_READ], state[N_HELD], state[N_SCORED] = n_read, n_held, n_scored
    return is_done


@jit
def fill_from_lists(
    keys: ConjunctKeys,
    cells: NDArray[np.int32],
    wanted: int,
    out_keys: NDArray[np.int32],
    out_points: NDArray[np.float64],
    n_filled: NDArray[np.int64],
    has_more: NDArray[np.int64],
) -> None:
    """Write the first `wanted` keys of each cell's list, or all where it has fewer."""
    for row in range(cells.size):
        first, last = keys.cell_offsets[cells[row]], keys.cell_offsets[cells[row] + 1]
        for place in range(n_filled[row], min(wanted, last - first)):
            out_keys[row, place], out_points[row, place] = first + place, keys.points[first + place]
        n_filled[row] = min(wanted, last - first)
        has_more[row] = last - first > wanted


@jit
def forget_rules(keys: ConjunctKeys, rows: ThresholdRows, n_read: int, seen: NDArray[np.uint64]) -> None:
    """Clear the bits of the rules that were read."""
    for row in range(rows.n_filled.size):
        for place in range(min(n_read, rows.n_filled[row])):
            seen[keys.rule[keys.branch[rows.keys[row, place]]] >> 6] = ZERO
    for place in range(min(n_read, rows.by_static.size)):
        seen[rows.by_static[place] >> 6] = ZERO

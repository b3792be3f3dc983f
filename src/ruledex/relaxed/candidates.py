"""Which rules an event can relax to, and the most that each can rank: the points of all keys that the event meets.

Keys of one cell lie in lists, one per cell, the most points first. Keys of more cells are intervals, which trees find;
they come as rows, one for each cell of the event that has a tree, and as long as `n_filled` says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import prefetch
from ruledex.compiled.decorator import jit
from ruledex.engines.ranking import rank_bound
from ruledex.relaxed.score import OneEvent

AHEAD = 16  # how many entries before its use a line of memory is asked for
UNTOUCHED = -1.0


class ConjunctKeys(NamedTuple):
    """All keys, those of intervals first, then those of single cells, cell by cell."""

    branch: NDArray[np.int32]  # [n_keys]
    points: NDArray[np.float64]  # [n_keys]
    cell_offsets: NDArray[np.int64]  # [n_cells + 1] from the number of intervals on
    rule: NDArray[np.int32]  # [n_branches] which rule a branch is of


class CellRows(NamedTuple):
    """Intervals that hold a cell of the event, one row per cell."""

    keys: NDArray[np.int32]  # [n_rows, n_room]
    n_filled: NDArray[np.int64]  # [n_rows]
    weight: NDArray[np.float64]  # [n_rows] of the cell


class CandidateScratch(NamedTuple):
    """What `find_candidates` adds up in: `UNTOUCHED` before and after."""

    totals: NDArray[np.float64]  # [n_branches]
    most: NDArray[np.float64]  # [n_rules] the largest total of a rule's branches
    touched: NDArray[np.int32]  # [n_branches] those that are not untouched


@jit
def find_candidates(
    keys: ConjunctKeys,
    rows: CellRows,
    event: OneEvent,
    cell_weight: NDArray[np.float64],
    slack: float,
    alive: NDArray[np.uint8],
    scratch: CandidateScratch,
    candidates: NDArray[np.int32],
    bounds: NDArray[np.float64],
) -> int:
    """Write the rules of which the event meets a key, and a bound of the rank of each; return how many.

    `cell_weight` has what each cell of the event multiplies points with. Sums are rounded in another order than a
    rule's score: `slack` is what that can matter, as a factor.
    """
    branch_of, points, cell_offsets = keys.branch, keys.points, keys.cell_offsets
    rule_of, totals, most, touched = keys.rule, scratch.totals, scratch.most, scratch.touched
    row_keys, n_filled, row_weight = rows.keys, rows.n_filled, rows.weight
    cells, begin, kind, static_score = event.cells, event.begin, event.rank, event.static_score
    n_touched = 0
    for row in range(n_filled.size):
        weight = float(row_weight[row])  # a plain number overflows without a warning, uncompiled too
        for place in range(n_filled[row]):
            if place + 2 * AHEAD < n_filled[row]:
                prefetch(branch_of, np.int64(row_keys[row, place + 2 * AHEAD]))
                prefetch(points, np.int64(row_keys[row, place + 2 * AHEAD]))
                prefetch(totals, np.int64(branch_of[row_keys[row, place + AHEAD]]))
            key = row_keys[row, place]
            branch = branch_of[key]
            if totals[branch] == UNTOUCHED:
                totals[branch] = 0.0
                touched[n_touched] = branch
                n_touched += 1
            totals[branch] = float(totals[branch]) + weight * float(points[key])
    for place in range(begin, event.end):
        weight, last = float(cell_weight[place - begin]), cell_offsets[cells[place] + 1]
        for key in range(cell_offsets[cells[place]], last):
            if key + AHEAD < last:
                prefetch(totals, np.int64(branch_of[key + AHEAD]))
            branch = branch_of[key]
            if totals[branch] == UNTOUCHED:
                totals[branch] = 0.0
                touched[n_touched] = branch
                n_touched += 1
            totals[branch] = float(totals[branch]) + weight * float(points[key])
    n_candidates = 0
    for place in range(n_touched):
        branch = touched[place]
        rule = rule_of[branch]
        if most[rule] == UNTOUCHED and (alive.size == 0 or alive[rule] != 0):
            candidates[n_candidates] = rule
            n_candidates += 1
        most[rule] = max(most[rule], totals[branch])
        totals[branch] = UNTOUCHED
    for place in range(n_candidates):
        rule = candidates[place]
        bounds[place] = rank_bound(kind, static_score[rule], most[rule], slack)
    for place in range(n_touched):
        most[rule_of[touched[place]]] = UNTOUCHED
    return n_candidates

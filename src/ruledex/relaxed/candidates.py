"""Which rules an event can relax to, the most that each can rank, and what it scores (docs/ranking.md).

No rule scores more than the points of all keys that the event meets. Keys of one cell lie in lists, one per cell, the
most points first. Keys of more cells are intervals, which trees find; they come as rows, one for each cell of the event
that has a tree, and as long as `n_filled` says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import prefetch
from ruledex.compiled.constants import IS_TRUE, LEAF, OPERATION, STEP_BITS, WEIGH
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.ranking import precedes, push, rank_bound, rank_of, sort_heap
from ruledex.program.scores.literals import NO_WEIGHT, ScoreLiterals, literal_weight
from ruledex.program.scores.run import AT_ONCE, LARGEST, ScoreBounds, ScorePrograms, ScoreStack, match_scores

AHEAD = 16  # how many entries before its use a line of memory is asked for
UNTOUCHED = -1.0
MUST_HOLD, MAY_SCORE = 1, 2  # what `kind` says of a conjunct
NOT_MET = -1.0  # scores are not negative


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


class RelaxedRules(NamedTuple):
    """Rules taken apart (see layout.py). Conjuncts stand in `programs` as rules do elsewhere."""

    branch_offsets: NDArray[np.int32]
    conjunct_offsets: NDArray[np.int32]
    kind: NDArray[np.uint8]  # [n_conjuncts]
    literals: ScoreLiterals
    programs: ScorePrograms
    bounds: ScoreBounds


class OneEvent(NamedTuple):
    """The event `cells[begin:end]`, and how rules are ranked on it."""

    cells: NDArray[np.int32]
    weights: NDArray[np.float64]
    begin: int
    end: int
    rank: int  # as engines/inputs.py numbers it
    static_score: NDArray[np.float64]


@jit
def relaxed_scores(
    rules: RelaxedRules,
    event: OneEvent,
    stack: ScoreStack,
    chosen: NDArray[np.int32],
    n_chosen: int,
    scores: NDArray[np.float64],
) -> None:
    """Write what each of the first `n_chosen` rules scores by its best branch that may be counted, or `NOT_MET`.

    Conjuncts are added up in their order, so that a rule's score is the same float whatever it was found by. Rules come
    several at a time, since to take the arrays out of the tuples costs as much as to score one.
    """
    branch_offsets, conjunct_offsets, kind = rules.branch_offsets, rules.conjunct_offsets, rules.kind
    literals, programs, bounds = rules.literals, rules.programs, rules.bounds
    offsets, low, high = literals.interval_offsets, literals.interval_low, literals.interval_high
    records, known_of, known = literals.records, stack.places.known_of, stack.places.known
    code_offsets, code, code_weight = programs.score_offsets, programs.score_code, programs.score_weight
    cells, weights, begin, end = event.cells, event.weights, event.begin, event.end
    truth = stack.truth
    n_positive = offsets.size - 1
    if stack.event[1] != begin:
        stack.event[0] += 1
        stack.event[1] = begin
    number = stack.event[0]
    for place in range(n_chosen):
        best = NOT_MET
        for branch in range(branch_offsets[chosen[place]], branch_offsets[chosen[place] + 1]):
            total, n_scoring, n_scoring_met, may_count = 0.0, 0, 0, True
            for conjunct in range(conjunct_offsets[branch], conjunct_offsets[branch + 1]):
                first, n_steps = code_offsets[conjunct], code_offsets[conjunct + 1] - code_offsets[conjunct]
                argument = code[first] >> STEP_BITS
                is_weighed = n_steps == 2 and code[first + 1] & OPERATION == WEIGH
                if code[first] & OPERATION == LEAF and (n_steps == 1 or is_weighed):
                    if known_of[argument] != number:
                        known_of[argument] = number
                        known[argument] = literal_weight(
                            offsets, low, high, records, argument, cells, weights, begin, end
                        )
                    points = float(known[argument])  # a plain number overflows without a warning, uncompiled too
                    holds = points != NO_WEIGHT
                    if is_weighed:
                        points *= float(code_weight[code[first + 1] >> STEP_BITS])
                    if argument >= n_positive:
                        points = 0.0
                else:
                    stack.chosen[0], stack.needed[0] = conjunct, -np.inf
                    match_scores(
                        literals, programs, bounds, stack.chosen, 1, cells, weights, begin, end, stack, stack.scores
                    )
                    points = stack.scores[0]
                    holds = truth[0] == IS_TRUE
                may_score = kind[conjunct] & MAY_SCORE != 0
                n_scoring += may_score
                if holds:
                    total += points
                    n_scoring_met += may_score
                elif kind[conjunct] & MUST_HOLD != 0:
                    may_count = False
                    break
            if may_count and (n_scoring_met > 0 or n_scoring == 0):
                best = max(best, total)
        # Sums of finite weights may overflow; an infinite score times a static score of 0 would be no number.
        scores[place] = min(best, LARGEST)


@inlined
def push_scored(
    rules: RelaxedRules,
    event: OneEvent,
    stack: ScoreStack,
    chosen: NDArray[np.int32],
    n_chosen: int,
    scores: NDArray[np.float64],
    ranks: NDArray[np.float64],
    found: NDArray[np.int32],
    n_held: int,
) -> int:
    """Score rules, and put those that belong there into the heap of the best; return its new size."""
    relaxed_scores(rules, event, stack, chosen, n_chosen, scores)
    for place in range(n_chosen):
        rank = rank_of(event.rank, event.static_score[chosen[place]], scores[place])
        is_better = n_held < ranks.size or precedes(rank, chosen[place], ranks[0], found[0])
        if scores[place] != NOT_MET and is_better:
            n_held = push(ranks, found, n_held, rank, chosen[place])
    return n_held


@jit
def best_of_candidates(
    rules: RelaxedRules,
    event: OneEvent,
    candidates: NDArray[np.int32],
    bounds: NDArray[np.float64],
    stack: ScoreStack,
    ranks: NDArray[np.float64],
    found: NDArray[np.int32],
) -> int:
    """Write the best of some rules, which rank no higher than `bounds` says of each; return how many.

    `ranks` and `found` are as long as the answer may be, one or longer. The rules of the largest bounds are scored
    first: what they reach keeps most of the others from being scored at all.
    """
    k, n_held, n_candidates = ranks.size, 0, candidates.size
    for place in range(n_candidates):
        if n_held < k or precedes(bounds[place], candidates[place], ranks[0], found[0]):
            n_held = push(ranks, found, n_held, bounds[place], candidates[place])
    if n_held == 0:
        return 0
    last_bound, last_rule = ranks[0], found[0]
    chosen, scores = np.empty(AT_ONCE, np.int32), np.empty(AT_ONCE, np.float64)
    n_held, n_chosen = 0, 0
    for step in range(2 * n_candidates):
        place = step % n_candidates
        bound, rule = bounds[place], candidates[place]
        is_later = precedes(last_bound, last_rule, bound, rule)
        if is_later == (step >= n_candidates) and (n_held < k or precedes(bound, rule, ranks[0], found[0])):
            chosen[n_chosen] = rule
            n_chosen += 1
        if n_chosen == AT_ONCE or (n_chosen > 0 and place == n_candidates - 1):
            n_held = push_scored(rules, event, stack, chosen, n_chosen, scores, ranks, found, n_held)
            n_chosen = 0
    sort_heap(ranks, found, n_held)
    return n_held

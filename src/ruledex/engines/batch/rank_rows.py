"""From rows of bits, one bit per event, to the best rules of each event.

A rule is scored on all of its events one after the other, while what it is made of is in the cache: first its literals
become rows, as in kernels.py, and then its steps are run for each event with the bits of these rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit
from ruledex.compiled.constants import (
    CONSTANT,
    FALSE_BY,
    IS_FALSE,
    IS_TRUE,
    IS_UNKNOWN,
    LEAF,
    OPERATION,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
    XNOR,
    XOR,
)
from ruledex.compiled.decorator import jit
from ruledex.engines.batch.kernels import Block
from ruledex.engines.batch.rows import (
    N_EVENTS,
    N_WORDS,
    ROW,
    Words,
    copy_row,
    difference_row,
    empty_rows,
    or_difference,
    without_row,
)
from ruledex.engines.inputs import STATIC
from ruledex.engines.ranking import Ranking, new_walk, precedes, push, rank_bound, rank_in_event, rank_of
from ruledex.program.scores.compile import WalkStack, write_rule_steps
from ruledex.program.scores.literals import FIELDS, ScoreLiterals
from ruledex.program.scores.run import AT_ONCE, LARGEST, ScoreStack, fold, test


class RowScratch(NamedTuple):
    """What `rank_rows` works with; `AT_ONCE` rules have their steps written together."""

    walk: WalkStack
    offsets: NDArray[np.int64]  # [AT_ONCE + 1] into code
    code: NDArray[np.int32]
    rows: Words  # a row for each step of a rule, and one to spare
    truth: NDArray[np.uint8]  # of each step of a rule, like what follows
    score: NDArray[np.float64]
    events: NDArray[np.int64]  # [N_EVENTS] of the rule at hand that its bound does not keep out


def new_row_scratch(n_levels: int, largest: NDArray[np.int64]) -> RowScratch:
    """Scratch for trees of so many levels; `largest` are the steps of the `AT_ONCE` rules that have the most."""
    most = int(largest.max(initial=0))
    return RowScratch(
        new_walk(n_levels),
        np.zeros(AT_ONCE + 1, np.int64),
        np.empty(largest.sum(), np.int32),
        empty_rows(most + 1),
        np.empty(most + 1, np.uint8),
        np.empty(most + 1),
        np.empty(N_EVENTS, np.int64),
    )


@jit
def rank_rows(
    literals: ScoreLiterals,
    ranking: Ranking,
    kind: int,
    block: Block,
    rules: NDArray[np.int32],
    words: Words,
    n_rows: int,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    first_event: int,
    largest: NDArray[np.float64],
    stack: ScoreStack,
    scratch: RowScratch,
    ranks: NDArray[np.float64],
    ranked: NDArray[np.int32],
    n_held: NDArray[np.int64],
) -> None:
    """Put the rules of rows into the heaps of their events; only what its bound does not keep out is scored.

    `largest` is each event's largest weight, `ranks` and `ranked` have one row per event. All of it is one function for
    the reason that engines/batch/kernels.py gives.
    """
    static_score, match_bound, programs = ranking.static_score, ranking.bounds.of_rule, ranking.programs
    code_weight, records = programs.score_weight, literals.records
    interval_offsets, low, high = literals.interval_offsets, literals.interval_low, literals.interval_high
    start, event_of, prefix, repeated = block.start, block.event, block.prefix, block.repeated
    walk, offsets, code = scratch.walk, scratch.offsets, scratch.code
    rows, events, truth, score = scratch.rows, scratch.events, scratch.truth, scratch.score
    n_positive, n_literals = interval_offsets.size - 1, records.size // FIELDS
    k = ranks.shape[1]
    is_by_rows = kind != STATIC and weights.size == 0  # an event's own weights are not in the rows
    spare = np.uint64(rows.size) - ROW
    for row in range(n_rows):
        rule = rules[row]
        static, bound = static_score[rule], match_bound[rule]
        if is_by_rows and row % AT_ONCE == 0:
            write_rule_steps(programs, n_literals, walk, rules[row : min(row + AT_ONCE, n_rows)], offsets, code)
        n_events = 0
        for word in range(N_WORDS):
            left = words[N_WORDS * row + word]
            while left != ZERO:
                event = 64 * word + lowest_bit(left)
                left &= left - ONE
                # A heap that is full has its worst entry at place 0, which decides nearly always.
                if n_held[event] < k or (
                    k > 0
                    and not precedes(
                        ranks[event, 0], ranked[event, 0], rank_bound(kind, static, bound, largest[event]), rule
                    )
                ):
                    events[n_events] = event
                    n_events += 1
        first_step, last_step = offsets[row % AT_ONCE], offsets[row % AT_ONCE + 1]
        if is_by_rows and n_events > 0:
            for step in range(first_step, last_step):
                if code[step] & OPERATION not in (LEAF, FALSE_BY):
                    continue
                literal, place = code[step] >> STEP_BITS, np.uint64(step - first_step) * ROW
                positive = records[FIELDS * literal + 2] if literal >= n_positive else literal
                is_first = True
                for interval in range(interval_offsets[positive], interval_offsets[positive + 1]):
                    first, last = start[low[interval]], start[high[interval] + 1]
                    if repeated.size != 0 and repeated[first] != repeated[last]:
                        if is_first:
                            rows[place : place + ROW] = ZERO
                        for pair in range(first, last):
                            bit = np.uint64(event_of[pair])
                            rows[place + (bit >> SIX)] |= ONE << (bit & LOW_SIX)
                    elif is_first:
                        difference_row(rows, place, prefix, np.uint64(first) * ROW, np.uint64(last) * ROW)
                    else:
                        or_difference(rows, place, prefix, np.uint64(first) * ROW, np.uint64(last) * ROW)
                    is_first = False
                if is_first:
                    rows[place : place + ROW] = ZERO
                if literal >= n_positive:
                    cell = records[FIELDS * literal + 1]
                    before, after = np.uint64(start[cell]) * ROW, np.uint64(start[cell + 1]) * ROW
                    difference_row(rows, spare, prefix, before, after)
                    without_row(rows, spare, rows, place)
                    copy_row(rows, place, rows, spare)
        for chosen in range(n_events):
            event = events[chosen]
            held = n_held[event]
            if is_by_rows:
                column, shift = np.uint64(event) >> SIX, np.uint64(event) & LOW_SIX
                height = 0
                for step in range(first_step, last_step):
                    operation, argument = code[step] & OPERATION, code[step] >> STEP_BITS
                    if operation in (LEAF, FALSE_BY):
                        holds = (rows[np.uint64(step - first_step) * ROW + column] >> shift) & ONE != ZERO
                        if operation == LEAF:
                            truth[height] = IS_TRUE if holds else IS_UNKNOWN
                            score[height] = 1.0 if holds and argument < n_positive else 0.0
                            height += 1
                        elif holds and truth[height - 1] != IS_TRUE:
                            truth[height - 1] = IS_FALSE
                    elif operation == WEIGH:
                        score[height - 1] *= code_weight[argument]
                    elif operation == CONSTANT:
                        truth[height] = IS_TRUE if argument == SCORES_ONE else argument
                        score[height] = 1.0 if argument == SCORES_ONE else 0.0
                        height += 1
                    else:
                        height -= argument
                        value, points = truth[height], float(score[height])
                        for other in range(height + 1, height + argument):
                            value, points = fold(operation, value, points, truth[other], float(score[other]))
                        if argument == 1 and operation in (XOR, XNOR):
                            value, points = test(operation, value), 0.0
                        truth[height], score[height] = value, points
                        height += 1
                rank = rank_of(kind, static, min(float(score[0]), LARGEST))
            else:
                begin, end = event_offsets[first_event + event], event_offsets[first_event + event + 1]
                worst = ranks[event, 0] if held == k else -np.inf
                rank = rank_in_event(
                    literals, ranking, kind, rule, cells, weights, begin, end, worst, largest[event], stack
                )
            if held < k or precedes(rank, rule, ranks[event, 0], ranked[event, 0]):
                n_held[event] = push(ranks[event], ranked[event], held, rank, rule)


@jit
def tile_bounds(ranking: Ranking, kind: int, largest: float, tile_size: int, bounds: NDArray[np.float64]) -> None:
    """For each run of `tile_size` rules a rank that none of them exceeds on events of weights of at most `largest`."""
    static_score, match_bound = ranking.static_score, ranking.bounds.of_rule
    n_rules = static_score.size
    for tile in range(bounds.size):
        best = -np.inf
        for rule in range(tile * tile_size, min((tile + 1) * tile_size, n_rules)):
            best = max(best, rank_bound(kind, static_score[rule], match_bound[rule], largest))
        bounds[tile] = best

"""Rank the rules that are true of an event, and keep the best k.

Rules are ordered by rank, the largest first, and by position where ranks are equal. The best so far are in a heap with
the worst of them on top. Rules are scored in the order of their bounds, and those whose bound is not enough any more
are not scored at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import freeze_all, frozen
from ruledex.compiled.bits import prefetch
from ruledex.compiled.decorator import jit
from ruledex.engines.access import domain_boundaries
from ruledex.engines.inputs import (
    PRODUCT,
    STATIC,
    SUM,
    check_k,
    freeze_batch,
    freeze_static_score,
    literals_of,
    rank_code,
    score_programs_of,
)
from ruledex.engines.protocol import Alive, Matches, Rank
from ruledex.engines.score_prefetch import ask_for_rules
from ruledex.events.batch import EventBatch
from ruledex.forks import cached_property
from ruledex.program.program import Program
from ruledex.program.scores.compile import WalkStack, count_steps, write_rule_steps
from ruledex.program.scores.literals import FIELDS, EventPlaces, ScoreLiterals, write_records
from ruledex.program.scores.run import (
    AT_ONCE,
    NO_EVENT,
    ScoreBounds,
    ScorePrograms,
    ScoreStack,
    count_operands,
    match_scores,
    node_bounds,
    score_bounds,
    stack_height,
)

AHEAD = 16  # how many rules before its use a score is asked for
SLACK = 1e-8  # the part of a sum that it may lack for rounding is less. Sums of ones lack nothing.
N_BANDS = 256  # that bounds are sorted into
RANKED_AT_ONCE = 32  # events whose rules are found before any is ranked, so that they take little memory


class Ranking(NamedTuple):
    """What ranks a rule: its static score, its score program, and the bounds of its match score."""

    static_score: NDArray[np.float64]
    programs: ScorePrograms
    bounds: ScoreBounds


@jit
def rank_of(kind: int, static: float, match: float) -> float:
    """Return the rank of a rule from its two scores."""
    if kind == SUM:
        return static + match
    if kind == PRODUCT:
        return static * match
    return static


@jit
def rank_bound(kind: int, static: float, match_bound: float, largest_weight: float) -> float:
    """Return a rank that a rule does not exceed on an event whose weights are at most `largest_weight`."""
    if kind == PRODUCT and static <= 0.0:
        return 0.0  # the match score may be 0
    return rank_of(kind, static, largest_weight * match_bound)


@jit
def least_bound(kind: int, highest_static: float, before: float, worst: float) -> float:
    """Return the least match score, beside `before`, with which a rule may still rank as high as `worst`.

    `highest_static` is the highest of the rules asked about; `worst` is -inf as long as any rank will do.
    """
    if kind == SUM and abs(worst) < np.inf:
        return worst - highest_static - before - SLACK * (abs(worst) + abs(highest_static) + before)
    if kind == PRODUCT and 0.0 < worst < np.inf:
        return worst / highest_static * (1.0 - SLACK) - before * (1.0 + SLACK) if highest_static > 0.0 else np.inf
    return -np.inf


@jit
def rank_in_event(
    literals: ScoreLiterals,
    ranking: Ranking,
    kind: int,
    rule: int,
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
    worst: float,
    largest_of_event: float,
    stack: ScoreStack,
) -> float:
    """Return the rank of a rule that is true of the event, or any that is lower if that is lower than `worst`."""
    match = 0.0
    if kind != STATIC:
        programs, bounds, chosen, scores = ranking.programs, ranking.bounds, stack.chosen, stack.scores
        stack.needed[0] = least_bound(kind, ranking.static_score[rule], 0.0, worst) / largest_of_event
        chosen[0] = rule
        match_scores(literals, programs, bounds, chosen, 1, cells, weights, begin, end, stack, scores)
        match = scores[0]
    return rank_of(kind, ranking.static_score[rule], match)


@jit
def largest_weight(weights: NDArray[np.float64], begin: int, end: int) -> float:
    """Return the largest weight of an event, and at least 1: constants count whole, whatever the event weighs.

    Above 1 it is a little more, for what rounding adds to sums of weights.
    """
    largest = 1.0
    if weights.size != 0:
        for place in range(begin, end):
            largest = max(largest, weights[place])
    return largest if largest == 1.0 else largest * (1.0 + SLACK)


@jit
def precedes(rank: float, rule: int, other_rank: float, other_rule: int) -> bool:
    """Return whether the first of two rules stands before the other in an answer."""
    return rank > other_rank or (rank == other_rank and rule < other_rule)


@jit
def push(ranks: NDArray[np.float64], rules: NDArray[np.int32], n_held: int, rank: float, rule: int) -> int:
    """Put a rule into the heap, in place of the worst where it is full; return the heap's new size."""
    if n_held < ranks.size:
        place = n_held
        n_held += 1
        while place > 0:
            above = (place - 1) >> 1
            if not precedes(ranks[above], rules[above], rank, rule):
                break
            ranks[place], rules[place] = ranks[above], rules[above]
            place = above
        ranks[place], rules[place] = rank, rule
        return n_held
    _sink(ranks, rules, n_held, rank, rule)
    return n_held


@jit
def _sink(ranks: NDArray[np.float64], rules: NDArray[np.int32], n_held: int, rank: float, rule: int) -> None:
    """Put a rule in place of the heap's top, and move it down to where it belongs."""
    place = 0
    while True:
        below = 2 * place + 1
        if below >= n_held:
            break
        right = below + 1
        if right < n_held and precedes(ranks[below], rules[below], ranks[right], rules[right]):
            below = right
        if not precedes(rank, rule, ranks[below], rules[below]):
            break
        ranks[place], rules[place] = ranks[below], rules[below]
        place = below
    ranks[place], rules[place] = rank, rule


@jit
def sort_heap(ranks: NDArray[np.float64], rules: NDArray[np.int32], n_held: int) -> None:
    """Turn a heap into the answer, the best first."""
    while n_held > 1:
        n_held -= 1
        worst_rank, worst_rule = ranks[0], rules[0]
        _sink(ranks, rules, n_held, ranks[n_held], rules[n_held])
        ranks[n_held], rules[n_held] = worst_rank, worst_rule


@jit
def top_of_event(
    literals: ScoreLiterals,
    ranking: Ranking,
    kind: int,
    found: NDArray[np.int32],
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
    stack: ScoreStack,
    ranks: NDArray[np.float64],
    rules: NDArray[np.int32],
) -> int:
    """Write the best of the rules `found` to be true of an event; return how many.

    `ranks` and `rules` are as long as the answer may be. The rules of the largest bounds are scored first: what they
    reach keeps most of the others from being scored at all.
    """
    static_score, programs, score_bounds = ranking.static_score, ranking.programs, ranking.bounds
    match_bound, chosen, needed, scores = score_bounds.of_rule, stack.chosen, stack.needed, stack.scores
    largest = largest_weight(weights, begin, end)
    k, n_held = ranks.size, 0
    if k == 0:
        return 0
    bounds = np.empty(found.size, np.float64)
    highest, lowest = -np.inf, np.inf
    for place in range(found.size):
        if place + AHEAD < found.size:
            prefetch(static_score, np.int64(found[place + AHEAD]))
            prefetch(match_bound, np.int64(found[place + AHEAD]))
        rule = found[place]
        bound = rank_bound(kind, static_score[rule], match_bound[rule], largest)
        bounds[place] = bound
        highest, lowest = max(highest, bound), min(lowest, bound)
        if kind == STATIC and (n_held < k or precedes(bound, rule, ranks[0], rules[0])):
            n_held = push(ranks, rules, n_held, bound, rule)
    if kind != STATIC:
        order = np.empty(found.size, np.int32)
        sort_by_bands(bounds, lowest, highest, order)
        n_chosen, n_together = 0, min(max(k, 4), AT_ONCE)
        for step in range(found.size):
            bound, rule = bounds[order[step]], found[order[step]]
            if n_held < k or precedes(bound, rule, ranks[0], rules[0]):
                worst = ranks[0] if n_held == k else -np.inf
                chosen[n_chosen], needed[n_chosen] = rule, least_bound(kind, static_score[rule], 0.0, worst) / largest
                n_chosen += 1
            if n_chosen == n_together or (n_chosen > 0 and step == found.size - 1):
                ask_for_rules(programs, score_bounds, literals.records, chosen, needed, n_chosen)
                match_scores(
                    literals, programs, score_bounds, chosen, n_chosen, cells, weights, begin, end, stack, scores
                )
                for scored in range(n_chosen):
                    rank = rank_of(kind, static_score[chosen[scored]], scores[scored])
                    if n_held < k or precedes(rank, chosen[scored], ranks[0], rules[0]):
                        n_held = push(ranks, rules, n_held, rank, chosen[scored])
                n_chosen, n_together = 0, min(2 * n_together, AT_ONCE)
    sort_heap(ranks, rules, n_held)
    return n_held


@jit
def sort_by_bands(bounds: NDArray[np.float64], lowest: float, highest: float, order: NDArray[np.int32]) -> None:
    """Write the places of bounds by bands of equal width, those of the highest bounds first, ascending within a band.

    Where the bounds are equal or infinite, there is one band.
    """
    width = highest - lowest
    scale = (N_BANDS - 1) / width if 0.0 < width < np.inf else 0.0
    if scale == np.inf:
        scale = 0.0
    starts = np.zeros(N_BANDS + 1, np.int64)
    for place in range(bounds.size):
        band = np.int64((highest - bounds[place]) * scale) if scale > 0.0 else np.int64(0)
        starts[band + 1] += 1
    for before in range(N_BANDS):
        starts[before + 1] += starts[before]
    for place in range(bounds.size):
        band = np.int64((highest - bounds[place]) * scale) if scale > 0.0 else np.int64(0)
        order[starts[band]] = place
        starts[band] += 1


@jit
def top_of_batch(
    literals: ScoreLiterals,
    ranking: Ranking,
    kind: int,
    found_offsets: NDArray[np.int64],
    found: NDArray[np.int32],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    stack: ScoreStack,
    out_offsets: NDArray[np.int64],
    out_ranks: NDArray[np.float64],
    out_rules: NDArray[np.int32],
) -> None:
    """Write each event's best rules into its part of the output, which is as long as there are rules to fill it."""
    for event in range(event_offsets.size - 1):
        first, last = out_offsets[event], out_offsets[event + 1]
        top_of_event(
            literals,
            ranking,
            kind,
            found[found_offsets[event] : found_offsets[event + 1]],
            cells,
            weights,
            event_offsets[event],
            event_offsets[event + 1],
            stack,
            out_ranks[first:last],
            out_rules[first:last],
        )


@jit
def largest_weights(
    event_offsets: NDArray[np.int64], weights: NDArray[np.float64], first_event: int, out: NDArray[np.float64]
) -> None:
    """Write the largest weight of each event from `first_event` on, as many as `out` has room for."""
    for event in range(out.size):
        out[event] = largest_weight(weights, event_offsets[first_event + event], event_offsets[first_event + event + 1])


@jit
def sort_heaps(ranks: NDArray[np.float64], rules: NDArray[np.int32], n_held: NDArray[np.int64]) -> None:
    """Turn the heaps of several events, a row each, into answers."""
    for event in range(n_held.size):
        sort_heap(ranks[event], rules[event], n_held[event])


def score_steps(program: Program) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where the steps that score each rule begin, and the steps, also where a Program leaves it to the root."""
    programs = score_programs_of(program)
    n_steps, n_levels = np.zeros(program.n_rules, np.int64), len(program.level_offsets) + 1
    count_steps(programs, np.zeros(program.n_nodes, np.int64), n_steps)
    offsets, code = np.zeros(program.n_rules + 1, np.int64), np.empty(n_steps.sum(), np.int32)
    rules = np.arange(program.n_rules, dtype=np.int32)
    write_rule_steps(programs, program.n_literals, new_walk(n_levels), rules, offsets, code)
    return offsets, code[: offsets[-1]]


def new_walk(n_levels: int) -> WalkStack:
    """Scratch of a walk down trees of so many levels."""
    return WalkStack(np.empty(n_levels, np.int32), np.empty(n_levels, np.int64), np.empty(n_levels, np.int64))


class Ranker:
    """What scores the rules of a Program, prepared on first use: matching alone never needs it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.programs = score_programs_of(program)
        self._pool: list[ScoreStack] = []

    @cached_property
    def literals(self) -> ScoreLiterals:
        """The literals, each with what it takes to score it."""
        program = self.program
        plain, domain_begin = literals_of(program), frozen(domain_boundaries(program), np.int32)
        records = np.zeros(FIELDS * program.n_literals, np.int32)
        write_records(*plain, domain_begin, records)
        return ScoreLiterals(*plain[:3], domain_begin, frozen(records, np.int32))

    @cached_property
    def stack_height(self) -> int:
        """How high a score stack must be."""
        return max(int(stack_height(self.programs)), len(self.program.level_offsets)) + 1

    @cached_property
    def bounds(self) -> ScoreBounds:
        """What rules and parts of them score at the most."""
        program, offsets = self.program, np.zeros(self.program.n_rules + 1, np.int32)
        count_operands(self.programs, offsets)
        of_operand, begin, guard = (np.zeros(offsets[-1], dtype) for dtype in (np.float64, np.int32, np.int32))
        made = ScoreBounds(np.zeros(program.n_rules), np.zeros(program.n_nodes), offsets, of_operand, begin, guard)
        node_bounds(program.n_positive, self.programs, made.of_node)
        height = self.stack_height
        score_bounds(program.n_positive, self.programs, np.zeros(height, np.int32), np.zeros(height), made)
        return ScoreBounds(*freeze_all([(array, array.dtype.type) for array in made]))

    @cached_property
    def largest_rules(self) -> NDArray[np.int64]:
        """How many steps the rules have that have the most, as many rules as are written as steps together."""
        n_steps = np.zeros(self.program.n_rules, np.int64)
        count_steps(self.programs, np.zeros(self.program.n_nodes, np.int64), n_steps)
        return np.sort(n_steps)[-AT_ONCE:]

    @contextmanager
    def stack(self) -> Iterator[ScoreStack]:
        """Scratch for one thread, from those that are left of earlier calls."""
        try:
            stack = self._pool.pop()
        except IndexError:
            height, n_domains = self.stack_height, len(self.literals.domain_begin) - 1
            stack = ScoreStack(
                np.zeros(height, np.uint8),
                np.zeros(height),
                np.zeros(height, np.int32),
                np.zeros(height, np.int64),
                EventPlaces(
                    np.zeros(n_domains, np.int64),
                    np.zeros(n_domains, np.int32),
                    np.zeros(self.program.n_literals, np.int64),
                    np.zeros(self.program.n_literals),
                ),
                np.zeros(2, np.int64),
                np.zeros(AT_ONCE, np.int32),
                np.zeros(AT_ONCE),
                np.zeros(AT_ONCE),
            )
        stack.event[1] = NO_EVENT
        yield stack
        self._pool.append(stack)

    @cached_property
    def static_score(self) -> NDArray[np.float64]:
        """The static scores of the Program, also where it has none: a million new zeros per event take long to read."""
        return freeze_static_score(None, self.program)

    def ranking(self, static_score: NDArray[np.float64] | None) -> Ranking:
        """Return what the kernels need to rank."""
        static = self.static_score if static_score is None else freeze_static_score(static_score, self.program)
        return Ranking(static, self.programs, self.bounds)

    def top(
        self,
        batch: EventBatch,
        found: Matches,
        k: int,
        rank: Rank,
        static_score: NDArray[np.float64] | None,
    ) -> Matches:
        """Return the best k of the rules `found`."""
        kind = rank_code(rank)
        check_k(k)
        batch = freeze_batch(batch)
        n_kept = np.minimum(np.diff(found.offsets), k)
        offsets = np.zeros(batch.n_events + 1, np.int64)
        np.cumsum(n_kept, out=offsets[1:])
        rules, ranks = np.zeros(offsets[-1], np.int32), np.zeros(offsets[-1])
        ranking, event = self.ranking(static_score), (batch.offsets, batch.cells, batch.weights)
        found_offsets, found_rules = frozen(found.offsets, np.int64), frozen(found.rule, np.int32)
        with self.stack() as stack:
            out = frozen(offsets, np.int64), ranks, rules
            top_of_batch(self.literals, ranking, kind, found_offsets, found_rules, *event, stack, *out)
        return Matches(offsets, rules, ranks)


class RanksFound(ABC):
    """The base of engines that find all rules of an event before they rank them."""

    _ranker: Ranker

    @abstractmethod
    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        offsets, rules = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
        ranks = [np.zeros(0)]
        for first in range(0, max(batch.n_events, 1), RANKED_AT_ONCE):
            is_whole = batch.n_events <= RANKED_AT_ONCE
            part = batch if is_whole else batch.part(first, min(first + RANKED_AT_ONCE, batch.n_events))
            best = self._ranker.top(part, self.match(part, alive), k, rank, static_score)
            if is_whole:
                return best
            assert best.scores is not None
            offsets.append(best.offsets[1:] + offsets[-1][-1])
            rules.append(best.rule)
            ranks.append(best.scores)
        return Matches(np.concatenate(offsets), np.concatenate(rules), np.concatenate(ranks))

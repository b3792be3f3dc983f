"""`top` for engines that first find an event's rules and then rank them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.access import domain_boundaries
from ruledex.engines.batch.rank_rows import RowScratch, new_row_scratch
from ruledex.engines.inputs import (
    frozen_batch,
    frozen_static_score,
    literals_of,
    rank_code,
    score_programs_of,
)
from ruledex.engines.protocol import Matches, Rank
from ruledex.engines.top import Ranking, top_of_batch
from ruledex.errors import RuledexError
from ruledex.events.batch import EventBatch
from ruledex.forks import cached_property
from ruledex.program.program import Program
from ruledex.program.scores.literals import FIELDS, EventPlaces, ScoreLiterals, write_records
from ruledex.program.scores.run import AT_ONCE, NO_EVENT, ScoreStack, node_bounds, score_bounds, stack_height
from ruledex.program.scores.steps import count_steps


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
    def match_bound(self) -> NDArray[np.float64]:
        """For each rule a match score that it does not exceed while an event's weights are at most 1."""
        bounds = np.zeros(self.program.n_rules)
        of_node = np.zeros(self.program.n_nodes)
        node_bounds(self.program.n_positive, self.programs, of_node)
        score_bounds(self.program.n_positive, self.programs, of_node, np.zeros(self.stack_height), bounds)
        return frozen(bounds, np.float64)

    @cached_property
    def largest_rules(self) -> NDArray[np.int64]:
        """How many steps the rules have that have the most, as many rules as are written as steps together."""
        n_steps = np.zeros(self.program.n_rules, np.int64)
        count_steps(self.programs, np.zeros(self.program.n_nodes, np.int64), n_steps)
        return np.sort(n_steps)[-AT_ONCE:]

    def row_scratch(self) -> RowScratch:
        """Scratch to rank a block of events with."""
        return new_row_scratch(len(self.program.level_offsets) + 1, self.largest_rules)

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
            )
        stack.event[1] = NO_EVENT
        yield stack
        self._pool.append(stack)

    def ranking(self, static_score: NDArray[np.float64] | None) -> Ranking:
        """Return what the kernels need to rank."""
        return Ranking(frozen_static_score(static_score, self.program), self.match_bound, self.programs)

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
        batch = frozen_batch(batch)
        n_kept = np.minimum(np.diff(found.offsets), k)
        offsets = np.zeros(batch.n_events + 1, np.int64)
        np.cumsum(n_kept, out=offsets[1:])
        rules, ranks = np.zeros(offsets[-1], np.int32), np.zeros(offsets[-1])
        with self.stack() as stack:
            top_of_batch(
                self.literals,
                self.ranking(static_score),
                kind,
                frozen(found.offsets, np.int64),
                frozen(found.rule, np.int32),
                batch.offsets,
                batch.cells,
                batch.weights,
                stack,
                frozen(offsets, np.int64),
                ranks,
                rules,
            )
        return Matches(offsets, rules, ranks)


def check_k(k: int) -> int:
    """Return k, the number of rules that are wanted; refuse a negative one."""
    if k < 0:
        raise RuledexError(f"k is {k}, but must be 0 or more")
    return k

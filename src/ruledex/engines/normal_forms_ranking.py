"""top(k) over a normal form: bounds of posting lists, made when they are first needed, and the ranking kernels."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.engines.conjunction_index_postings import new_cursors
from ruledex.engines.inputs import frozen
from ruledex.engines.normal_forms import OUTER, Form, nodes_of
from ruledex.engines.protocol import Matches
from ruledex.engines.ranking import Ranker
from ruledex.kernels.disjunctions import Disjunctions
from ruledex.kernels.normal_forms_bounds import find_plain_rules, item_bounds, list_bounds
from ruledex.kernels.normal_forms_rules import Owners
from ruledex.kernels.normal_forms_top import TopScratch, tops_of_form
from ruledex.kernels.postings import ListBounds, Postings
from ruledex.kernels.score import ScoreStack

ROOM = 1 << 20  # answers that are held for some events at once, unless one event has more


class FormRanker:
    """Finds and ranks in one pass. Of conjunctions, `disjunctions` is empty."""

    def __init__(self, ranker: Ranker, form: Form, index: Postings, disjunctions: Disjunctions, owners: Owners) -> None:
        self._ranker = ranker
        self._form = form
        self._index = index
        self._disjunctions = disjunctions
        self._owners = owners

    @cached_property
    def of_item(self) -> NDArray[np.float64]:
        """For each item what its rules may score, or that they are plain. Matching alone never needs it."""
        program = self._ranker.program
        is_plain = np.zeros(program.n_rules, np.bool_)
        find_plain_rules(nodes_of(program), self._ranker.programs, program.n_literals, OUTER[self._form], is_plain)
        of_item = np.zeros(len(self._owners.offsets) - 1)
        item_bounds(self._owners, is_plain, self._ranker.match_bound, of_item)
        return of_item

    @cached_property
    def bounds(self) -> ListBounds:
        """The upper bound of each list."""
        n_lists = len(self._index.list_partition)
        bounds = ListBounds(np.zeros(n_lists), np.zeros(n_lists))
        list_bounds(self._index, self._disjunctions, self.of_item, bounds)
        return bounds

    def top(
        self,
        batch: EventBatch,
        k: int,
        kind: int,
        alive: NDArray[np.uint8],
        static_score: NDArray[np.float64] | None,
    ) -> Matches:
        """The best k rules of each event of the batch, whose arrays are frozen."""
        k = min(k, self._ranker.program.n_rules)
        if k == 0:
            return Matches(np.zeros(batch.n_events + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        with self._ranker.stack() as stack:
            return self._top(batch, k, kind, alive, static_score, stack)

    def _top(
        self,
        batch: EventBatch,
        k: int,
        kind: int,
        alive: NDArray[np.uint8],
        static_score: NDArray[np.float64] | None,
        stack: ScoreStack,
    ) -> Matches:
        ranking = self._ranker.ranking(static_score)
        living = ranking.static_score[alive != 0] if len(alive) else ranking.static_score
        scratch = TopScratch(
            np.zeros(int(self._disjunctions.n_disjunctions.max(initial=0)), np.int64),
            np.zeros((self._ranker.program.n_rules + 63) >> 6, np.uint64),
            np.zeros(max(int(self._index.partition_size.max(initial=0)), 1)),
            stack,
        )
        cursors = new_cursors(self._index, batch, ranked=True)
        n_rows = max(1, min(batch.n_events, ROOM // k))
        n_held = np.zeros(batch.n_events, np.int64)
        kept_rules, kept_ranks = [np.zeros(0, np.int32)], [np.zeros(0)]
        for first in range(0, batch.n_events, n_rows):
            n_here = min(n_rows, batch.n_events - first)
            ranks, rules = np.zeros((n_here, k)), np.zeros((n_here, k), np.int32)
            tops_of_form(
                self._index,
                self._disjunctions,
                self._owners,
                self.bounds,
                self.of_item,
                self._ranker.literals,
                ranking,
                kind,
                float(living.max(initial=-np.inf)),
                alive,
                batch.offsets,
                batch.cells,
                batch.weights,
                first,
                cursors,
                scratch,
                n_held,
                ranks,
                rules,
            )
            is_held = np.arange(k) < n_held[first : first + n_here, None]
            kept_rules.append(rules[is_held])
            kept_ranks.append(ranks[is_held])
        offsets = np.concatenate([[0], np.cumsum(n_held)])
        return Matches(frozen(offsets, np.int64), np.concatenate(kept_rules), np.concatenate(kept_ranks))

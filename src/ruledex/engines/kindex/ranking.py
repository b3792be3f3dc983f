"""`top` over a normal form: the bounds of posting lists, computed when first needed, and calls of the kernels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.inputs import nodes_of
from ruledex.engines.kindex.hierarchy import make_sources
from ruledex.engines.kindex.matching import Disjunctions, Owners
from ruledex.engines.kindex.normal_forms import OUTER, Form
from ruledex.engines.kindex.plain_rules import find_plain_rules
from ruledex.engines.kindex.posting_lists import new_cursors
from ruledex.engines.kindex.postings import ListBounds, Postings
from ruledex.engines.kindex.top import SLACK, TopScratch, item_bounds, lead_bounds, list_bounds, tops_of_form
from ruledex.engines.protocol import Matches
from ruledex.engines.ranking import Ranker
from ruledex.events.batch import EventBatch
from ruledex.forks import cached_property
from ruledex.program.program import Program
from ruledex.program.scores.run import ScoreStack

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
    def _plain(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which rules are plain, and for each literal a weight that none of these exceeds for it."""
        program = self._ranker.program
        is_plain, largest = np.zeros(program.n_rules, np.bool_), np.zeros(program.n_literals)
        outer = OUTER[self._form]
        find_plain_rules(nodes_of(program), self._ranker.programs, program.n_literals, outer, is_plain, largest)
        return is_plain, largest

    @cached_property
    def of_item(self) -> NDArray[np.float64]:
        """For each item what its rules may score, or that they are plain. Matching alone never needs it."""
        of_item = np.zeros(len(self._owners.offsets) - 1)
        item_bounds(self._owners, self._plain[0], self._ranker.match_bound, of_item)
        return of_item

    @cached_property
    def of_node(self) -> NDArray[np.float64]:
        """UB of each key."""
        return key_bounds(self._ranker.program, self._index, self._plain[1])

    @cached_property
    def bounds(self) -> ListBounds:
        """The upper bound of each list."""
        n_lists = len(self._index.list_partition)
        bounds = ListBounds(np.zeros(n_lists), np.zeros(n_lists))
        list_bounds(self._index, self._disjunctions, self.of_item, self.of_node, bounds)
        return bounds

    @cached_property
    def of_lead(self) -> NDArray[np.float64]:
        """What the predicate that opens a partition may add to a score."""
        bounds = np.zeros(len(self._index.partition_size))
        lead_bounds(self._index, self.of_node, bounds)
        return bounds

    def top(
        self,
        batch: EventBatch,
        k: int,
        kind: int,
        alive: NDArray[np.uint8],
        static_score: NDArray[np.float64] | None,
    ) -> Matches:
        """Return the best k rules of each event of the batch, whose arrays are frozen."""
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
            np.zeros(len(self._index.partition_size), np.int64),
            np.zeros(len(self._index.partition_size)),
            stack,
        )
        # Sums of ones are exact, and what is bounded by a tie is then left out.
        weighs_one = len(batch.weights) == 0 and bool(np.all((self.of_node == 0) | (self.of_node == 1)))
        rounding = 0.0 if weighs_one else SLACK
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
                self.of_lead,
                rounding,
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


def key_bounds(program: Program, index: Postings, largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each node of an index the largest of the weights `largest` of the literals that have it as a key."""
    sources = make_sources(program, None)
    n_tree_nodes = len(index.link_offsets) - 1
    of_node = np.zeros(len(index.node_lists) - 1)
    # Which set of keys each shared set stands for.
    order = np.argsort(index.links, kind="stable")
    linked_from = np.repeat(np.arange(n_tree_nodes, dtype=np.int32), np.diff(index.link_offsets))[order]
    first = np.searchsorted(index.links[order], np.arange(n_tree_nodes, len(of_node) + 1))
    shared = {
        linked_from[begin:end].tobytes(): n_tree_nodes + number
        for number, (begin, end) in enumerate(pairwise(first.tolist()))
    }
    for literal in range(program.n_positive):
        keys = np.sort(sources.keys[sources.key_offsets[literal] : sources.key_offsets[literal + 1]])
        own = shared.get(keys.tobytes(), keys)
        of_node[own] = np.maximum(of_node[own], largest[literal])
    return of_node

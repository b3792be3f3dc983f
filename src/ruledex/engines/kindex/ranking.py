"""Rank rules over a normal form: find which are plain, bound posting lists when that is first needed, call the kernels.

A rule is *plain* where its score is that of the normal form as it is indexed: the paper's own scores (whang2009,
Section 2.4).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import AND, LEAF, OPERATION, OR, STEP_BITS, WEIGH
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.inputs import Nodes, nodes_of
from ruledex.engines.kindex.hierarchy import make_sources
from ruledex.engines.kindex.matching import Disjunctions, Owners
from ruledex.engines.kindex.normal_forms import OUTER, Form
from ruledex.engines.kindex.posting_lists import new_cursors
from ruledex.engines.kindex.postings import ListBounds, Postings
from ruledex.engines.kindex.top import TopScratch, item_bounds, lead_bounds, list_bounds, write_tops
from ruledex.engines.protocol import Matches
from ruledex.engines.ranking import SLACK, Ranker
from ruledex.events.batch import EventBatch
from ruledex.forks import cached_property
from ruledex.program.program import Program
from ruledex.program.scores.run import ScorePrograms

MOST_LITERALS = 512  # of a rule that is looked at
NO_FORM = -1
ROOM = 1 << 20  # answers that are held for some events at once, unless one event has more


@inlined
def _flatten(
    root: int,
    n_literals: int,
    outer: int,
    node_op: NDArray[np.uint8],
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    stack: NDArray[np.int32],
    ends: NDArray[np.int32],
    literals: NDArray[np.int32],
) -> int:
    """Write the clauses of a match tree that is a normal form as it stands; return how many, or `NO_FORM`.

    An AND below an AND and an OR below an OR are one with the node above. A literal that one clause has twice might
    score twice, and then the tree is not such a form.
    """
    n_clauses, n_written, height = 0, 0, 0
    if root >= 0:
        stack[0], height = root, 1
    n_outer = 0  # nodes at the bottom of the stack that are not of the clause at hand
    while height > 0:
        height -= 1
        node = stack[height]
        n_outer = min(n_outer, height)
        first = ends[n_clauses - 1] if n_clauses > 0 else 0
        is_inner = node >= n_literals
        if is_inner and height + child_offsets[node - n_literals + 1] - child_offsets[node - n_literals] > stack.size:
            return NO_FORM
        is_outer = is_inner and node_op[node - n_literals] == outer
        if is_outer and (n_written > first or height > n_outer):
            return NO_FORM
        if is_inner:
            for place in range(child_offsets[node - n_literals], child_offsets[node - n_literals + 1]):
                stack[height] = children[place]
                height += 1
            if is_outer:
                n_outer = height
            continue
        for place in range(first, n_written):
            if literals[place] == node:
                return NO_FORM
        if n_written == literals.size:
            return NO_FORM
        literals[n_written] = node
        n_written += 1
        if height <= n_outer:
            ends[n_clauses] = n_written
            n_clauses += 1
    return n_clauses


@inlined
def _takes_clause(
    clause: NDArray[np.int32],
    first: int,
    last: int,
    n_clauses: int,
    ends: NDArray[np.int32],
    literals: NDArray[np.int32],
    is_taken: NDArray[np.uint8],
) -> bool:
    """Take the clause that has the literals `clause[first:last]`, in any order; return whether there was one."""
    begin = 0
    for number in range(n_clauses):
        end = ends[number]
        n_same = 0
        for place in range(begin, end):
            for other in range(first, last):
                if clause[other] == literals[place]:
                    n_same += 1
                    break
        if is_taken[number] == 0 and end - begin == last - first and n_same == end - begin:
            is_taken[number] = 1
            return True
        begin = end
    return False


@jit
def find_plain_rules(
    nodes: Nodes,
    programs: ScorePrograms,
    n_literals: int,
    outer: int,
    is_plain: NDArray[np.bool_],
    largest: NDArray[np.float64],
) -> None:
    """Note which rules are *plain*: their match tree is a normal form, and their score tree the same form.

    A rule that has no score program is scored by its match tree. One that has is plain where each clause of the score
    tree is another one of the match tree, and only literals have weights. `largest` has one entry per literal, 0
    before, and gets a weight that no plain rule exceeds for it.
    """
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    score_offsets, score_code, score_weight = programs.score_offsets, programs.score_code, programs.score_weight
    stack, ends = np.empty(MOST_LITERALS, np.int32), np.empty(MOST_LITERALS, np.int32)
    literals, clause = np.empty(MOST_LITERALS, np.int32), np.empty(MOST_LITERALS, np.int32)
    is_taken = np.zeros(MOST_LITERALS, np.uint8)
    inner = AND if outer == OR else OR
    for rule in range(is_plain.size):
        first, last = score_offsets[rule], score_offsets[rule + 1]
        n_clauses = _flatten(
            programs.root[rule], n_literals, outer, node_op, child_offsets, children, stack, ends, literals
        )
        plain = n_clauses != NO_FORM and (first == last or n_clauses > 0) and last - first <= clause.size
        is_taken[: max(n_clauses, 0)] = 0
        n_alone, n_joined = 0, 0  # literals of the score tree that no operation has joined, and clauses of those it has
        for place in range(first, last if plain else first):
            operation, argument = score_code[place] & OPERATION, score_code[place] >> STEP_BITS
            if operation == LEAF:
                clause[n_alone] = argument
                n_alone += 1
                follows = score_code[min(place + 1, last - 1)]
                is_weighed = follows & OPERATION == WEIGH
                largest[argument] = max(largest[argument], score_weight[follows >> STEP_BITS] if is_weighed else 1.0)
            elif operation == WEIGH:
                plain = plain and score_code[place - 1] & OPERATION == LEAF
            elif operation == inner and argument <= n_alone:
                n_alone -= argument
                n_joined += 1
                plain = plain and _takes_clause(
                    clause, n_alone, n_alone + argument, n_clauses, ends, literals, is_taken
                )
            else:
                plain = plain and operation == outer and place == last - 1 and argument == n_joined + n_alone
        for alone in range(n_alone):
            plain = plain and _takes_clause(clause, alone, alone + 1, n_clauses, ends, literals, is_taken)
        is_plain[rule] = plain
        if plain and first == last and n_clauses > 0:
            for place in range(ends[n_clauses - 1]):
                largest[literals[place]] = max(largest[literals[place]], 1.0)


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
        item_bounds(self._owners, self._plain[0], self._ranker.bounds.of_rule, of_item)
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
        ranking = self._ranker.ranking(static_score)
        living = ranking.static_score[alive != 0] if len(alive) else ranking.static_score
        with self._ranker.stack() as stack:
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
            index = self._index, self._disjunctions, self._owners, self.bounds, self.of_item, self.of_lead
            how = rounding, self._ranker.literals, ranking, kind, float(living.max(initial=-np.inf))
            events = alive, batch.offsets, batch.cells, batch.weights
            for first in range(0, batch.n_events, n_rows):
                n_here = min(n_rows, batch.n_events - first)
                ranks, rules = np.zeros((n_here, k)), np.zeros((n_here, k), np.int32)
                write_tops(*index, *how, *events, first, cursors, scratch, n_held, ranks, rules)
                is_held = np.arange(k) < n_held[first : first + n_here, None]
                kept_rules.append(rules[is_held])
                kept_ranks.append(ranks[is_held])
        offsets = np.concatenate([[0], np.cumsum(n_held)])
        return Matches(frozen(offsets, np.int64), np.concatenate(kept_rules), np.concatenate(kept_ranks))


def key_bounds(program: Program, index: Postings, largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each node of an index the largest of the weights `largest` of the literals that have it as a key."""
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

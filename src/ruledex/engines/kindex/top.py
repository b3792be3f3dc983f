"""The best rules of an event, found and ranked in one pass that leaves out what cannot be among them (Section 5).

Posting lists have upper bounds, from what the rules of their items may score. The paper's bounds are sums over the keys
of one conjunction, or of one CNF expression. A rule's score is such a sum where its score tree is the very form that is
indexed (ranking.py): there an ∈ entry adds at most UB(A, v), the largest weight that a rule gives a literal of that
key, times the event's weight for it. Of any other rule, only the match score as a whole is bounded; an item of such a
rule is found through at least K lists, so each of its entries carries a K-th of the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.kindex.cursors import NONE, agreed_codes, initialize_current_entries, next_agreement
from ruledex.engines.kindex.matching import Disjunctions, Owners, is_accepted
from ruledex.engines.kindex.postings import ListBounds, PostingCursors, Postings, get_posting_lists
from ruledex.engines.ranking import (
    SLACK,
    Ranking,
    largest_weight,
    least_bound,
    precedes,
    push,
    rank_bound,
    rank_in_event,
    sort_heap,
)
from ruledex.program.scores.literals import ScoreLiterals
from ruledex.program.scores.run import ScoreStack

IS_PLAIN = -1.0  # in place of an item's bound, which is not negative


@jit
def item_bounds(
    owners: Owners, is_plain: NDArray[np.bool_], match_bound: NDArray[np.float64], bounds: NDArray[np.float64]
) -> None:
    """Write for each item `IS_PLAIN`, if all its rules are plain, or else the largest bound of a rule's match score."""
    offsets, rules = owners.offsets, owners.rules
    for item in range(bounds.size):
        all_plain, largest = True, 0.0
        for owner in range(offsets[item], offsets[item + 1]):
            all_plain = all_plain and is_plain[rules[owner]]
            largest = max(largest, match_bound[rules[owner]])
        bounds[item] = IS_PLAIN if all_plain else largest


@jit
def list_bounds(
    index: Postings,
    disjunctions: Disjunctions,
    of_item: NDArray[np.float64],
    of_node: NDArray[np.float64],
    bounds: ListBounds,
) -> None:
    """Write the bounds of all lists, which are all zero before. Of conjunctions, `disjunctions` is empty.

    `of_node` is UB of each key: a weight that no plain rule exceeds for a literal that the node is a key of.
    """
    node_lists, node = index.node_lists, 0
    entries, list_partition, list_offsets = index.entries, index.list_partition, index.list_offsets
    partition_first, partition_shift, sizes = index.partition_first, index.partition_shift, index.partition_size
    n_disjunctions, negative_offsets = disjunctions.n_disjunctions, disjunctions.negative_offsets
    own_weight, share = bounds.own_weight, bounds.share
    is_cnf = n_disjunctions.size != 0
    for number in range(list_partition.size):
        partition = list_partition[number]
        while node_lists[node + 1] <= number:
            node += 1
        shift, first_item = partition_shift[partition], partition_first[partition]
        k = float(max(sizes[partition], 1))
        for place in range(list_offsets[number], list_offsets[number + 1]):
            item, code = first_item + (entries[place] >> shift), entries[place] & ((1 << shift) - 1)
            n_negative = 2 * (negative_offsets[item + 1] - negative_offsets[item]) if is_cnf else 1
            is_in = code >= n_negative
            if of_item[item] != IS_PLAIN:
                is_violation = not is_in and (not is_cnf or code & 1 == 1)
                if not is_violation:
                    share[number] = max(share[number], float(of_item[item]) / k * (1.0 + SLACK))
            elif is_in and (not is_cnf or code < n_negative + n_disjunctions[item]):
                own_weight[number] = of_node[node]


@jit
def lead_bounds(index: Postings, of_node: NDArray[np.float64], bounds: NDArray[np.float64]) -> None:
    """Write for each partition what the predicate that opens it may add to a plain rule's score; all zero before."""
    open_offsets, opens = index.open_offsets, index.opens
    for node in range(open_offsets.size - 1):
        for place in range(open_offsets[node], open_offsets[node + 1]):
            bounds[opens[place]] = max(bounds[opens[place]], of_node[node])


class TopScratch(NamedTuple):
    """What one thread needs beside cursors. `marks` has one bit per rule, none of them set between events."""

    counters: NDArray[np.int64]  # one per disjunction of the largest CNF expression
    marks: NDArray[np.uint64]
    largest: NDArray[np.float64]  # [largest K, and at least 1]
    partitions: NDArray[np.int64]  # [n_partitions]
    promised: NDArray[np.float64]  # [n_partitions]
    stack: ScoreStack


@inlined
def sum_of_largest(bounds: NDArray[np.float64], first: int, last: int, k: int, largest: NDArray[np.float64]) -> float:
    """Return the sum of the k largest bounds of the cursors from `first` up to `last`; there are at least k."""
    n_held = 0
    for cursor in range(first, last):
        bound = bounds[cursor]
        if n_held == k and bound <= largest[0]:
            continue
        # `largest` ascends, so that the one that gives way is the first.
        target = 0 if n_held == k else n_held
        if n_held == k:
            while target + 1 < k and largest[target + 1] < bound:
                largest[target] = largest[target + 1]
                target += 1
        else:
            while target > 0 and largest[target - 1] > bound:
                largest[target] = largest[target - 1]
                target -= 1
            n_held += 1
        largest[target] = bound
    total = 0.0
    for place in range(n_held):
        total += float(largest[place])
    return total


@jit
def order_partitions(
    index: Postings,
    cursors: PostingCursors,
    is_cnf: bool,
    of_lead: NDArray[np.float64],
    largest_of_event: float,
    largest: NDArray[np.float64],
    partitions: NDArray[np.int64],
    promised: NDArray[np.float64],
) -> int:
    """Write the partitions whose lists may be enough for an item, the most promising first; return how many.

    `promised` gets what any of a partition's items scores at the most: the second pruning technique. More than K
    disjunctions may score, so that for CNF all lists count.
    """
    partition_size, partition_lists, bounds = index.partition_size, cursors.partition_lists, cursors.bounds
    n_partitions = 0
    for partition in range(partition_size.size):
        first, last = partition_lists[partition], partition_lists[partition + 1]
        k = max(partition_size[partition], 1)
        if last - first < k:
            continue
        total = 0.0
        if is_cnf:
            for cursor in range(first, last):
                total += float(bounds[cursor])
        else:
            total = sum_of_largest(bounds, first, last, k, largest)
        partitions[n_partitions] = partition
        promised[n_partitions] = total + float(of_lead[partition]) * float(largest_of_event)
        n_partitions += 1
    order = np.argsort(-promised[:n_partitions])
    partitions[:n_partitions] = partitions[:n_partitions][order]
    promised[:n_partitions] = promised[:n_partitions][order]
    return n_partitions


@jit
def write_tops(
    index: Postings,
    disjunctions: Disjunctions,
    owners: Owners,
    bounds_of: ListBounds,
    of_item: NDArray[np.float64],
    of_lead: NDArray[np.float64],
    rounding: float,
    literals: ScoreLiterals,
    ranking: Ranking,
    kind: int,
    highest_static: float,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    first_event: int,
    cursors: PostingCursors,
    scratch: TopScratch,
    n_kept: NDArray[np.int64],
    ranks: NDArray[np.float64],
    rules: NDArray[np.int32],
) -> None:
    """Write the best rules of the events from `first_event` on with their ranks, the best first, and how many.

    `ranks` and `rules` have one row per event, as long as the answer may be, which is not 0. Of conjunctions,
    `disjunctions` is empty. `of_item` are the bounds that those of the lists were made from, and `of_lead` those of
    what opens partitions.
    """
    entries, partition_first = index.entries, index.partition_first
    partition_size, partition_shift = index.partition_size, index.partition_shift
    n_disjunctions, negative_offsets = disjunctions.n_disjunctions, disjunctions.negative_offsets
    negative_disjunction, counters = disjunctions.negative_disjunction, scratch.counters
    partition_lists, place_of, end_of = cursors.partition_lists, cursors.place, cursors.end
    following, p_lists, codes = cursors.following, cursors.p_lists, cursors.codes
    first_on, occupied, bounds = cursors.first_on, cursors.occupied, cursors.bounds
    owner_offsets, owner_rules = owners.offsets, owners.rules
    static_score, match_bound, marks = ranking.static_score, ranking.bounds.of_rule, scratch.marks
    partitions, promised = scratch.partitions, scratch.promised
    for row in range(ranks.shape[0]):
        begin, end = event_offsets[first_event + row], event_offsets[first_event + row + 1]
        best, chosen = ranks[row], rules[row]
        largest_of_event = largest_weight(weights, begin, end)
        if weights.size != 0:
            largest_of_event *= 1.0 + SLACK
        get_posting_lists(index, cursors, bounds_of, cells, weights, begin, end, largest_of_event)
        n_partitions = order_partitions(
            index, cursors, n_disjunctions.size != 0, of_lead, largest_of_event, scratch.largest, partitions, promised
        )
        n_held, worst = 0, -np.inf
        for turn in range(n_partitions):
            if promised[turn] < least_bound(kind, highest_static, 0.0, worst):
                break  # and so do all that promise less
            partition = partitions[turn]
            first, last = partition_lists[partition], partition_lists[partition + 1]
            k = max(partition_size[partition], 1)
            # The predicate that opens the partition is in no list.
            before = float(of_lead[partition]) * float(largest_of_event)
            least = least_bound(kind, highest_static, before, worst)
            code_bits = partition_shift[partition]
            initialize_current_entries(first, last, code_bits, entries, place_of, following, first_on, occupied)
            n_lists, n_taken, current_id = last - first, 0, NONE
            while True:
                n_lists, current_id, n_taken = next_agreement(
                    k,
                    n_lists,
                    n_taken,
                    current_id + 1,
                    code_bits,
                    entries,
                    place_of,
                    end_of,
                    p_lists,
                    following,
                    first_on,
                    occupied,
                    bounds,
                    least,
                )
                if current_id == NONE:
                    break
                n_codes = agreed_codes(n_taken, code_bits, entries, place_of, p_lists, codes)
                number = partition_first[partition] + current_id
                if not is_accepted(
                    number, k, n_codes, codes, n_disjunctions, negative_offsets, negative_disjunction, counters
                ):
                    continue
                # A plain rule's score is that of one of its items: one that scores too little is as good as none.
                is_plain = of_item[number] == IS_PLAIN
                plain_bound = before
                for taken in range(n_taken):
                    plain_bound += float(bounds[p_lists[taken]])
                plain_bound *= 1.0 + rounding
                for owner in range(owner_offsets[number], owner_offsets[number + 1]):
                    rule = owner_rules[owner]
                    word, bit = np.uint64(rule) >> SIX, ONE << (np.uint64(rule) & LOW_SIX)
                    if (alive.size != 0 and alive[rule] == 0) or marks[word] & bit != ZERO:
                        continue
                    bound = rank_bound(kind, static_score[rule], match_bound[rule], largest_of_event)
                    if is_plain:
                        bound = min(bound, rank_bound(kind, static_score[rule], plain_bound, 1.0))
                    if n_held == best.size and not precedes(bound, rule, best[0], chosen[0]):
                        continue
                    marks[word] |= bit
                    rank = rank_in_event(
                        literals,
                        ranking,
                        kind,
                        rule,
                        cells,
                        weights,
                        begin,
                        end,
                        worst,
                        largest_of_event,
                        scratch.stack,
                    )
                    if n_held < best.size or precedes(rank, rule, best[0], chosen[0]):
                        n_held = push(best, chosen, n_held, rank, rule)
                        worst = best[0] if n_held == best.size else -np.inf
                        least = least_bound(kind, highest_static, before, worst)
        marks[:] = ZERO
        sort_heap(best, chosen, n_held)
        n_kept[first_event + row] = n_held

"""Upper bounds of posting lists, from what their items' rules may score (whang2009, Section 5).

The paper's bounds are sums over the keys of one conjunction, or of one CNF expression. A rule's score is such a sum
where its score tree is the very form that is indexed (kernels/normal_forms_plain.py): there an ∈ entry adds at most
UB(A, v), the largest weight that a rule gives a literal of that key, times the event's weight for it. Of any other rule
only the match score as a whole is bounded; an item of such a rule is found through K lists at the least, so that each
of its entries carries a K-th of the bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.disjunctions import Disjunctions
from ruledex.kernels.jit import jit
from ruledex.kernels.normal_forms_rules import Owners
from ruledex.kernels.postings import ListBounds, Postings
from ruledex.kernels.top import PRODUCT, SUM

# What a sum of bounds may lack for rounding is less than this part of it. Sums of ones lack nothing.
SLACK = 1e-9
IS_PLAIN = -1.0  # in place of an item's bound, which is not negative


@jit
def item_bounds(
    owners: Owners, is_plain: NDArray[np.bool_], match_bound: NDArray[np.float64], bounds: NDArray[np.float64]
) -> None:
    """For each item `IS_PLAIN`, where all its rules are plain, or else the largest bound of a rule's match score."""
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
    """For each partition what the predicate that opens it may add to a plain rule's score; all zero before."""
    open_offsets, opens = index.open_offsets, index.opens
    for node in range(open_offsets.size - 1):
        for place in range(open_offsets[node], open_offsets[node + 1]):
            bounds[opens[place]] = max(bounds[opens[place]], of_node[node])


@jit
def least_bound(kind: int, highest_static: float, before: float, worst: float) -> float:
    """The least sum of bounds, beside `before`, with which a rule may still rank as high as `worst`.

    `highest_static` is the highest of all rules; `worst` is -inf as long as any rank will do.
    """
    if kind == SUM and abs(worst) < np.inf:
        return worst - highest_static - before - SLACK * (abs(worst) + abs(highest_static) + before)
    if kind == PRODUCT and 0.0 < worst < np.inf:
        return worst / highest_static * (1.0 - SLACK) - before * (1.0 + SLACK) if highest_static > 0.0 else np.inf
    return -np.inf

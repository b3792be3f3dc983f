"""Upper bounds of posting lists, from what their items' rules may score (whang2009, Section 5).

The paper's bounds are sums over the keys of one conjunction, or of one CNF expression. A rule's score is such a sum
where its score tree is the very form that is indexed: there an ∈ entry adds at most its literal's weight times the
event's weight for it. Of any other rule only the match score as a whole is bounded; an item of such a rule is found
through K lists at the least, so that each of its entries carries a K-th of the bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.disjunctions import Disjunctions
from ruledex.kernels.jit import jit
from ruledex.kernels.normal_forms_rules import Owners
from ruledex.kernels.postings import ListBounds, Postings
from ruledex.kernels.scan import Nodes
from ruledex.kernels.score import ScorePrograms
from ruledex.kernels.top import PRODUCT, SUM

# What a sum of bounds may lack for rounding is less than this part of it. Sums of ones lack nothing.
SLACK = 1e-9
IS_PLAIN = -1.0  # in place of an item's bound, which is not negative


@jit
def find_plain_rules(
    nodes: Nodes, programs: ScorePrograms, n_literals: int, outer: int, is_plain: NDArray[np.bool_]
) -> None:
    """Note which rules are scored by their match trees, having no program, and are a normal form as they stand."""
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    for rule in range(is_plain.size):
        root = programs.root[rule]
        plain = programs.score_offsets[rule] == programs.score_offsets[rule + 1]
        if plain and root >= n_literals:
            inner = root - n_literals
            for place in range(child_offsets[inner], child_offsets[inner + 1]):
                child = children[place] - n_literals
                if child < 0:
                    continue
                plain = plain and node_op[inner] == outer and node_op[child] != outer
                for other in range(child_offsets[child], child_offsets[child + 1]):
                    plain = plain and children[other] < n_literals
        is_plain[rule] = plain


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
def list_bounds(index: Postings, disjunctions: Disjunctions, of_item: NDArray[np.float64], bounds: ListBounds) -> None:
    """Write the bounds of all lists, which are all zero before. Of conjunctions, `disjunctions` is empty."""
    entries, list_partition, list_offsets = index.entries, index.list_partition, index.list_offsets
    partition_first, partition_shift, sizes = index.partition_first, index.partition_shift, index.partition_size
    n_disjunctions, negative_offsets = disjunctions.n_disjunctions, disjunctions.negative_offsets
    own_weight, share = bounds.own_weight, bounds.share
    is_cnf = n_disjunctions.size != 0
    for number in range(list_partition.size):
        partition = list_partition[number]
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
                own_weight[number] = 1.0


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

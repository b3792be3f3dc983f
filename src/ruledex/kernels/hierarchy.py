"""The hierarchy of cells (whang2009, Section 2.3): a range of cells is a few nodes of a tree over its domain.

Each domain has a tree of its own. On level 0 a node is a cell; on each level above, a node stands for `ARITY`
neighbours below it, and the topmost level has one node. The nodes of a domain have consecutive numbers, level by
level from the bottom up. A literal is written as the fewest nodes whose cells are its own, and an event's cell
stands for itself and all nodes above it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.literals import first_at_least

LEVEL_BITS = 2  # with 1 an event has twice as many nodes to look at, with 3 a range has half as many keys again
ARITY = 1 << LEVEL_BITS


class Hierarchy(NamedTuple):
    """The trees of all domains."""

    domain_offsets: NDArray[np.int32]  # [n_domains + 1] cells
    domain_nodes: NDArray[np.int32]  # [n_domains + 1] the first node of each


@jit
def write_keys(
    hierarchy: Hierarchy,
    interval_offsets: NDArray[np.int64],
    interval_low: NDArray[np.int32],
    interval_high: NDArray[np.int32],
    key_offsets: NDArray[np.int64],
    keys: NDArray[np.int32],
) -> int:
    """Write the nodes of each set of intervals, and where each set's nodes end; return how many nodes there are.

    Intervals lie within one domain. With an empty `keys` nothing is written but the offsets, so that a first call
    tells how much room a second one needs.
    """
    domain_offsets, domain_nodes = hierarchy.domain_offsets, hierarchy.domain_nodes
    n_domains = domain_offsets.size - 1
    n_keys = 0
    for literal in range(interval_offsets.size - 1):
        for interval in range(interval_offsets[literal], interval_offsets[literal + 1]):
            domain = first_at_least(domain_offsets, 0, n_domains + 1, interval_low[interval] + 1) - 1
            begin = domain_offsets[domain]
            low, high = interval_low[interval] - begin, interval_high[interval] - begin
            node = domain_nodes[domain]
            last = domain_offsets[domain + 1] - begin - 1  # the last node of the level
            while low <= high:
                if low == high:
                    if keys.size != 0:
                        keys[n_keys] = node + low
                    n_keys += 1
                    break
                while low <= high and low & (ARITY - 1) != 0:
                    if keys.size != 0:
                        keys[n_keys] = node + low
                    n_keys += 1
                    low += 1
                # The last node of a level may have fewer neighbours than others: with it its parent is whole.
                while low <= high and (high + 1) & (ARITY - 1) != 0 and high != last:
                    if keys.size != 0:
                        keys[n_keys] = node + high
                    n_keys += 1
                    high -= 1
                node += last + 1
                # An empty rest stays empty: what is left of it would otherwise become a node above.
                low, high, last = (low >> LEVEL_BITS), (high >> LEVEL_BITS) if low <= high else -1, last >> LEVEL_BITS
        key_offsets[literal + 1] = n_keys
    return n_keys

"""The hierarchy of cells (whang2009, Section 2.3): a range of cells is a few nodes of a tree over its domain.

Each domain has a tree of its own. On level 0 a node is a cell; on each level above, a node stands for `ARITY`
neighbours below it, and the topmost level has one node. The nodes of a domain have consecutive numbers, level by
level from the bottom up. A literal is written as the fewest nodes whose cells are its own, and an event's cell
stands for itself and all nodes above it. The sets of cells that predicates name, the *sources*, become keys: nodes of
these trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import EVERY
from ruledex.compiled.decorator import jit
from ruledex.compiled.lists import first_at_least
from ruledex.engines.access import cell_frequencies, domain_boundaries
from ruledex.engines.inputs import LARGEST
from ruledex.engines.protocol import Statistics
from ruledex.errors import RuledexError
from ruledex.program.program import Program

LEVEL_BITS = 2  # with 1 an event has twice as many nodes to look at, with 3 a range has half as many keys again
ARITY = 1 << LEVEL_BITS
N_SHARED = 4  # uses from which on a set of several nodes is worth a node of its own


class Hierarchy(NamedTuple):
    """The trees of all domains."""

    domain_offsets: NDArray[np.int32]  # [n_domains + 1] cells
    domain_nodes: NDArray[np.int32]  # [n_domains + 1] the first node of each


@jit
def write_interval_keys(
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


class Sources(NamedTuple):
    """Sets of cells: first one for each positive literal, then one for each presence cell that no literal is.

    The cells of a source are those of the nodes `keys[key_offsets[s]:key_offsets[s + 1]]` together. `links` lead from
    nodes of the trees to the nodes of shared sets, which have the numbers behind them.
    """

    hierarchy: Hierarchy
    n_nodes: int
    key_offsets: NDArray[np.int64]  # [n_sources + 1]
    keys: NDArray[np.int32]
    link_offsets: NDArray[np.int32]  # [n_tree_nodes + 1]
    links: NDArray[np.int32]
    presence: NDArray[np.int32]  # [n_negative] the source of each negative literal's presence cell
    every: int  # the source that each event has
    probability: NDArray[np.float64]  # [n_sources] how often an event is in it, by what is known

    @property
    def n_sources(self) -> int:
        """How many sources there are."""
        return len(self.key_offsets) - 1


def make_hierarchy(program: Program) -> tuple[Hierarchy, int]:
    """Return the trees of all domains, and how many nodes they have."""
    boundaries = domain_boundaries(program)
    width = np.diff(boundaries).astype(np.int64)
    n_nodes = width.copy()
    while np.any(width > 1):
        width = np.where(width > 1, ((width - 1) >> LEVEL_BITS) + 1, 0)
        n_nodes += width
    nodes = np.concatenate([[0], np.cumsum(n_nodes)])
    if nodes[-1] > LARGEST:
        raise RuledexError(f"the rules name {program.n_cells:,} cells, too many for one index; build several indexes")
    return Hierarchy(frozen(boundaries, np.int32), frozen(nodes, np.int32)), int(nodes[-1])


def make_sources(program: Program, statistics: Statistics | None) -> Sources:
    """Return the sources of all literals with their keys in the trees; no set is shared yet."""
    hierarchy, n_nodes = make_hierarchy(program)
    _refuse_wide_intervals(program, hierarchy.domain_offsets)
    cells, of_negative = np.unique(np.append(program.negative_presence, EVERY), return_inverse=True)
    of_cell = program.n_positive + np.arange(len(cells))
    # A literal of that one cell and no other is the same predicate.
    literal = np.flatnonzero(np.diff(program.interval_offsets) == 1)
    interval = program.interval_offsets[literal]
    is_point = program.interval_low[interval] == program.interval_high[interval]
    literal, point = literal[is_point], program.interval_low[interval[is_point]]
    place = np.minimum(np.searchsorted(cells, point), len(cells) - 1)
    is_presence = cells[place] == point
    of_cell[place[is_presence]] = literal[is_presence]

    interval_offsets = frozen(
        np.concatenate([program.interval_offsets, program.interval_offsets[-1] + np.arange(1, len(cells) + 1)]),
        np.int64,
    )
    low = frozen(np.concatenate([program.interval_low, cells]), np.int32)
    high = frozen(np.concatenate([program.interval_high, cells]), np.int32)
    key_offsets = np.zeros(len(interval_offsets), np.int64)
    n_keys = write_interval_keys(hierarchy, interval_offsets, low, high, key_offsets, np.zeros(0, np.int32))
    keys = np.zeros(n_keys, np.int32)
    write_interval_keys(hierarchy, interval_offsets, low, high, key_offsets, keys)
    presence = of_cell[of_negative].astype(np.int32)
    before = np.concatenate([[0.0], np.cumsum(cell_frequencies(program, statistics))])
    within = np.concatenate([[0.0], np.cumsum(before[high + 1] - before[low])])
    return Sources(
        hierarchy,
        n_nodes,
        key_offsets,
        keys,
        np.zeros(n_nodes + 1, np.int32),
        np.zeros(0, np.int32),
        presence[:-1],
        int(presence[-1]),
        np.minimum(np.diff(within[interval_offsets]), 1.0),
    )


def with_shared_sets(sources: Sources, n_uses: NDArray[np.integer]) -> Sources:
    """Return the sources with a node for each that has several keys and is used often: one entry per use, not many."""
    n_keys = np.diff(sources.key_offsets)
    is_shared = (n_keys > 1) & (n_uses >= N_SHARED)
    shared_key = np.repeat(is_shared, n_keys)
    node_of_set = np.cumsum(is_shared) - 1 + sources.n_nodes
    link_from, link_to = sources.keys[shared_key], np.repeat(node_of_set, n_keys)[shared_key]
    order = np.argsort(link_from, kind="stable")
    key_offsets = np.concatenate([[0], np.cumsum(np.where(is_shared, 1, n_keys))])
    keys = np.zeros(key_offsets[-1], np.int32)
    stays = np.repeat(~is_shared, np.diff(key_offsets))
    keys[stays] = sources.keys[~shared_key]
    keys[~stays] = node_of_set[is_shared]
    link_offsets = np.zeros(sources.n_nodes + 1, np.int32)
    np.cumsum(np.bincount(link_from, minlength=sources.n_nodes), out=link_offsets[1:])
    return sources._replace(
        n_nodes=sources.n_nodes + int(np.sum(is_shared)),
        key_offsets=key_offsets,
        keys=keys,
        link_offsets=link_offsets,
        links=link_to[order].astype(np.int32),
    )


def _refuse_wide_intervals(program: Program, boundaries: NDArray[np.int32]) -> None:
    domain = np.searchsorted(boundaries, program.interval_low, side="right")
    if np.any(program.interval_high >= boundaries[domain]):
        raise RuledexError("an interval of a literal reaches past the end of its domain")

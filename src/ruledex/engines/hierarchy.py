"""The trees over a Program's cells, and the sets of cells that predicates name, as keys of those trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.program import EVERY, Program
from ruledex.engines.access import cell_frequencies, domain_boundaries
from ruledex.engines.inputs import frozen
from ruledex.engines.protocol import Statistics
from ruledex.errors import RuledexError
from ruledex.kernels.hierarchy import LEVEL_BITS, Hierarchy, write_keys

N_SHARED = 4  # uses from which on a set of several nodes is worth a node of its own


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
        """How many."""
        return len(self.key_offsets) - 1


def make_hierarchy(program: Program) -> tuple[Hierarchy, int]:
    """The trees of all domains, and how many nodes they have."""
    boundaries = domain_boundaries(program)
    width = np.diff(boundaries).astype(np.int64)
    n_nodes = width.copy()
    while np.any(width > 1):
        width = np.where(width > 1, ((width - 1) >> LEVEL_BITS) + 1, 0)
        n_nodes += width
    nodes = np.concatenate([[0], np.cumsum(n_nodes)])
    if nodes[-1] > np.iinfo(np.int32).max:
        raise RuledexError(f"the rules name {program.n_cells:,} cells, too many for one index; build several indexes")
    return Hierarchy(frozen(boundaries, np.int32), frozen(nodes, np.int32)), int(nodes[-1])


def make_sources(program: Program, statistics: Statistics | None) -> Sources:
    """The sources of all literals with their keys in the trees; no set is shared yet."""
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
    n_keys = write_keys(hierarchy, interval_offsets, low, high, key_offsets, np.zeros(0, np.int32))
    keys = np.zeros(n_keys, np.int32)
    write_keys(hierarchy, interval_offsets, low, high, key_offsets, keys)
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
    """The same, with a node for each source of several keys that is used often: one entry a use instead of many."""
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
        raise RuledexError("an interval of a literal reaches over the end of its domain")

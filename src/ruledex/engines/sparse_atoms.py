"""The atoms of the `sparse` engine: the distinct intervals of all literals, ordered so that true ones lie together.

Where a domain's values are compared with `<=` alone, those literals that hold of a value are the ones whose bound is
not below it: sorted by their bounds, a run to the end. Likewise `>=`. All other intervals hang on the nodes of an
interval tree over the domain's cells: on the cell of the interval that has the most trailing zeros, counted from 1. A
value visits one node for each number of trailing zeros that is used at all (none where there are only points); at a
node to its right it finds a run of the intervals sorted by their low ends, at one to its left a prefix of those
sorted by their high ends. Each atom is held twice at the most, however wide it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.program import ALWAYS, EVERY, Program
from ruledex.engines.access import domain_boundaries
from ruledex.errors import RuledexError

AT_MOST, AT_LEAST, TREE = 0, 1, 2


class Atoms(NamedTuple):
    """Atoms in their final order, and the atom of each interval of the Program."""

    domain_offsets: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    at_most_offsets: NDArray[np.int32]
    at_least_offsets: NDArray[np.int32]
    tree_levels: NDArray[np.int64]
    tree_offsets: NDArray[np.int32]
    tree_by_high: NDArray[np.int32]
    of_interval: NDArray[np.int32]
    every: int  # the atom that each event hits, or -1 where no rule needs it


def make_atoms(program: Program) -> Atoms:
    """Collect the intervals of a Program and put them in order."""
    needs_every = bool(np.any(program.root == ALWAYS))
    keys = program.interval_low.astype(np.int64) << 32 | program.interval_high
    distinct, atom_of_key = np.unique(
        np.append(keys, [EVERY] if needs_every else []).astype(np.int64), return_inverse=True
    )
    low, high = distinct >> 32, distinct & 0xFFFFFFFF

    boundaries = domain_boundaries(program)
    n_domains = len(boundaries) - 1
    domain = np.searchsorted(boundaries, low, side="right") - 1
    domain_begin, domain_last = boundaries[domain], boundaries[domain + 1] - 1
    if np.any(high > domain_last):
        raise RuledexError("an interval of a literal reaches over the end of its domain")
    kind = np.where(low == domain_begin, AT_MOST, np.where(high == domain_last, AT_LEAST, TREE))
    node, level = _tree_nodes(low - domain_begin + 1, high - domain_begin + 1)
    node += domain_begin - 1

    order = np.lexsort((np.where(kind == AT_MOST, high, low), np.where(kind == TREE, node, domain), kind))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    n_at_most, n_at_least = int(np.sum(kind == AT_MOST)), int(np.sum(kind == AT_LEAST))
    first_in_tree = n_at_most + n_at_least
    all_domains = np.arange(n_domains + 1)
    in_tree = order[first_in_tree:]
    tree_levels = np.zeros(n_domains, np.int64)
    wide = in_tree[level[in_tree] >= 0]
    np.bitwise_or.at(tree_levels, domain[wide], np.int64(1) << level[wide])
    of_interval = rank[atom_of_key]
    return Atoms(
        domain_offsets=boundaries,
        low=low[order].astype(np.int32),
        high=high[order].astype(np.int32),
        at_most_offsets=_offsets(domain[order[:n_at_most]], all_domains, 0),
        at_least_offsets=_offsets(domain[order[n_at_most:first_in_tree]], all_domains, n_at_most),
        tree_levels=tree_levels,
        tree_offsets=_offsets(node[in_tree], np.arange(program.n_cells + 1), first_in_tree),
        tree_by_high=rank[in_tree[np.lexsort((-high[in_tree], node[in_tree]))]],
        of_interval=of_interval[: len(keys)],
        every=int(of_interval[-1]) if needs_every else -1,
    )


def _tree_nodes(low: NDArray[np.int64], high: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For intervals counted from 1, their node and its trailing zeros; -1 for points, which hang on themselves."""
    _, bit_length = np.frexp((low ^ high).astype(np.float64))
    level = bit_length.astype(np.int64) - 1
    shift = np.maximum(level, 0)
    return np.where(level >= 0, (high >> shift) << shift, low), level


def _offsets(sorted_keys: NDArray[np.int64], keys: NDArray[np.int64], first: int) -> NDArray[np.int32]:
    return (first + np.searchsorted(sorted_keys, keys)).astype(np.int32)

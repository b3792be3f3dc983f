"""From a Program to the arrays of `sparse`; kernels.py says what they mean.

The *atoms* are the distinct intervals of all literals, ordered so that true ones lie together. Where values of a domain
are compared with `<=` alone, the literals that hold of a value are those whose bound is not below it: sorted by their
bounds, they are a run to the end. `>=` is alike. All other intervals hang on the nodes of an interval tree over the
domain's cells: on the cell of the interval that has the most trailing zeros, counted from 1. A value visits one node
for each number of trailing zeros that is used at all (none where there are only points). At a node to its right it
finds a run of the intervals sorted by their low ends, at a node to its left a prefix of those sorted by their high
ends. Each atom is stored at most twice, however wide it is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import ALWAYS, AND, EVERY
from ruledex.engines.access import AT_ONCE, domain_boundaries, node_probabilities
from ruledex.engines.inputs import LARGEST
from ruledex.engines.protocol import Statistics
from ruledex.engines.sparse.demand import Access, choose_access
from ruledex.engines.sparse.groups import group_by_keys
from ruledex.engines.sparse.kernels import SparseIndex
from ruledex.errors import RuledexError
from ruledex.program.program import Program

AT_MOST, AT_LEAST, TREE = 0, 1, 2
WORD = 64  # regions of places begin at a word of their own


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
        raise RuledexError("an interval of a literal reaches past the end of its domain")
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


class Places(NamedTuple):
    """Where each node of the Program has its bit, and which nodes are verified late or are a rule's sink themselves."""

    of_node: NDArray[np.int32]
    negative_order: NDArray[np.int64]  # negative literals by their presence cells
    is_late: NDArray[np.bool_]  # [n_inner] AND nodes with a child above the level of their access child
    is_sink: NDArray[np.bool_]  # [n_inner] nodes of one rule that no other node uses
    level_slots: NDArray[np.int32]
    late_order: NDArray[np.int64]  # inner nodes that are verified late, in the order of their places
    first_union: int
    first_negative: int
    end_of_negatives: int
    first_sink: int


def build_sparse_index(program: Program, statistics: Statistics | None) -> SparseIndex:
    """Compute the index."""
    probability = node_probabilities(program, statistics)
    access = choose_access(program, probability)
    program, access, probability = group_by_keys(program, access, probability)
    atoms = make_atoms(program)
    places = _assign_places(program, atoms, access, probability)
    n_sources = places.first_sink + 1
    or_offsets, or_edges = _or_edges(program, atoms, places, access)
    and_nodes = np.flatnonzero((program.node_op == AND) & ~places.is_late)
    and_sources = places.of_node[access.children[program.child_offsets[and_nodes]]]
    and_order = np.argsort(and_sources, kind="stable")
    and_edges, and_rest = _and_edges(program, places, access, and_nodes[and_order])
    edge_offsets = np.stack([or_offsets, _counted(and_sources, n_sources).astype(np.int32)], axis=1)
    del or_offsets, and_sources
    verify_offsets, verify_slots = _conditions(program, places, access, places.late_order)
    union_offsets, union_slots = _unions(program, atoms, places)
    presences, presence_offsets = np.unique(program.negative_presence[places.negative_order], return_index=True)
    _require_room("edges", max(len(or_edges), and_edges.size))
    return SparseIndex(
        domain_offsets=frozen(atoms.domain_offsets, np.int32),
        atom_low=frozen(atoms.low, np.int32),
        atom_high=frozen(atoms.high, np.int32),
        at_most_offsets=frozen(atoms.at_most_offsets, np.int32),
        at_least_offsets=frozen(atoms.at_least_offsets, np.int32),
        tree_levels=frozen(atoms.tree_levels, np.int64),
        tree_offsets=frozen(atoms.tree_offsets, np.int32),
        tree_by_high=frozen(atoms.tree_by_high, np.int32),
        union_offsets=frozen(union_offsets, np.int32),
        union_slots=frozen(union_slots, np.int32),
        presence_cells=frozen(presences, np.int32),
        presence_offsets=frozen(np.append(presence_offsets, len(places.negative_order)), np.int32),
        negative_slots=frozen(places.of_node[program.negative_of[places.negative_order]], np.int32),
        edge_offsets=frozen(edge_offsets.reshape(-1), np.int32),
        or_edges=frozen(or_edges, np.int32),
        and_edges=frozen(and_edges.reshape(-1), np.int32),
        and_rest=frozen(and_rest, np.int32),
        verify_offsets=frozen(verify_offsets, np.int32),
        verify_slots=frozen(verify_slots, np.int32),
        level_slots=frozen(places.level_slots, np.int32),
        places=frozen(
            np.array(
                [places.first_union, places.first_negative, places.end_of_negatives, places.first_sink, program.n_rules]
            ),
            np.int64,
        ),
    )


def _assign_places(
    program: Program,
    atoms: Atoms,
    access: Access,
    probability: NDArray[np.float64],
) -> Places:
    n_literals, n_inner = program.n_literals, len(program.node_op)
    of_node = np.zeros(program.n_nodes, np.int64)
    n_intervals = np.diff(program.interval_offsets)
    is_union = n_intervals != 1
    first_union = _aligned(len(atoms.low))
    positive = np.flatnonzero(~is_union)
    of_node[positive] = atoms.of_interval[program.interval_offsets[positive]]
    of_node[np.flatnonzero(is_union)] = first_union + np.arange(np.sum(is_union))
    first_negative = _aligned(first_union + int(np.sum(is_union)))
    negative_order = np.argsort(program.negative_presence, kind="stable")
    of_node[program.n_positive + negative_order] = first_negative + np.arange(len(negative_order))
    end_of_negatives = first_negative + len(negative_order)

    inner_level = access.level[n_literals:]
    access_level = access.level[access.children[program.child_offsets[:-1]]] if n_inner else np.zeros(0, np.int64)
    is_late = (program.node_op == AND) & (access_level != inner_level - 1)
    n_rules_of = np.bincount(program.root[program.root >= 0], minlength=program.n_nodes)
    has_parent = np.zeros(program.n_nodes, np.bool_)
    has_parent[program.children] = True
    is_sink = ~is_late & ~has_parent[n_literals:] & (n_rules_of[n_literals:] == 1)

    # Within a level, what is often true lies together: those are the places whose edges are followed.
    inner_order = np.lexsort((-probability[n_literals:], ~is_late, inner_level))
    inner_order = inner_order[~(is_sink | access.on_demand[n_literals:])[inner_order]]
    late_order = inner_order[is_late[inner_order]]
    level_slots = []
    next_place, n_late = _aligned(end_of_negatives), 0
    bounds = np.searchsorted(inner_level[inner_order], np.arange(1, np.max(inner_level, initial=0) + 2))
    for begin, end in pairwise(bounds.tolist()):
        n_late_here = int(np.sum(is_late[inner_order[begin:end]]))
        first_other = _aligned(next_place + n_late_here)
        nodes = n_literals + inner_order[begin:end]
        of_node[nodes[:n_late_here]] = next_place + np.arange(n_late_here)
        of_node[nodes[n_late_here:]] = first_other + np.arange(end - begin - n_late_here)
        last = first_other + end - begin - n_late_here
        if begin < end:
            level_slots.append((next_place, first_other, last, n_late))
        next_place, n_late = _aligned(last), n_late + n_late_here
    rules = np.flatnonzero(program.root >= n_literals)
    rules = rules[is_sink[program.root[rules] - n_literals]]
    of_node[program.root[rules]] = next_place + rules
    _require_room("places", next_place + program.n_rules)
    return Places(
        of_node=of_node.astype(np.int32),
        negative_order=negative_order,
        is_late=is_late,
        is_sink=is_sink,
        level_slots=np.array(level_slots, np.int32).reshape(-1, 4),
        late_order=late_order,
        first_union=first_union,
        first_negative=first_negative,
        end_of_negatives=end_of_negatives,
        first_sink=next_place,
    )


def _or_edges(
    program: Program, atoms: Atoms, places: Places, access: Access
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """From every child to ORs that are told, from access children to what is verified late, from roots to sinks.

    Returns where the edges of each place begin, and the places that they lead to.
    """
    n_literals, children, of_node = program.n_literals, access.children, places.of_node
    n_children = np.diff(program.child_offsets)
    is_told = (program.node_op != AND) & ~access.on_demand[n_literals:]
    below_or = np.repeat(is_told, n_children)
    late = np.flatnonzero(places.is_late)
    rules = np.flatnonzero(program.root >= 0)
    is_inner = program.root[rules] >= n_literals
    merged = np.zeros(len(rules), np.bool_)
    merged[is_inner] = places.is_sink[program.root[rules[is_inner]] - n_literals]
    rules = rules[~merged]
    always = np.flatnonzero(program.root == ALWAYS)
    # There are many edges: each is one number, which is sorted in place.
    edges = np.concatenate(
        [
            of_node[children[below_or]],
            of_node[children[program.child_offsets[late]]],
            of_node[program.root[rules]],
            np.full(len(always), atoms.every, np.int32),
        ],
        dtype=np.int64,
    )
    offsets = _counted(edges, places.first_sink + 1).astype(np.int32)
    edges <<= 32
    end = 0
    for targets in (
        np.repeat(of_node[n_literals:][is_told], n_children[is_told]),
        of_node[n_literals + late],
        places.first_sink + rules,
        places.first_sink + always,
    ):
        begin, end = end, end + len(targets)
        edges[begin:end] |= targets
    edges.sort()
    edges &= 0xFFFFFFFF
    return offsets, edges.astype(np.int32)


def _and_edges(
    program: Program, places: Places, access: Access, nodes: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Triples in the order of `nodes`, and the further conditions, of which place 0 has none.

    Where all other children are ORs on demand, the access child is the second one too.
    """
    edges = np.empty((len(nodes), 3), np.int32)
    rests, n_rest = [np.zeros(1, np.int32)], 1
    for begin in range(0, len(nodes), AT_ONCE):
        here = nodes[begin : begin + AT_ONCE]
        offsets, conditions = _conditions(program, places, access, here)
        first = conditions[offsets[:-1]]
        has_second = first >= 0
        lengths = np.diff(offsets) - has_second
        some = lengths > 0
        starts = np.cumsum(lengths + some) - (lengths + some)
        rest = np.zeros(int(np.sum(lengths + some)), np.int32)
        rest[starts[some]] = lengths[some]
        rest[_joined(starts + 1, lengths)] = conditions[_joined(offsets[:-1] + has_second, lengths)]
        _require_room("edges", n_rest + len(rest))
        of_here = edges[begin : begin + AT_ONCE]
        of_here[:, 0] = places.of_node[program.n_literals + here]
        of_here[:, 1] = np.where(has_second, first, places.of_node[access.children[program.child_offsets[here]]])
        of_here[:, 2] = np.where(some, n_rest + starts, 0)
        rests.append(rest)
        n_rest += len(rest)
    return edges, np.concatenate(rests)


def _conditions(
    program: Program, places: Places, access: Access, nodes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Return what must be true of AND nodes besides their access children, and where each node's begins.

    A condition is a place, or for an OR on demand minus the number of its children and their places, frequent ones
    first. An AND that is not known in time stands as its children.
    """
    is_and = np.zeros(program.n_nodes, np.bool_)
    is_and[program.n_literals :] = program.node_op == AND
    n_others = program.child_offsets[nodes + 1] - program.child_offsets[nodes] - 1
    child = access.children[_joined(program.child_offsets[nodes] + 1, n_others)]
    owner: NDArray[np.integer] = np.repeat(np.arange(len(nodes), dtype=np.int32), n_others)
    known = access.level[program.n_literals + nodes] - 1
    while np.any(is_open := is_and[child] & (access.level[child] > known[owner])):
        child, owner = _opened(program, access, child, owner, is_open)
    of_owner = np.bincount(owner, minlength=len(nodes))
    is_choice = access.on_demand[child]
    if not np.any(is_choice):
        return np.concatenate([[0], np.cumsum(of_owner)]), places.of_node[child]
    choice = child[is_choice]
    of_child: NDArray[np.integer] = np.flatnonzero(is_choice)
    while np.any(is_open := access.on_demand[choice]):
        choice, of_child = _opened(program, access, choice, of_child, is_open)
    n_choices = np.bincount(of_child, minlength=len(child))
    lengths = 1 + n_choices
    starts = np.cumsum(lengths) - lengths
    conditions = np.zeros(int(np.sum(lengths)), np.int64)
    conditions[starts] = np.where(is_choice, -n_choices, places.of_node[child])
    conditions[_joined(starts + 1, n_choices)] = places.of_node[choice]
    of_owner = np.bincount(owner, lengths, minlength=len(nodes)).astype(np.int64)
    return np.concatenate([[0], np.cumsum(of_owner)]), conditions


def _opened(
    program: Program, access: Access, nodes: NDArray[np.int32], owner: NDArray[np.integer], is_open: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.integer]]:
    """Put the children of some nodes in the nodes' places, an AND's as they stand and an OR's from the last on."""
    inner = nodes[is_open] - program.n_literals
    first, end = program.child_offsets[inner], program.child_offsets[inner + 1]
    lengths = np.ones(len(nodes), np.int64)
    lengths[is_open] = end - first
    opened = np.repeat(nodes, lengths)
    forwards = _joined(first, end - first)
    backwards = np.repeat(first + end - 1, end - first) - forwards
    below_and = np.repeat(program.node_op[inner] == AND, end - first)
    opened[np.repeat(is_open, lengths)] = access.children[np.where(below_and, forwards, backwards)]
    return opened, np.repeat(owner, lengths)


def _joined(first: NDArray[np.integer], lengths: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return runs of numbers, each from its first on, one behind the other."""
    ends = np.cumsum(lengths)
    n_numbers = int(ends[-1]) if len(ends) else 0
    largest = max(n_numbers, int(np.max(first, initial=0)) + n_numbers)
    dtype: type[np.integer] = np.int32 if largest <= LARGEST else np.int64
    numbers: NDArray[np.integer] = np.repeat((first - (ends - lengths)).astype(dtype), lengths)
    np.add(numbers, np.arange(n_numbers, dtype=dtype), out=numbers)
    return numbers


def _unions(program: Program, atoms: Atoms, places: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """From atoms to the literals of several intervals that they are part of."""
    n_intervals = np.diff(program.interval_offsets)
    literal = np.repeat(np.arange(program.n_positive), n_intervals)
    in_union = n_intervals[literal] != 1
    if not np.any(in_union):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    sources = atoms.of_interval[in_union]
    order = np.argsort(sources, kind="stable")
    return _counted(sources, len(atoms.low) + 1), places.of_node[literal[in_union]][order]


def _counted(sources: NDArray[np.integer], n_sources: int) -> NDArray[np.int64]:
    """CSR offsets of `sources` once they are sorted, one entry for each of `n_sources`."""
    counts = np.bincount(sources, minlength=n_sources)
    return np.concatenate([[0], np.cumsum(counts)])[:n_sources]


def _require_room(what: str, size: int) -> None:
    if size > LARGEST:
        raise RuledexError(f"the rules need {size:,} {what}, more than {LARGEST:,}; build several indexes")


def _aligned(place: int) -> int:
    return -(-place // WORD) * WORD

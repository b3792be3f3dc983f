"""Which ANDs are reached through more than one key.

An event that makes an access child true looks at every AND behind it, and most of these fail at a further condition.
ANDs of one access child that share such a condition form a *group*: one more AND, of the access child and the shared
literal, which is the *key*. An event looks at the key once, and at the ANDs of the group only if it is true. A group is
divided again where that pays, so that keys form a trie of short depth.

    looking at n ANDs one by one    n looks
    looking at their group          one look; if the key is true, VISIT and n looks

A group is a node like any other: it has a bit, edges and a level. Neither the kernels nor the stored arrays know of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import AND
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import LARGEST
from ruledex.engines.sparse.demand import Access, find_levels
from ruledex.program.program import Program

VISIT = 6.0  # what a true group costs, in looks at an edge
FEWEST = 4  # ANDs of a group: its edge and its offsets take the memory of two
MOST_KEYS = 4  # on the way from an access child to an AND
NO_GROUP = -1


class Lists(NamedTuple):
    """Runs of ANDs that are reached alike: first those of one access child each, then the groups.

    The run of a group lies within that of the list it was taken from.
    """

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    parent: NDArray[np.int32]  # the list that a group was taken from
    key: NDArray[np.int32]  # the literal of a group
    n_keys: NDArray[np.int8]


class GroupScratch(NamedTuple):
    """All counts are zero and all ranks are NO_GROUP between lists."""

    n_with: NDArray[np.int32]  # [n_literals] how many ANDs of the list have the literal
    rank: NDArray[np.int32]  # [n_literals] of those that may be a key, the largest gain first
    seen: NDArray[np.int32]  # [n_literals] those with a count
    size: NDArray[np.int32]  # [n_literals] by rank
    chosen: NDArray[np.int32]  # ranks of the keys that the ANDs of the longest list have
    moved: NDArray[np.int32]


@jit
def gain(n_members: int, probability: float) -> float:
    """Return how many looks a group spares when its access child is true."""
    return n_members * (1.0 - probability) - 1.0 - VISIT * probability


@jit
def is_key_of(lists: Lists, at: int, literal: int) -> bool:
    """Return whether a list lies behind a key already."""
    while lists.n_keys[at] > 0:
        if lists.key[at] == literal:
            return True
        at = lists.parent[at]
    return False


@jit
def count_literals(
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    nodes: NDArray[np.int32],
    lists: Lists,
    at: int,
    scratch: GroupScratch,
) -> int:
    """Count in how many ANDs of a list each literal is that may be a key; return the number of literals."""
    n_with, seen, n_literals = scratch.n_with, scratch.seen, scratch.n_with.size
    n_seen = 0
    for member in range(lists.begin[at], lists.end[at]):
        first, last = child_offsets[nodes[member]], child_offsets[nodes[member] + 1]
        if last - first < lists.n_keys[at] + 3:
            continue  # a condition must be left behind one more key
        for place in range(first + 1, last):
            child = children[place]
            if child < n_literals and not is_key_of(lists, at, child):
                if n_with[child] == 0:
                    seen[n_seen] = child
                    n_seen += 1
                n_with[child] += 1
    return n_seen


@jit
def rank_keys(probability: NDArray[np.float64], scratch: GroupScratch, n_seen: int, fewest: int) -> int:
    """Number the literals that are worth a group by their gain, and forget all counts; return how many there are."""
    n_with, rank, seen = scratch.n_with, scratch.rank, scratch.seen
    n_keys = 0
    for place in range(n_seen):
        literal = seen[place]
        if n_with[literal] >= fewest and gain(n_with[literal], probability[literal]) > 0.0:
            seen[place], seen[n_keys] = seen[n_keys], literal
            n_keys += 1
    gains = np.empty(n_keys, np.float64)
    for place in range(n_keys):
        gains[place] = -gain(n_with[seen[place]], probability[seen[place]])
    for place in range(n_seen):
        n_with[seen[place]] = 0
    keys = seen[:n_keys].copy()
    order = np.argsort(gains)
    for place in range(n_keys):
        seen[place] = keys[order[place]]
        rank[seen[place]] = place
    return n_keys


@jit
def choose_keys(
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    nodes: NDArray[np.int32],
    lists: Lists,
    at: int,
    scratch: GroupScratch,
    n_keys: int,
) -> None:
    """Choose for each AND of a list the key of the largest gain, and count how many choose each."""
    rank, size, chosen, n_literals = scratch.rank, scratch.size, scratch.chosen, scratch.n_with.size
    size[:n_keys] = 0
    begin = lists.begin[at]
    for member in range(begin, lists.end[at]):
        first, last = child_offsets[nodes[member]], child_offsets[nodes[member] + 1]
        best = n_keys
        if last - first >= lists.n_keys[at] + 3:
            for place in range(first + 1, last):
                if children[place] < n_literals and rank[children[place]] != NO_GROUP:
                    best = min(best, rank[children[place]])
        chosen[member - begin] = best
        if best < n_keys:
            size[best] += 1


@jit
def divide_lists(
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    probability: NDArray[np.float64],
    nodes: NDArray[np.int32],
    lists: Lists,
    n_lists: int,
    fewest: int,
    scratch: GroupScratch,
) -> int:
    """Write the groups behind the first lists, and put the ANDs of a group together; return the number of all lists."""
    rank, seen, size, chosen, moved = scratch.rank, scratch.seen, scratch.size, scratch.chosen, scratch.moved
    at = 0
    while at < n_lists:
        begin, end = lists.begin[at], lists.end[at]
        if end - begin >= 2 * fewest and lists.n_keys[at] < MOST_KEYS:
            n_seen = count_literals(child_offsets, children, nodes, lists, at, scratch)
            n_keys = rank_keys(probability, scratch, n_seen, fewest)
            if n_keys > 0:
                choose_keys(child_offsets, children, nodes, lists, at, scratch, n_keys)
                # Keys that others left too few ANDs to are none, and their ANDs choose again.
                for place in range(n_keys):
                    if size[place] < fewest or gain(size[place], probability[seen[place]]) <= 0.0:
                        rank[seen[place]] = NO_GROUP
                choose_keys(child_offsets, children, nodes, lists, at, scratch, n_keys)
                next_begin = begin
                for place in range(n_keys):
                    n_members = size[place]
                    if n_members > 0:
                        lists.begin[n_lists], lists.end[n_lists] = next_begin, next_begin + n_members
                        lists.parent[n_lists], lists.key[n_lists] = at, seen[place]
                        lists.n_keys[n_lists] = lists.n_keys[at] + 1
                        n_lists += 1
                    size[place] = next_begin - begin
                    next_begin += n_members
                    rank[seen[place]] = NO_GROUP
                n_alone = next_begin - begin
                for member in range(end - begin):
                    if chosen[member] < n_keys:
                        moved[size[chosen[member]]] = nodes[begin + member]
                        size[chosen[member]] += 1
                    else:
                        moved[n_alone] = nodes[begin + member]
                        n_alone += 1
                nodes[begin:end] = moved[: end - begin]
        at += 1
    return n_lists


@jit
def replace_keys(
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    lists: Lists,
    list_of: NDArray[np.int32],  # [n_inner] the innermost group of an AND, or NO_GROUP
    first_group: int,  # the list whose node is `first_node`
    first_node: int,
    out_offsets: NDArray[np.int32],
    out: NDArray[np.int32],
) -> int:
    """Write all children, of an AND in a group the group instead of what led to it; return their number."""
    n_written = 0
    for node in range(list_of.size):
        out_offsets[node] = n_written
        place, at = child_offsets[node], list_of[node]
        if at != NO_GROUP:
            out[n_written] = first_node + at - first_group
            n_written += 1
            place += 1
        while place < child_offsets[node + 1]:
            out[n_written] = children[place]
            if at == NO_GROUP or not is_key_of(lists, at, children[place]):
                n_written += 1
            place += 1
    return n_written


def group_by_keys(
    program: Program, access: Access, probability: NDArray[np.float64], fewest: int = FEWEST
) -> tuple[Program, Access, NDArray[np.float64]]:
    """Return the Program with a node for each group behind all others, and what is known of its nodes.

    Where no group pays, nothing is changed. `fewest` is the number of ANDs that a group has at the least.
    """
    first_inner = program.n_literals
    n_children = np.diff(program.child_offsets)
    and_nodes = np.flatnonzero((program.node_op == AND) & (n_children > 2))
    leads = access.children[program.child_offsets[and_nodes]]
    n_behind = np.bincount(leads, minlength=program.n_nodes)
    is_long = n_behind[leads] >= 2 * fewest
    and_nodes, leads = and_nodes[is_long], leads[is_long]
    order = np.argsort(leads, kind="stable")
    nodes = and_nodes[order].astype(np.int32)
    begin = np.flatnonzero(np.diff(leads[order], prepend=-1))
    n_first = len(begin)
    lists = _new_lists(begin, len(nodes), access.children[program.child_offsets[nodes[begin]]], fewest)
    offsets, children = frozen(program.child_offsets, np.int32), frozen(access.children, np.int32)
    scratch = _new_scratch(first_inner, int(np.max(lists.end[:n_first] - lists.begin[:n_first], initial=0)))
    n_lists = divide_lists(offsets, children, frozen(probability, np.float64), nodes, lists, n_first, fewest, scratch)
    n_groups = n_lists - n_first
    if n_groups == 0 or program.n_nodes + n_groups > LARGEST:
        return program, access, probability

    list_of = np.full(len(program.node_op), NO_GROUP, np.int32)
    for n_keys in range(1, MOST_KEYS + 1):
        here = n_first + np.flatnonzero(lists.n_keys[n_first:n_lists] == n_keys)
        lengths = lists.end[here] - lists.begin[here]
        members = np.repeat(lists.begin[here] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        list_of[nodes[members]] = np.repeat(here, lengths)
    first_node = program.n_nodes
    out_offsets, out = np.zeros(len(list_of) + n_groups + 1, np.int32), np.zeros(len(children) + 1, np.int32)
    n_written = replace_keys(offsets, children, lists, list_of, n_first, first_node, out_offsets, out)
    out_offsets[len(list_of) :] = n_written + 2 * np.arange(n_groups + 1)
    parent, key = lists.parent[n_first:n_lists], lists.key[n_first:n_lists]
    above = np.where(parent < n_first, lists.key[np.minimum(parent, n_first)], first_node + parent - n_first)
    n_keys_of = lists.n_keys[n_first:n_lists].astype(np.int64)
    all_probabilities = np.concatenate([probability, np.zeros(n_groups)])
    outermost = np.zeros(n_lists, np.int64)  # the access child behind each list
    outermost[:n_first] = lists.key[:n_first]
    for n_keys in range(1, MOST_KEYS + 1):
        here = np.flatnonzero(n_keys_of == n_keys)
        outermost[n_first + here] = outermost[parent[here]]
        all_probabilities[first_node + here] = all_probabilities[above[here]] * probability[key[here]]
    in_group = list_of != NO_GROUP
    n_before = np.where(in_group, lists.n_keys[np.maximum(list_of, 0)], 0)
    leads_to = access.children[program.child_offsets[:-1]]
    level = find_levels(program, leads_to, access.on_demand, n_before)
    grouped = program._replace(
        node_op=np.concatenate([program.node_op, np.full(n_groups, AND, program.node_op.dtype)]),
        child_offsets=out_offsets,
        children=np.concatenate([out[:n_written], np.stack([above, key], axis=1).reshape(-1)], dtype=np.int32),
    )
    return (
        grouped,
        Access(
            grouped.children,
            np.concatenate([access.on_demand, np.zeros(n_groups, np.bool_)]),
            np.concatenate([level, level[outermost[n_first:]] + n_keys_of], dtype=np.int32),
        ),
        all_probabilities,
    )


def _new_lists(begin: NDArray[np.int64], n_nodes: int, leads: NDArray[np.int32], fewest: int) -> Lists:
    """Return the lists of the access children `leads`, as their keys, with room for all groups that there may be."""
    n_first, n_most = len(begin), len(begin) + MOST_KEYS * (n_nodes // fewest)
    lists = Lists(
        np.empty(n_most, np.int64),
        np.empty(n_most, np.int64),
        np.empty(n_most, np.int32),
        np.empty(n_most, np.int32),
        np.empty(n_most, np.int8),
    )
    lists.begin[:n_first], lists.end[:n_first] = begin, np.append(begin[1:], n_nodes)
    lists.parent[:n_first], lists.key[:n_first], lists.n_keys[:n_first] = 0, leads, 0
    return lists


def _new_scratch(n_literals: int, longest: int) -> GroupScratch:
    return GroupScratch(
        np.zeros(n_literals, np.int32),
        np.full(n_literals, NO_GROUP, np.int32),
        np.empty(n_literals, np.int32),
        np.empty(n_literals, np.int32),
        np.empty(longest, np.int32),
        np.empty(longest, np.int32),
    )

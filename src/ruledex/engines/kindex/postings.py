"""Posting lists, and how an event finds those of its keys (whang2009, Sections 3 and 4).

What is indexed is an *item*: a conjunction, or a CNF expression. Items are numbered so that those of one size K lie
together, in a *partition*. An entry is one integer,

    (the item's number within its partition) << shift | code

where the code says what the key means to the item, and codes of ∉ are smaller than those of ∈. So entries compare as
the paper orders them. A list holds an item at most once: where a key means several things to one item, the key has
several lists.

Where many items of one size share a predicate, they have a partition of their own, which the predicate's nodes *open*:
the predicate is tested once for all of them, no list holds it, and K is one less. A partition that an event does not
open costs nothing.

Lists can skip together to what they agree on (cursors.py). The other way is here: every entry is *noted* in a word of
its item, one bit per code. A step of lists that skip takes several times as long as to note an entry, so skipping pays
where most entries are in the K - 1 longest lists; an event's lists in a partition that a predicate opened are mostly
short. What K lists may agree on is marked in `occupied`, and its codes are the bits of its word: they ascend, and each
stands once.

All functions work on the arrays of `PostingCursors`, under the names that they have there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit, n_bits, prefetch
from ruledex.compiled.decorator import inlined, jit
from ruledex.compiled.lists import first_at_least
from ruledex.engines.kindex.hierarchy import LEVEL_BITS

MOST_CODE_BITS = 5  # of codes that are bits of a word of 32
WORTH_A_STEP = 8  # entries noted in the time of a step: 6 and 9 were measured; 4 to 1,000 gave like times there
MUCH_LONGER = 4  # than the average list


class Postings(NamedTuple):
    """The lists of all partitions. Partitions come in descending order of K; lists by node, then by partition."""

    domain_offsets: NDArray[np.int32]  # [n_domains + 1] as in the hierarchy
    domain_nodes: NDArray[np.int32]
    domain_levels: NDArray[np.int64]  # [n_domains] bit l: some node of level l has lists, links or opens a partition
    link_offsets: NDArray[np.int32]  # [n_tree_nodes + 1]
    links: NDArray[np.int32]  # the shared sets that a node of a tree is part of, which are nodes too
    open_offsets: NDArray[np.int32]  # [n_nodes + 1]
    opens: NDArray[np.int32]  # partitions
    node_lists: NDArray[np.int32]  # [n_nodes + 1]
    list_partition: NDArray[np.int32]  # [n_lists]
    list_offsets: NDArray[np.int64]  # [n_lists + 1]
    entries: NDArray[np.int32]  # ascending within a list, an item once
    partition_size: NDArray[np.int32]  # [n_partitions] K, without the predicate that opens the partition
    partition_shift: NDArray[np.int32]  # [n_partitions] the number of bits of a code
    partition_first: NDArray[np.int32]  # [n_partitions + 1] the number of the first item
    partition_opened: NDArray[np.uint8]  # [n_partitions] whether it is closed until a node opens it
    item: NDArray[np.int32]  # [n_items] by number, the id under which the item was given


class ListBounds(NamedTuple):
    """UB of each list (whang2009, Section 5): an entry's part of its item's score is at most

        own_weight * (the weight of the event's cell) + share * (the event's largest weight)

    Empty where nothing is ranked.
    """

    own_weight: NDArray[np.float64]
    share: NDArray[np.float64]


class PostingCursors(NamedTuple):
    """What one thread needs while it moves along lists; the arrays of a cursor each have room for all of an event's.

    `first_on`, `states` and `occupied` are over the items of the largest partition; they are NONE and 0 between
    partitions.
    """

    is_open: NDArray[np.uint8]  # [n_partitions]
    partition_lists: NDArray[np.int64]  # [n_partitions + 1] where the cursors of each partition begin
    nodes: NDArray[np.int32]  # those that the event has
    node_hit: NDArray[np.int64]  # of each of them, the place of the cell that led to it
    found: NDArray[np.int32]  # lists
    hit: NDArray[np.int64]  # of each list found, the place of the cell that led to it
    bounds: NDArray[np.float64]  # of each cursor, what its list may add to a score; empty where nothing is ranked
    place: NDArray[np.int64]  # of each cursor's current entry
    end: NDArray[np.int64]  # of each cursor's list
    following: NDArray[np.int32]  # the next cursor on the same item, or NONE
    p_lists: NDArray[np.int32]  # cursors: the first lists of PLists, once they are taken
    codes: NDArray[np.int32]  # of lists that agree on an item
    first_on: NDArray[np.int32]
    states: NDArray[np.uint32]  # one bit per code, where entries are noted instead of skipped
    occupied: NDArray[np.uint64]


@jit
def _find_nodes(
    postings: Postings,
    cells: NDArray[np.int32],
    begin: int,
    end: int,
    is_open: NDArray[np.uint8],
    nodes: NDArray[np.int32],
    node_hit: NDArray[np.int64],
) -> tuple[int, int]:
    """Write all nodes that the event has, and open partitions; return how many nodes, and how many lists they have.

    With empty `nodes` none is written.
    """
    domain_offsets, domain_nodes, levels_used = postings.domain_offsets, postings.domain_nodes, postings.domain_levels
    link_offsets, links = postings.link_offsets, postings.links
    open_offsets, opens, node_lists = postings.open_offsets, postings.opens, postings.node_lists
    n_domains, domain, n_nodes, n_lists = domain_offsets.size - 1, 0, 0, 0
    for place in range(begin, end):
        domain = first_at_least(domain_offsets, domain, n_domains + 1, cells[place] + 1) - 1
        within = cells[place] - domain_offsets[domain]
        first = domain_nodes[domain]
        last = domain_offsets[domain + 1] - domain_offsets[domain] - 1
        levels = levels_used[domain]
        while levels != 0:
            if levels & 1 != 0:
                node = first + within
                link, last_link = link_offsets[node] - 1, link_offsets[node + 1]
                while True:  # the node itself, and then its links
                    for opened in range(open_offsets[node], open_offsets[node + 1]):
                        is_open[opens[opened]] = 1
                    n_own = node_lists[node + 1] - node_lists[node]
                    if n_own != 0:
                        if nodes.size != 0:
                            nodes[n_nodes], node_hit[n_nodes] = node, place
                        n_nodes += 1
                        n_lists += n_own
                    link += 1
                    if link == last_link:
                        break
                    node = links[link]
            first += last + 1
            within, last, levels = within >> LEVEL_BITS, last >> LEVEL_BITS, levels >> 1
    return n_nodes, n_lists


@jit
def most_lists(
    postings: Postings, event_offsets: NDArray[np.int64], cells: NDArray[np.int32], is_open: NDArray[np.uint8]
) -> tuple[int, int]:
    """Return how many nodes and lists an event of the batch leads to, at the most, whether partitions are open or not.

    `is_open` is scratch, one entry per partition.
    """
    most_nodes, most, nodes, node_hit = 0, 0, np.empty(0, np.int32), np.empty(0, np.int64)
    for event in range(event_offsets.size - 1):
        begin, end = event_offsets[event], event_offsets[event + 1]
        n_nodes, n_lists = _find_nodes(postings, cells, begin, end, is_open, nodes, node_hit)
        most_nodes, most = max(most_nodes, n_nodes), max(most, n_lists)
    return most_nodes, most


@jit
def get_posting_lists(
    postings: Postings,
    cursors: PostingCursors,
    bounds_of: ListBounds,
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
    largest: float,
) -> int:
    """Run `GetPostingLists` for all open partitions at once, with their bounds where `cursors` has room for them.

    `weights` are the event's, and none of them is larger than `largest`, which bounds are taken for where an entry's
    part of the score is not known. Return how many nodes the event has.
    """
    is_open, partition_lists, found, hit = cursors.is_open, cursors.partition_lists, cursors.found, cursors.hit
    for partition in range(is_open.size):
        is_open[partition] = 1 - postings.partition_opened[partition]
    nodes, node_hit = cursors.nodes, cursors.node_hit
    n_nodes, _ = _find_nodes(postings, cells, begin, end, is_open, nodes, node_hit)
    node_lists, list_partition, list_offsets = postings.node_lists, postings.list_partition, postings.list_offsets
    entries, place_of, end_of, bounds = postings.entries, cursors.place, cursors.end, cursors.bounds
    own_weight, share = bounds_of.own_weight, bounds_of.share
    partition_lists[:] = 0
    n_open = 0
    for position in range(n_nodes):
        node = nodes[position]
        for number in range(node_lists[node], node_lists[node + 1]):
            found[n_open], hit[n_open] = number, node_hit[position]
            if is_open[list_partition[number]] != 0:
                partition_lists[list_partition[number]] += 1
                n_open += 1
    total = 0
    for partition in range(partition_lists.size):
        n_lists = partition_lists[partition]
        partition_lists[partition] = total
        total += n_lists
    for position in range(n_open):
        number = found[position]
        cursor = partition_lists[list_partition[number]]
        partition_lists[list_partition[number]] += 1
        place_of[cursor], end_of[cursor] = list_offsets[number], list_offsets[number + 1]
        prefetch(entries, np.int64(list_offsets[number]))
        if bounds.size != 0:
            weight = float(weights[hit[position]]) if weights.size != 0 else 1.0
            # Plain numbers overflow without a warning, uncompiled too.
            bounds[cursor] = float(own_weight[number]) * weight + float(share[number]) * float(largest)
    # Each partition's place has moved to its end, where the next one's begins.
    for partition in range(partition_lists.size - 1, 0, -1):
        partition_lists[partition] = partition_lists[partition - 1]
    partition_lists[0] = 0
    return n_nodes


@inlined
def are_noted(
    first: int, last: int, k: int, code_bits: int, place_of: NDArray[np.int64], end_of: NDArray[np.int64]
) -> bool:
    """Return whether to note the entries of the cursors from `first` up to `last` takes less time than to skip.

    An item that K lists have is in one at least that is not among the K - 1 longest, so that lists that skip take
    about as many steps as the others have entries. Those are counted without sorting, and rather too few: no list
    counts for more than `longest`, and K - 1 lists for as much.
    """
    total, longest, n_steps = 0, 0, 0
    for cursor in range(first, last):
        total += end_of[cursor] - place_of[cursor]
        longest = max(longest, end_of[cursor] - place_of[cursor])
    longest = min(longest, MUCH_LONGER * total // (last - first))
    for cursor in range(first, last):
        n_steps += min(end_of[cursor] - place_of[cursor], longest)
    return code_bits <= MOST_CODE_BITS and total <= WORTH_A_STEP * (n_steps - (k - 1) * longest)


@inlined
def note_entries(
    first: int,
    last: int,
    k: int,
    code_bits: int,
    entries: NDArray[np.int32],
    place_of: NDArray[np.int64],
    end_of: NDArray[np.int64],
    states: NDArray[np.uint32],
    occupied: NDArray[np.uint64],
) -> None:
    """Note all entries of the cursors from `first` up to `last`, and mark the items that have K codes or more."""
    code_mask = (1 << code_bits) - 1
    for cursor in range(first, last):
        for place in range(place_of[cursor], end_of[cursor]):
            item = np.uint64(entries[place] >> code_bits)
            state = np.uint64(states[item]) | ONE << np.uint64(entries[place] & code_mask)
            states[item] = np.uint32(state)
            if n_bits(state) >= k:
                occupied[item >> SIX] |= ONE << (item & LOW_SIX)


@inlined
def forget_entries(
    first: int,
    last: int,
    code_bits: int,
    entries: NDArray[np.int32],
    place_of: NDArray[np.int64],
    end_of: NDArray[np.int64],
    states: NDArray[np.uint32],
) -> None:
    """Make the words of all items that were noted 0 again."""
    for cursor in range(first, last):
        for place in range(place_of[cursor], end_of[cursor]):
            states[np.uint64(entries[place] >> code_bits)] = np.uint32(0)


@inlined
def noted_codes(state: int, codes: NDArray[np.int32]) -> int:
    """Write the codes of an item, ascending; return how many."""
    n_codes, left = 0, np.uint64(state)
    while left != ZERO:
        codes[n_codes] = lowest_bit(left)
        n_codes += 1
        left &= left - ONE
    return n_codes

"""Baselines that tick an event's true literals in an array, and look the predicates of candidates up in it.

They differ in what they take for candidates: Le Subscribe's propagation the conjunctions behind true predicates that
lead to them, PSCAN the expressions in the lists of true predicates (whang2009, Section 7), and scan with conjunction
match the trees that have a true conjunction (fontoura2010, Section 5.2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import prefetch
from ruledex.compiled.constants import ALWAYS, AND
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import Nodes
from ruledex.engines.kindex.matching import Owners, collect_rules, mark_rules, matching_conjunctions
from ruledex.engines.kindex.postings import PostingCursors, Postings

from .true_literals_kernel import tick

ENDS_DISJUNCTION, ENDS_EXPRESSION = 1, 2
AHEAD = 12  # entries by which an expression is asked for before it is evaluated


class Clusters(NamedTuple):
    """Conjunctions by their access predicate and by how many predicates they have besides it.

    The conjunctions of cluster c have the numbers from `first_conjunction[c]` on, and their other predicates stand row
    by row from `first_place[c]` on. Behind the literals' clusters come those of conjunctions that no literal leads to.
    """

    cluster_offsets: NDArray[np.int32]  # [n_literals + 2]
    first_conjunction: NDArray[np.int32]  # [n_clusters + 1]
    first_place: NDArray[np.int64]  # [n_clusters + 1]
    others: NDArray[np.int32]  # literals
    owner_offsets: NDArray[np.int32]
    owner_rules: NDArray[np.int32]


class PostedExpressions(NamedTuple):
    """CNF expressions, and the lists that lead to them; behind the literals' lists comes that of all events.

    All of an expression stands in one place, one way to memory: its number << 1, with the last bit set if it
    has any disjunction, and then its literals << 2, with the bits ENDS_DISJUNCTION and ENDS_EXPRESSION.
    """

    list_offsets: NDArray[np.int64]  # [n_literals + 2]
    entries: NDArray[np.int32]  # places of expressions, ascending within a list, each once
    records: NDArray[np.int32]
    owner_offsets: NDArray[np.int32]
    owner_rules: NDArray[np.int32]


class ConjunctionTrees(NamedTuple):
    """The distinct trees that each conjunction stands in; a tree's root is a node of the Program."""

    tree_offsets: NDArray[np.int32]  # [n_conjunctions + 1]
    trees: NDArray[np.int32]
    root: NDArray[np.int32]  # [n_trees]
    owner_offsets: NDArray[np.int32]
    owner_rules: NDArray[np.int32]


@jit
def propagate(
    index: Clusters,
    facts: Any,
    alive: NDArray[np.uint8],
    first_event: int,
    last_event: int,
    holds: NDArray[np.uint8],
    found: NDArray[np.int32],
    answer: Any,
) -> tuple[int, int]:
    """Match events while there is room; return the event that comes next, and how many rules were written.

    `holds` has an entry a literal, 1 for a WEAK ∉ and else 0, and is left so; this is so for all three.
    """
    cluster_offsets, first_conjunction = index.cluster_offsets, index.first_conjunction
    first_place, others = index.first_place, index.others
    owners = Owners(index.owner_offsets, index.owner_rules)
    fact_offsets, literals = facts.offsets, facts.literals
    marks, offsets, out, work = answer.marks, answer.offsets, answer.out, answer.work
    always = cluster_offsets.size - 2
    event, n_written, n_rules = first_event, 0, 64 * marks.size
    while event < last_event and n_written + n_rules <= out.size:
        begin, end = fact_offsets[event], fact_offsets[event + 1]
        tick(literals, begin, end, holds, 1)
        n_checked, n_found = 0, 0
        for place in range(begin, end + 1):
            literal = literals[place] if place < end else always
            if literal < 0:
                continue
            for cluster in range(cluster_offsets[literal], cluster_offsets[literal + 1]):
                first, last = first_conjunction[cluster], first_conjunction[cluster + 1]
                row = first_place[cluster]
                width = (first_place[cluster + 1] - row) // (last - first)
                n_checked += last - first
                for conjunction in range(first, last):
                    column = row
                    row += width
                    while column < row and holds[others[column]] != 0:
                        column += 1
                    if column == row:
                        found[n_found] = conjunction
                        n_found += 1
        tick(literals, begin, end, holds, 0)
        mark_rules(owners, found, n_found, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        work[0] += n_checked
        work[1] += n_found
        event += 1
        offsets[event] = offsets[first_event] + n_written
    return event, n_written


@jit
def pscan_match(
    index: PostedExpressions,
    facts: Any,
    alive: NDArray[np.uint8],
    first_event: int,
    last_event: int,
    holds: NDArray[np.uint8],
    is_done: NDArray[np.uint8],
    found: NDArray[np.int32],
    answer: Any,
) -> tuple[int, int]:
    """Match events while there is room; return the event that comes next, and how many rules were written."""
    list_offsets, entries, records = index.list_offsets, index.entries, index.records
    owners = Owners(index.owner_offsets, index.owner_rules)
    fact_offsets, literals = facts.offsets, facts.literals
    marks, offsets, out, work = answer.marks, answer.offsets, answer.out, answer.work
    always = list_offsets.size - 2
    event, n_written, n_rules = first_event, 0, 64 * marks.size
    while event < last_event and n_written + n_rules <= out.size:
        begin, end = fact_offsets[event], fact_offsets[event + 1]
        tick(literals, begin, end, holds, 1)
        is_done[:] = 0
        n_entries, n_evaluated, n_found = 0, 0, 0
        for place in range(begin, end + 1):
            literal = literals[place] if place < end else always
            if literal < 0:
                continue
            n_entries += list_offsets[literal + 1] - list_offsets[literal]
            for entry in range(list_offsets[literal], list_offsets[literal + 1]):
                if entry + AHEAD < list_offsets[literal + 1]:
                    prefetch(records, np.int64(entries[entry + AHEAD]))
                record = entries[entry]
                expression, is_open = records[record] >> 1, records[record] & 1 != 0
                if is_done[expression] != 0:
                    continue
                is_done[expression] = 1
                n_evaluated += 1
                is_true = True
                while is_open:
                    is_true = False
                    step = 0
                    while step & ENDS_DISJUNCTION == 0:
                        record += 1
                        step = records[record]
                        is_true = is_true or holds[step >> 2] != 0
                    is_open = is_true and step & ENDS_EXPRESSION == 0
                if is_true:
                    found[n_found] = expression
                    n_found += 1
        tick(literals, begin, end, holds, 0)
        mark_rules(owners, found, n_found, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        work[0] += n_entries
        work[1] += n_evaluated
        event += 1
        offsets[event] = offsets[first_event] + n_written
    return event, n_written


@jit
def conjunction_scan(
    index: ConjunctionTrees,
    postings: Postings,
    nodes: Nodes,
    facts: Any,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    alive: NDArray[np.uint8],
    first_event: int,
    last_event: int,
    cursors: PostingCursors,
    holds: NDArray[np.uint8],
    is_candidate: NDArray[np.uint8],
    path: NDArray[np.int64],
    conjunctions: NDArray[np.int32],
    found: NDArray[np.int32],
    answer: Any,
) -> tuple[int, int]:
    """Match events while there is room; return the event that comes next, and how many rules were written.

    Trees are evaluated in their order, which is that of their nodes in memory, and from the root down, a node left as
    soon as its value is known. `path` is scratch of two rows, as long as the deepest tree.
    """
    tree_offsets, trees, root = index.tree_offsets, index.trees, index.root
    operations, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    owners = Owners(index.owner_offsets, index.owner_rules)
    fact_offsets, literals = facts.offsets, facts.literals
    marks, offsets, out, work = answer.marks, answer.offsets, answer.out, answer.work
    n_literals = holds.size
    event, n_written, n_rules = first_event, 0, 64 * marks.size
    while event < last_event and n_written + n_rules <= out.size:
        begin, end = fact_offsets[event], fact_offsets[event + 1]
        tick(literals, begin, end, holds, 1)
        is_candidate[:] = 0
        n_true = matching_conjunctions(
            postings, cursors, cells, event_offsets[event], event_offsets[event + 1], conjunctions
        )
        for place in range(n_true):
            for entry in range(tree_offsets[conjunctions[place]], tree_offsets[conjunctions[place] + 1]):
                is_candidate[trees[entry]] = 1
        n_evaluated, n_found = 0, 0
        for tree in range(root.size):
            if is_candidate[tree] == 0:
                continue
            n_evaluated += 1
            node, depth = root[tree], -1
            value, is_open = node == ALWAYS, node != ALWAYS
            while is_open:
                if node >= n_literals:
                    depth += 1
                    path[0, depth], path[1, depth] = node - n_literals, child_offsets[node - n_literals]
                else:
                    value = holds[node] != 0
                    # The value goes up as long as it decides a node or was the last one that the node waited for.
                    while depth >= 0:
                        inner = path[0, depth]
                        if value != (operations[inner] != AND) and path[1, depth] < child_offsets[inner + 1]:
                            break
                        depth -= 1
                is_open = depth >= 0
                if is_open:
                    node = children[path[1, depth]]
                    path[1, depth] += 1
            if value:
                found[n_found] = tree
                n_found += 1
        tick(literals, begin, end, holds, 0)
        mark_rules(owners, found, n_found, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        work[0] += n_true
        work[1] += n_evaluated
        event += 1
        offsets[event] = offsets[first_event] + n_written
    return event, n_written

"""The Conjunction Annotator (fontoura2010, Section 2.1): from a Program's rules to labelled leaves and their index.

The trees that are labelled (Section 2) are a Program's nodes unfolded, with conjunctions as leaves. A leaf is as large
a conjunction of literals as can be: the literals of an AND node are one leaf together, a literal below an OR node is a
leaf alone, and an AND node of literals alone is a leaf itself. An AND below an AND and an OR below an OR are dissolved
in the node above, so that AND and OR alternate on every path. A leaf is named by the node that it comes from: a
literal, an AND node whose literals are meant, or ALWAYS for the conjunction of nothing, the tree of a rule that is true
of every event.

`dewey` and `interval` differ in how the leaves of a tree are labelled, and in which order. An *expression* is a
distinct root: rules that share one share its annotations. Only the leaves of an expression's access set lead to it: an
AND is reached through one child, an OR through all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import ALWAYS, AND, NEVER, OR
from ruledex.compiled.decorator import jit
from ruledex.engines.access import node_probabilities
from ruledex.engines.inputs import LARGEST, Nodes, nodes_of
from ruledex.engines.kindex.conjunctions import ConjunctionIndex
from ruledex.engines.kindex.normal_forms import Clauses, distinct_clauses
from ruledex.engines.protocol import Statistics
from ruledex.errors import RuledexError
from ruledex.program.program import Program

LEAF = 2
MANY = 1 << 40  # counts do not grow past it
_NOTHING = -1  # the operation above a root
_DISSOLVED = -1  # in place of a node of the tree
LEAVES_AT_ONCE = 1 << 20  # of trees that are unfolded together
MOST_TESTED = 64  # leaves of an expression that are all looked at when one of them leads to it
Labels = dict[str, NDArray[Any]]


class Trees(NamedTuple):
    """Several trees, one after the other, each in pre-order. The arrays may be longer than what is used of them."""

    offsets: NDArray[np.int64]  # [n_trees + 1]
    kind: NDArray[np.uint8]  # AND, OR or LEAF
    end: NDArray[np.int32]  # where the node's descendants end, counted as `offsets` is
    node: NDArray[np.int32]  # of a leaf, the Program's node


@jit
def count_leaves(nodes: Nodes, n_literals: int, n_leaves: NDArray[np.int64], n_joined: NDArray[np.int64]) -> None:
    """Write for each inner node how many leaves its tree has, and how many literals the leaf of an AND node itself.

    Both stop at MANY. A literal that dissolved AND nodes bring along counts as often as it comes.
    """
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    for inner in range(node_op.size):
        is_and = node_op[inner] == AND
        leaves, joined = 0, 0
        for edge in range(child_offsets[inner], child_offsets[inner + 1]):
            below = children[edge] - n_literals
            if below < 0:
                joined += 1
                continue
            leaves = min(leaves + n_leaves[below], MANY)
            if is_and and n_joined[below] > 0:
                leaves -= 1
                joined = min(joined + n_joined[below], MANY)
        n_leaves[inner] = leaves + (min(joined, 1) if is_and else joined)
        n_joined[inner] = joined if is_and else 0


@jit
def unfold(
    nodes: Nodes,
    n_literals: int,
    n_leaves: NDArray[np.int64],
    n_joined: NDArray[np.int64],
    roots: NDArray[np.int32],
    stack: NDArray[np.int64],
    trees: Trees,
) -> None:
    """Write the trees of `roots`, which are nodes or ALWAYS; the leaf of an AND node is its first child.

    `trees` has room for two nodes per leaf: each node above leaves has two children or more. `stack` is scratch of
    three rows (inner node, next edge, place in the trees), as long as the deepest rule.
    """
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    offsets, kind, end, leaf = trees.offsets, trees.kind, trees.end, trees.node
    n_written = 0
    for tree in range(roots.size):
        offsets[tree] = n_written
        node, above, depth = roots[tree], _NOTHING, -1
        is_open = True
        while is_open:
            inner = node - n_literals
            if inner >= 0 and n_leaves[inner] > 1:
                opened = _DISSOLVED
                if node_op[inner] != above:
                    opened = n_written
                    kind[n_written] = node_op[inner]
                    n_written += 1
                    if n_joined[inner] > 0:
                        kind[n_written], end[n_written], leaf[n_written] = LEAF, n_written + 1, node
                        n_written += 1
                depth += 1
                stack[0, depth], stack[1, depth], stack[2, depth] = inner, child_offsets[inner], opened
            elif above != AND:  # below an AND it is part of that node's own leaf
                kind[n_written], end[n_written], leaf[n_written] = LEAF, n_written + 1, node
                n_written += 1
            while depth >= 0 and stack[1, depth] == child_offsets[stack[0, depth] + 1]:
                if stack[2, depth] != _DISSOLVED:
                    end[stack[2, depth]] = n_written
                depth -= 1
            is_open = depth >= 0
            if is_open:
                above, node = node_op[stack[0, depth]], children[stack[1, depth]]
                stack[1, depth] += 1
    offsets[roots.size] = n_written


@jit
def list_annotations(
    conjunctions: NDArray[np.int32],
    leads_to: NDArray[np.int32],
    offsets: NDArray[np.int32],
    annotations: NDArray[np.int32],
) -> None:
    """Write for each conjunction the leaves that it leads to, ascending; `conjunctions` has the one of each leaf.

    `leads_to` has for each leaf the one that its conjunction leads to, or -1, and ascends where it is not -1. `offsets`
    is all zero, and gets where each conjunction's leaves begin and the last one's end.
    """
    for leaf in range(conjunctions.size):
        offsets[conjunctions[leaf] + 1] += 1 if leads_to[leaf] >= 0 else 0
    for conjunction in range(1, offsets.size):
        offsets[conjunction] += offsets[conjunction - 1]
    # While leaves are written, an offset moves from where a list begins to where it ends.
    for leaf in range(conjunctions.size):
        if leads_to[leaf] >= 0:
            conjunction = conjunctions[leaf]
            annotations[offsets[conjunction]] = leads_to[leaf]
            offsets[conjunction] += 1
    for conjunction in range(offsets.size - 1, 0, -1):
        offsets[conjunction] = offsets[conjunction - 1]
    offsets[0] = 0


@jit
def choose_access_leaves(
    trees: Trees, n_trees: int, how_often: NDArray[np.float64], is_chosen: NDArray[np.uint8]
) -> None:
    """Choose leaves of each tree so that at least one of them is true where the tree is, and few are otherwise.

    `how_often` says of the leaves how often they are true, and gets for the other nodes how often the leaves that were
    chosen below them are, together. `is_chosen` gets 1 for the leaves that were chosen, and is 0 before.
    """
    kind, end = trees.kind, trees.end
    for n in range(trees.offsets[n_trees] - 1, -1, -1):  # children before their parents
        if kind[n] == LEAF:
            continue
        total, least = 0.0, np.inf
        child = np.int64(n + 1)
        while child < end[n]:
            total += how_often[child]
            least = min(least, how_often[child])
            child = np.int64(end[child])
        how_often[n] = total if kind[n] == OR else least
    for tree in range(n_trees):
        is_chosen[trees.offsets[tree]] = 1
    for n in range(trees.offsets[n_trees]):
        if kind[n] == LEAF or is_chosen[n] == 0:
            continue
        is_chosen[n] = 0
        child, is_found = np.int64(n + 1), False
        while child < end[n]:
            if kind[n] == OR or (not is_found and how_often[child] == how_often[n]):
                is_chosen[child], is_found = 1, True
            child = np.int64(end[child])


@jit
def annotate_expressions(
    expression_offsets: NDArray[np.int32],
    is_chosen: NDArray[np.uint8],
    most_tested: int,
    is_tested: NDArray[np.uint8],
    leads_to: NDArray[np.int32],
) -> None:
    """Write for each leaf which one it is annotated with, or -1 where it leads to nothing.

    An expression of which some leaves were not chosen is *tested*: whichever leaf leads to it, it is found by its
    first one, and all its leaves are looked at. Where all were chosen, or there are more than `most_tested`, each leaf
    is annotated with itself.
    """
    for expression in range(expression_offsets.size - 1):
        first, last = expression_offsets[expression], expression_offsets[expression + 1]
        n_chosen = 0
        for leaf in range(first, last):
            n_chosen += is_chosen[leaf]
        tested = n_chosen < last - first <= most_tested
        is_tested[expression] = 1 if tested else 0
        for leaf in range(first, last):
            leads_to[leaf] = leaf
            if tested:
                leads_to[leaf] = first if is_chosen[leaf] != 0 else -1


@jit
def write_conjunctions(
    nodes: Nodes,
    n_literals: int,
    leaves: NDArray[np.int32],
    stack: NDArray[np.int64],
    offsets: NDArray[np.int64],
    literals: NDArray[np.int32],
) -> None:
    """Write the literals of each leaf, ascending and none twice, and where they end; `offsets` begins with 0.

    `leaves` are nodes, as leaves are named. `stack` is scratch of two rows (inner node, next edge), as long as the
    deepest rule.
    """
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    stop = 0
    for place in range(leaves.size):
        leaf, start = leaves[place], stop
        depth, was_dissolved = -1, False
        if leaf >= n_literals:
            depth = 0
            stack[0, 0], stack[1, 0] = leaf - n_literals, child_offsets[leaf - n_literals]
        elif leaf != ALWAYS:
            literals[stop] = leaf
            stop += 1
        while depth >= 0:
            edge = stack[1, depth]
            stack[1, depth] += 1
            if edge == child_offsets[stack[0, depth] + 1]:
                depth -= 1
                continue
            below = children[edge] - n_literals
            if below < 0:
                literals[stop] = children[edge]
                stop += 1
            elif node_op[below] == AND:
                was_dissolved = True
                depth += 1
                stack[0, depth], stack[1, depth] = below, child_offsets[below]
        if was_dissolved:
            literals[start:stop].sort()
            last = stop
            stop = start
            for other in range(start, last):
                if stop == start or literals[stop - 1] != literals[other]:
                    literals[stop] = literals[other]
                    stop += 1
        offsets[place + 1] = stop


class Labeller(Protocol):
    """Gives the leaves of trees their labels, and keeps these in the order of the leaves."""

    def label(self, trees: Trees, n_trees: int, leaves: NDArray[np.int32]) -> None:
        """Label the leaves of further trees; write the nodes of the leaves in the order of their labels."""

    def labels(self) -> Labels:
        """Return all labels, as frozen arrays by name."""


class Annotations(NamedTuple):
    """Where conjunctions stand in expressions, and which rules the expressions are."""

    annotation_offsets: NDArray[np.int32]  # [n_conjunctions + 1]
    annotations: NDArray[np.int32]  # leaves, ascending within a conjunction; of a tested expression the first one
    conjunction_of: NDArray[np.int32]  # [n_leaves]
    expression_of: NDArray[np.int32]  # [n_leaves]
    is_tested: NDArray[np.uint8]  # [n_expressions] whether all its leaves are to be looked at
    expression_offsets: NDArray[np.int32]  # [n_expressions + 1] leaves
    rule_offsets: NDArray[np.int32]  # [n_expressions + 1]
    rules: NDArray[np.int32]  # positions, ascending within an expression


class Annotated(NamedTuple):
    """The annotations, and the index of the conjunctions that they annotate."""

    annotations: Annotations
    conjunctions: ConjunctionIndex


class Annotator:
    """Counts the leaves of a Program's rules, and annotates the rules that a caller names."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._nodes = nodes_of(program)
        n_leaves, n_joined = np.zeros(len(program.node_op), np.int64), np.zeros(len(program.node_op), np.int64)
        count_leaves(self._nodes, program.n_literals, n_leaves, n_joined)
        self._n_leaves, self._n_joined = frozen(n_leaves, np.int64), frozen(n_joined, np.int64)
        self._depth = len(program.level_offsets) + 1

    def n_leaves(self, roots: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return how many leaves the trees of these roots have: none has NEVER, one ALWAYS."""
        counts = np.ones(len(roots), np.int64)
        is_inner = roots >= self.program.n_literals
        counts[is_inner] = self._n_leaves[roots[is_inner] - self.program.n_literals]
        counts[roots == NEVER] = 0
        return counts

    def annotate(self, rules: NDArray[np.int64], labeller: Labeller, statistics: Statistics | None) -> Annotated:
        """Annotate the rules of these positions, which ascend; expressions come in the order of their first rules."""
        rules = rules[self.program.root[rules] != NEVER]
        roots, first_rule, expression = np.unique(self.program.root[rules], return_index=True, return_inverse=True)
        order = np.argsort(first_rule)
        roots = roots[order]
        roots.flags.writeable = False
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        expression = number[expression]
        expression_offsets = _offsets(self.n_leaves(roots))
        n_leaves = int(expression_offsets[-1])
        if n_leaves > LARGEST:
            raise RuledexError(f"the rules have {n_leaves:,} leaves, more than {LARGEST:,}; build several indexes")
        leaves, is_chosen = np.zeros(n_leaves, np.int32), np.zeros(n_leaves, np.uint8)
        probability = self._leaf_probabilities(statistics)
        for first, last in _parts(expression_offsets):
            begin, end = expression_offsets[first], expression_offsets[last]
            trees = self._unfolded(roots[first:last], int(end - begin))
            leaves[begin:end], is_chosen[begin:end] = _labelled(trees, last - first, labeller, probability)
        is_tested, leads_to = np.zeros(len(roots), np.uint8), np.zeros(n_leaves, np.int32)
        annotate_expressions(frozen(expression_offsets, np.int32), is_chosen, MOST_TESTED, is_tested, leads_to)
        conjunction_of, conjunctions = self._conjunctions(leaves, statistics)
        annotation_offsets = np.zeros(conjunctions.n_conjunctions + 1, np.int32)
        annotations = np.zeros(int(np.sum(leads_to >= 0)), np.int32)
        list_annotations(conjunction_of, leads_to, annotation_offsets, annotations)
        return Annotated(
            Annotations(
                frozen(annotation_offsets, np.int32),
                frozen(annotations, np.int32),
                frozen(conjunction_of, np.int32),
                frozen(np.repeat(np.arange(len(roots), dtype=np.int32), np.diff(expression_offsets)), np.int32),
                frozen(is_tested, np.uint8),
                frozen(expression_offsets, np.int32),
                frozen(_offsets(np.bincount(expression, minlength=len(roots))), np.int32),
                frozen(rules[np.argsort(expression, kind="stable")], np.int32),
            ),
            conjunctions,
        )

    def _unfolded(self, roots: NDArray[np.int32], n_leaves: int) -> Trees:
        n_nodes = 2 * n_leaves
        trees = Trees(
            np.zeros(len(roots) + 1, np.int64),
            np.zeros(n_nodes, np.uint8),
            np.zeros(n_nodes, np.int32),
            np.zeros(n_nodes, np.int32),
        )
        stack = np.zeros((3, self._depth), np.int64)
        unfold(self._nodes, self.program.n_literals, self._n_leaves, self._n_joined, roots, stack, trees)
        return trees

    def _leaf_probabilities(self, statistics: Statistics | None) -> NDArray[np.float64]:
        """Return for each node that a leaf may come from, and last for ALWAYS, how often the leaf is true.

        An AND node's leaf is of its literals and of those that dissolved AND nodes bring along.
        """
        program = self.program
        probability = np.append(node_probabilities(program, statistics), 1.0)
        first = program.n_literals
        is_or = np.concatenate([np.zeros(first, np.bool_), program.node_op != AND])
        for begin, end in pairwise(program.level_offsets.tolist()):
            if begin == end:
                continue
            offsets = program.child_offsets[begin - first : end - first + 1]
            below = program.children[offsets[0] : offsets[-1]]
            joined = np.where(is_or[below], 1.0, probability[below])
            probability[begin:end] = np.multiply.reduceat(joined, offsets[:-1] - offsets[0])
        return probability

    def _conjunctions(
        self, leaves: NDArray[np.int32], statistics: Statistics | None
    ) -> tuple[NDArray[np.int32], ConjunctionIndex]:
        """Return the conjunction of each leaf, and the index of the distinct ones."""
        n_literals = self.program.n_literals
        is_used = np.zeros(self.program.n_nodes - ALWAYS, np.bool_)
        is_used[leaves - ALWAYS] = True
        used = np.flatnonzero(is_used) + ALWAYS
        n_joined = np.sum(self._n_joined[used[used >= n_literals] - n_literals]) + np.sum(used < n_literals)
        offsets, literals = np.zeros(len(used) + 1, np.int64), np.zeros(int(n_joined), np.int32)
        stack = np.zeros((2, self._depth), np.int64)
        write_conjunctions(self._nodes, n_literals, frozen(used, np.int32), stack, offsets, literals)
        distinct, number = distinct_clauses(iter([Clauses(np.ones(len(used), np.int64), offsets, literals)]))
        number_of = np.zeros(len(is_used), np.int32)
        number_of[used - ALWAYS] = number
        index = ConjunctionIndex.build(self.program, distinct.offsets, distinct.literals, statistics)
        return number_of[leaves - ALWAYS], index


def _labelled(
    trees: Trees, n_trees: int, labeller: Labeller, probability: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the nodes of all leaves in the order of their labels, and which leaves lead to their trees."""
    place = np.flatnonzero(trees.kind[: trees.offsets[n_trees]] == LEAF)
    node = trees.node[place]
    how_often, is_chosen = np.zeros(len(trees.kind)), np.zeros(len(trees.kind), np.uint8)
    how_often[place] = probability[node]
    choose_access_leaves(trees, n_trees, how_often, is_chosen)
    # With their places instead of nodes the labeller gives the order of the leaves.
    trees.node[place] = np.arange(len(place))
    order = np.zeros(len(place), np.int32)
    labeller.label(trees, n_trees, order)
    return node[order], is_chosen[place[order]]


def _offsets(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _parts(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield runs of expressions of some LEAVES_AT_ONCE leaves, or of one expression that has more."""
    first, n_expressions = 0, len(offsets) - 1
    while first < n_expressions:
        fitting = int(np.searchsorted(offsets, offsets[first] + LEAVES_AT_ONCE, side="right")) - 1
        last = max(first + 1, fitting)
        yield first, last
        first = last

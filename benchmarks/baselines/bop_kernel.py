"""BoP's two steps (a-tree2021, Section 2): true predicates are counted, expressions with enough of them evaluated.

The paper stores an expression as a row of operators, numbers of children and predicates. Here it is a row of its
predicates alone, each with where to go on when it is true and when it is false, so that a row is evaluated without a
stack and no predicate is looked at once the value of the operator above it is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import (
    LOW_SIX,
    ONE,
    SIX,
    prefetch,
)
from ruledex.compiled.constants import AND
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import Nodes
from ruledex.engines.kindex.matching import Owners, collect_rules, mark_rules

from .true_literals_kernel import tick

ACCEPT, REJECT = -1, -2
AHEAD = 12  # candidates by which an expression is asked for before it is evaluated


class CountedExpressions(NamedTuple):
    """The expressions that each literal is in; behind the literals' lists comes that of what needs no predicate.

    The steps of expression e begin at `first_step[e]`. A step is two numbers: `literal << 1 | value`, and the step,
    counted from the expression's first, that comes next if the literal has that value, ACCEPT or REJECT; otherwise the
    next step is the one behind it. The literal behind all others is always true, and ends each row.
    """

    list_offsets: NDArray[np.int64]  # [n_literals + 2]
    entries: NDArray[np.int32]  # expressions, as often as they have the literal
    needed: NDArray[Any]  # [n_expressions] predicates that must hold, at least 1
    first_step: NDArray[np.int64]  # [n_expressions]
    steps: NDArray[np.int32]
    owner_offsets: NDArray[np.int32]
    owner_rules: NDArray[np.int32]


@jit
def measure_nodes(
    nodes: Nodes, is_weak: NDArray[np.uint8], n_leaves: NDArray[np.int64], needed: NDArray[np.int64]
) -> None:
    """For each node, how many leaves it has when it is unfolded, and how many of them must hold for it to be true.

    A leaf that stands twice counts twice, here and when an event is counted. A WEAK ∉ holds unless it is violated, and
    counts in neither. Both arrays have an entry a node, or more.
    """
    operations, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    n_literals = is_weak.size
    for literal in range(n_literals):
        n_leaves[literal] = 1
        needed[literal] = 1 - is_weak[literal]
    for inner in range(operations.size):
        begin, end = child_offsets[inner], child_offsets[inner + 1]
        leaves, least = 0, needed[children[begin]]
        for place in range(begin, end):
            leaves += n_leaves[children[place]]
            if place > begin:
                below = needed[children[place]]
                least = least + below if operations[inner] == AND else min(least, below)
        n_leaves[n_literals + inner] = leaves
        needed[n_literals + inner] = least


@jit
def encode_expressions(
    nodes: Nodes,
    n_leaves: NDArray[np.int64],
    n_literals: int,
    roots: NDArray[np.int32],
    first_step: NDArray[np.int64],
    stack: NDArray[np.int64],
    steps: NDArray[np.int32],
) -> None:
    """Write the steps of all expressions; a negative root is an expression that is always true.

    `stack` has three columns, and as many rows as children stand beside the way down to a leaf.
    """
    operations, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    for expression in range(roots.size):
        first = first_step[expression]
        step, depth = 0, 0
        if roots[expression] >= 0:
            stack[0, 0], stack[0, 1], stack[0, 2] = roots[expression], ACCEPT, REJECT
            depth = 1
        while depth > 0:
            depth -= 1
            node, if_true, if_false = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            if node < n_literals:
                # Only behind the last leaf of all there is neither: the end of the row comes next, which rejects.
                value = 0 if if_true == step + 1 else 1
                steps[2 * (first + step)] = node << 1 | value
                steps[2 * (first + step) + 1] = if_true if value == 1 else if_false
                step += 1
                continue
            inner = node - n_literals
            behind = step + n_leaves[node]
            for place in range(child_offsets[inner + 1] - 1, child_offsets[inner] - 1, -1):
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = children[place], if_true, if_false
                if place < child_offsets[inner + 1] - 1:
                    stack[depth, 1 if operations[inner] == AND else 2] = behind
                behind -= n_leaves[children[place]]
                depth += 1
        steps[2 * (first + step)] = n_literals << 1 | 1
        steps[2 * (first + step) + 1] = REJECT if roots[expression] >= 0 else ACCEPT


@jit
def bop_match(
    index: CountedExpressions,
    facts: Any,
    alive: NDArray[np.uint8],
    first_event: int,
    last_event: int,
    holds: NDArray[np.uint8],
    counters: NDArray[Any],
    found: NDArray[np.int32],
    answer: Any,
) -> tuple[int, int]:
    """Match events while there is room; return the event that comes next, and how many rules were written.

    `holds` has an entry a literal, 1 for a WEAK ∉ and else 0, and a last one that is 1; it is left so.
    """
    list_offsets, entries, needed = index.list_offsets, index.entries, index.needed
    first_step, steps = index.first_step, index.steps
    owners = Owners(index.owner_offsets, index.owner_rules)
    fact_offsets, literals = facts.offsets, facts.literals
    marks, offsets, out, work = answer.marks, answer.offsets, answer.out, answer.work
    always = list_offsets.size - 2
    event, n_written, n_rules = first_event, 0, 64 * marks.size
    while event < last_event and n_written + n_rules <= out.size:
        counters[:] = needed
        n_entries, n_found = 0, 0
        begin, end = fact_offsets[event], fact_offsets[event + 1]
        for place in range(begin, end + 1):
            literal = literals[place] if place < end else always
            if literal < 0:
                holds[~literal] = 0
                continue
            holds[literal] = 1
            for entry in range(list_offsets[literal], list_offsets[literal + 1]):
                expression = entries[entry]
                left = counters[expression]
                if left != 0:
                    counters[expression] = left - 1
                    if left == 1:
                        marks[np.uint64(expression) >> SIX] |= ONE << (np.uint64(expression) & LOW_SIX)
            n_entries += list_offsets[literal + 1] - list_offsets[literal]
        # In the order of memory: evaluation alone took 0.4 of its time in the order in which they were found.
        n_candidates = collect_rules(marks, found)
        for candidate in range(n_candidates):
            if candidate + AHEAD < n_candidates:
                prefetch(steps, 2 * first_step[found[candidate + AHEAD]])
            first = first_step[found[candidate]]
            step = 0
            while step >= 0:
                word = steps[2 * (first + step)]
                if holds[word >> 1] == word & 1:
                    step = steps[2 * (first + step) + 1]
                else:
                    step += 1
            if step == ACCEPT:
                found[n_found] = found[candidate]
                n_found += 1
        tick(literals, begin, end, holds, 0)
        mark_rules(owners, found, n_found, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        work[0] += n_entries
        work[1] += n_candidates
        event += 1
        offsets[event] = offsets[first_event] + n_written
    return event, n_written

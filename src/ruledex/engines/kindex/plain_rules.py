"""Rules whose score is that of a normal form as it is indexed: the paper's own scores (whang2009, Section 2.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import AND, LEAF, OPERATION, OR, STEP_BITS, WEIGH
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.inputs import Nodes
from ruledex.program.scores.run import ScorePrograms

MOST_LITERALS = 512  # of a rule that is looked at
NO_FORM = -1


@inlined
def _flatten(
    root: int,
    n_literals: int,
    outer: int,
    node_op: NDArray[np.uint8],
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    stack: NDArray[np.int32],
    ends: NDArray[np.int32],
    literals: NDArray[np.int32],
) -> int:
    """Write the clauses of a match tree that is a normal form as it stands; return how many, or `NO_FORM`.

    An AND below an AND and an OR below an OR are one with the node above. A literal that one clause has twice might
    score twice, and then the tree is not such a form.
    """
    n_clauses, n_written, height = 0, 0, 0
    if root >= 0:
        stack[0], height = root, 1
    n_outer = 0  # nodes at the bottom of the stack that are not of the clause at hand
    while height > 0:
        height -= 1
        node = stack[height]
        n_outer = min(n_outer, height)
        first = ends[n_clauses - 1] if n_clauses > 0 else 0
        is_inner = node >= n_literals
        if is_inner and height + child_offsets[node - n_literals + 1] - child_offsets[node - n_literals] > stack.size:
            return NO_FORM
        is_outer = is_inner and node_op[node - n_literals] == outer
        if is_outer and (n_written > first or height > n_outer):
            return NO_FORM
        if is_inner:
            for place in range(child_offsets[node - n_literals], child_offsets[node - n_literals + 1]):
                stack[height] = children[place]
                height += 1
            if is_outer:
                n_outer = height
            continue
        for place in range(first, n_written):
            if literals[place] == node:
                return NO_FORM
        if n_written == literals.size:
            return NO_FORM
        literals[n_written] = node
        n_written += 1
        if height <= n_outer:
            ends[n_clauses] = n_written
            n_clauses += 1
    return n_clauses


@inlined
def _takes_clause(
    clause: NDArray[np.int32],
    first: int,
    last: int,
    n_clauses: int,
    ends: NDArray[np.int32],
    literals: NDArray[np.int32],
    is_taken: NDArray[np.uint8],
) -> bool:
    """Take the clause that has the literals `clause[first:last]`, in any order; return whether there was one."""
    begin = 0
    for number in range(n_clauses):
        end = ends[number]
        n_same = 0
        for place in range(begin, end):
            for other in range(first, last):
                if clause[other] == literals[place]:
                    n_same += 1
                    break
        if is_taken[number] == 0 and end - begin == last - first and n_same == end - begin:
            is_taken[number] = 1
            return True
        begin = end
    return False


@jit
def find_plain_rules(
    nodes: Nodes,
    programs: ScorePrograms,
    n_literals: int,
    outer: int,
    is_plain: NDArray[np.bool_],
    largest: NDArray[np.float64],
) -> None:
    """Note which rules are *plain*: their match tree is a normal form, and their score tree the same form.

    A rule that has no score program is scored by its match tree. One that has is plain where each clause of the score
    tree is another one of the match tree, and only literals have weights. `largest` has one entry per literal, 0
    before, and gets a weight that no plain rule exceeds for it.
    """
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    score_offsets, score_code, score_weight = programs.score_offsets, programs.score_code, programs.score_weight
    stack, ends = np.empty(MOST_LITERALS, np.int32), np.empty(MOST_LITERALS, np.int32)
    literals, clause = np.empty(MOST_LITERALS, np.int32), np.empty(MOST_LITERALS, np.int32)
    is_taken = np.zeros(MOST_LITERALS, np.uint8)
    inner = AND if outer == OR else OR
    for rule in range(is_plain.size):
        first, last = score_offsets[rule], score_offsets[rule + 1]
        n_clauses = _flatten(
            programs.root[rule], n_literals, outer, node_op, child_offsets, children, stack, ends, literals
        )
        plain = n_clauses != NO_FORM and (first == last or n_clauses > 0) and last - first <= clause.size
        is_taken[: max(n_clauses, 0)] = 0
        n_alone, n_joined = 0, 0  # literals of the score tree that no operation has joined, and clauses of those it has
        for place in range(first, last if plain else first):
            operation, argument = score_code[place] & OPERATION, score_code[place] >> STEP_BITS
            if operation == LEAF:
                clause[n_alone] = argument
                n_alone += 1
                follows = score_code[min(place + 1, last - 1)]
                is_weighed = follows & OPERATION == WEIGH
                largest[argument] = max(largest[argument], score_weight[follows >> STEP_BITS] if is_weighed else 1.0)
            elif operation == WEIGH:
                plain = plain and score_code[place - 1] & OPERATION == LEAF
            elif operation == inner and argument <= n_alone:
                n_alone -= argument
                n_joined += 1
                plain = plain and _takes_clause(
                    clause, n_alone, n_alone + argument, n_clauses, ends, literals, is_taken
                )
            else:
                plain = plain and operation == outer and place == last - 1 and argument == n_joined + n_alone
        for alone in range(n_alone):
            plain = plain and _takes_clause(clause, alone, alone + 1, n_clauses, ends, literals, is_taken)
        is_plain[rule] = plain
        if plain and first == last and n_clauses > 0:
            for place in range(ends[n_clauses - 1]):
                largest[literals[place]] = max(largest[literals[place]], 1.0)

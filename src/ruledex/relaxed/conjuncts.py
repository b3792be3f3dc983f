"""Rules taken apart for relaxed matching: branches, their conjuncts, and the keys under which a conjunct is found.

A rule that is an OR has its operands as branches, any other rule has one branch. A branch that is an AND has its
operands as conjuncts, any other branch has one conjunct. Each conjunct has its own score program, with the steps of
program/program.py.

The *keys* of a conjunct are literals with points, such that

    where the conjunct is true, at least one of its keys is true, and
    it scores no more than its true keys have points together, each times the event's weight.

A leaf is its own key with the points that it scores. An OR has the keys of all operands. An AND needs the keys of some
of its operands only: those that score, or all if none does. XOR and XNOR may be true because a side is false, so below
them what makes a leaf false is a key too, of no points, and so is what is always there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import (
    AND,
    CONSTANT,
    EVERY,
    FALSE_BY,
    IS_TRUE,
    LEAF,
    OPERATION,
    OR,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
    XNOR,
    XOR,
)
from ruledex.compiled.decorator import inlined, jit

_NOT_ENTERED = -1
EVERY_EVENT = -1  # its key, in place of a literal


class Conjuncts(NamedTuple):
    """Rule r has the branches from `branch_offsets[r]` on, and branch b the conjuncts from `conjunct_offsets[b]` on."""

    branch_offsets: NDArray[np.int32]  # [n_rules + 1]
    conjunct_offsets: NDArray[np.int32]  # [n_branches + 1]
    code_offsets: NDArray[np.int32]  # [n_conjuncts + 1]
    code: NDArray[np.int32]
    is_marked: NDArray[np.uint8]  # [n_conjuncts] whether it was written as REQUIRED(…)


@inlined
def find_operands(code: NDArray[np.int32], first: int, last: int, starts: NDArray[np.int64]) -> int:
    """Write where each of the values begins that the steps from `first` up to `last` leave; return how many."""
    height = 0
    for place in range(first, last):
        operation, argument = code[place] & OPERATION, code[place] >> STEP_BITS
        if operation in (LEAF, CONSTANT):
            starts[height] = place
            height += 1
        elif operation not in (FALSE_BY, WEIGH):
            height -= argument - 1
    return height


@jit
def split_rules(
    rule_offsets: NDArray[np.int64],
    code: NDArray[np.int32],
    weight: NDArray[np.float64],
    branch_starts: NDArray[np.int64],
    starts: NDArray[np.int64],
    out: Conjuncts,
) -> tuple[int, int]:
    """Write the branches and conjuncts of all rules; return how many there are of each.

    A leaf that is several literals and a constant, as a set test is, stays one conjunct. The two lists of starts are
    scratch as long as the longest rule.
    """
    branch_offsets, conjunct_offsets, code_offsets = out.branch_offsets, out.conjunct_offsets, out.code_offsets
    out_code, is_marked = out.code, out.is_marked
    n_branches, n_conjuncts, n_steps = 0, 0, 0
    for rule in range(rule_offsets.size - 1):
        first, last = rule_offsets[rule], rule_offsets[rule + 1]
        n_parts = 1
        branch_starts[0] = first
        if code[last - 1] & OPERATION == OR:
            last -= 1
            n_parts = find_operands(code, first, last, branch_starts)
        for part in range(n_parts):
            begin = branch_starts[part]
            end = branch_starts[part + 1] if part + 1 < n_parts else last
            n_operands = 1
            starts[0] = begin
            if code[end - 1] & OPERATION == AND:
                n_operands = find_operands(code, begin, end - 1, starts)
                if n_operands == 2 and code[starts[1]] == SCORES_ONE << STEP_BITS | CONSTANT:
                    n_operands = 1
                else:
                    end -= 1
            for operand in range(n_operands):
                stop = starts[operand + 1] if operand + 1 < n_operands else end
                step = code[stop - 1]
                marked = step & OPERATION == WEIGH and weight[step >> STEP_BITS] == 1.0
                is_marked[n_conjuncts] = marked
                for place in range(starts[operand], stop - 1 if marked else stop):
                    out_code[n_steps] = code[place]
                    n_steps += 1
                n_conjuncts += 1
                code_offsets[n_conjuncts] = n_steps
            n_branches += 1
            conjunct_offsets[n_branches] = n_conjuncts
        branch_offsets[rule + 1] = n_branches
    return n_branches, n_conjuncts


@inlined
def _is_exclusive(code: NDArray[np.int32], first: int, last: int) -> bool:
    """Return whether there is an XOR or an XNOR in it."""
    found = False
    for place in range(first, last):
        operation = code[place] & OPERATION
        found = found or (operation > OR and operation < LEAF)
    return found


@inlined
def _add_and(
    keys: NDArray[np.int32], points: NDArray[np.float64], starts: NDArray[np.int64], first: int, last: int, n_keys: int
) -> int:
    """Leave of an AND's operands, whose keys begin at `starts[first:last]`, those that are needed; return `n_keys`."""
    if last - first == 2 and n_keys - starts[last - 1] == 1 and keys[n_keys - 1] == EVERY_EVENT:
        # What is always true is found under the keys of the other operand.
        n_keys -= 1
        for key in range(starts[first], n_keys):
            points[key] += points[n_keys]
        return n_keys
    scores = False
    for key in range(starts[first], n_keys):
        scores = scores or points[key] > 0.0
    n_kept = starts[first]
    for operand in range(first, last):
        end = starts[operand + 1] if operand + 1 < last else n_keys
        operand_scores = False
        for key in range(starts[operand], end):
            operand_scores = operand_scores or points[key] > 0.0
        if operand_scores or not scores:
            for key in range(starts[operand], end):
                keys[n_kept], points[n_kept] = keys[key], points[key]
                n_kept += 1
    return int(n_kept)


@inlined
def _key_of(n_positive: int, presence: NDArray[np.int32], literal: int) -> int:
    """Return the literal, or what each event has where that is all that it needs to be there."""
    is_everywhere = literal >= n_positive and presence[literal - n_positive] == EVERY
    return EVERY_EVENT if is_everywhere else literal


@inlined
def _write_conjunct(
    n_positive: int,
    presence: NDArray[np.int32],
    code: NDArray[np.int32],
    weight: NDArray[np.float64],
    first: int,
    last: int,
    starts: NDArray[np.int64],
    keys: NDArray[np.int32],
    points: NDArray[np.float64],
    n_keys: int,
) -> int:
    """Write the keys of one conjunct from `n_keys` on; return the new number. `starts` is a stack."""
    exclusive = _is_exclusive(code, first, last)
    height = 0
    for place in range(first, last):
        operation, argument = code[place] & OPERATION, code[place] >> STEP_BITS
        if operation == LEAF:
            starts[height] = n_keys
            height += 1
            keys[n_keys] = _key_of(n_positive, presence, argument)
            points[n_keys] = 1.0 if argument < n_positive else 0.0
            n_keys += 1
        elif operation == CONSTANT:
            starts[height] = n_keys
            height += 1
            if exclusive or argument in (IS_TRUE, SCORES_ONE):
                keys[n_keys], points[n_keys] = EVERY_EVENT, 1.0 if argument == SCORES_ONE else 0.0
                n_keys += 1
        elif operation == FALSE_BY:
            if exclusive:
                keys[n_keys], points[n_keys] = _key_of(n_positive, presence, argument), 0.0
                n_keys += 1
        elif operation == WEIGH:
            for key in range(starts[height - 1], n_keys):
                points[key] *= weight[argument]
        else:
            height -= argument
            if operation == AND and not exclusive:
                n_keys = _add_and(keys, points, starts, height, height + argument, n_keys)
            elif argument == 1 and operation in (XOR, XNOR):
                for key in range(starts[height], n_keys):
                    points[key] = 0.0
                if operation == XNOR:  # IS UNKNOWN needs nothing to be there
                    keys[n_keys], points[n_keys] = EVERY_EVENT, 0.0
                    n_keys += 1
            height += 1
    return n_keys


@inlined
def _cost(keys: NDArray[np.int32], first: int, last: int) -> int:
    """Estimate how often the keys are met: a key that each event has counts more than all others."""
    cost = last - first
    for key in range(first, last):
        if keys[key] == EVERY_EVENT:
            cost += keys.size
    return cost


@jit
def write_conjunct_keys(
    n_positive: int,
    presence: NDArray[np.int32],
    conjuncts: Conjuncts,
    weight: NDArray[np.float64],
    bound: NDArray[np.float64],
    starts: NDArray[np.int64],
    keys: NDArray[np.int32],
    points: NDArray[np.float64],
    branch_of: NDArray[np.int32],
) -> int:
    """Write the keys of all branches; return how many, which is at the most as many as there are steps.

    A branch is found under the keys of all conjuncts that may score, which are those with a `bound` above 0. If none
    does then all must hold, and the keys of one are enough. `starts` is scratch as long as the longest conjunct.
    """
    conjunct_offsets, code_offsets, code = conjuncts.conjunct_offsets, conjuncts.code_offsets, conjuncts.code
    n_keys = 0
    for branch in range(conjunct_offsets.size - 1):
        begin, end = conjunct_offsets[branch], conjunct_offsets[branch + 1]
        first = n_keys
        scores = False
        for conjunct in range(begin, end):
            scores = scores or bound[conjunct] > 0.0
        for conjunct in range(begin, end):
            if scores and bound[conjunct] == 0.0:
                continue
            before = n_keys
            n_keys = _write_conjunct(
                n_positive,
                presence,
                code,
                weight,
                code_offsets[conjunct],
                code_offsets[conjunct + 1],
                starts,
                keys,
                points,
                n_keys,
            )
            if not scores and conjunct > begin:
                n_more = n_keys - before
                n_keys = before
                if _cost(keys, before, before + n_more) < _cost(keys, first, before):
                    for key in range(n_more):
                        keys[first + key], points[first + key] = keys[before + key], points[before + key]
                    n_keys = first + n_more
        branch_of[first:n_keys] = branch
    return n_keys

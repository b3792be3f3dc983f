"""Rules taken apart for relaxed matching: branches, their conjuncts, and each conjunct's own score program.

A rule that is an OR has its operands as branches, any other has one; a branch that is an AND has its operands as
conjuncts, any other has one. Steps are those of a score program (see encode/program.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import inlined, jit
from ruledex.kernels.score import (
    AND,
    CONSTANT,
    FALSE_BY,
    LEAF,
    OPERATION,
    OR,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
)

ALWAYS = -1  # as in a Program
_NOT_ENTERED = -1


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

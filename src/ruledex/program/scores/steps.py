"""Write every rule as steps of a score program, also those whose program is empty because it is their match tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import ALWAYS, CONSTANT, IS_FALSE, IS_TRUE, LEAF, STEP_BITS
from ruledex.compiled.decorator import jit
from ruledex.program.scores.run import ScorePrograms

_NOT_ENTERED = -1


class WalkStack(NamedTuple):
    """Scratch of a walk down a match tree, with one entry more than there are levels."""

    node: NDArray[np.int32]
    next_child: NDArray[np.int64]
    n_operands: NDArray[np.int64]


@jit
def count_steps(programs: ScorePrograms, sizes: NDArray[np.int64], n_steps: NDArray[np.int64]) -> None:
    """Write the largest number of steps that each rule can have; `sizes` is scratch with one entry per node."""
    n_literals = sizes.size - programs.node_op.size
    sizes[:n_literals] = 1
    for inner in range(programs.node_op.size):
        size = 1
        for place in range(programs.child_offsets[inner], programs.child_offsets[inner + 1]):
            size += sizes[programs.children[place]]
        sizes[n_literals + inner] = size
    for rule in range(programs.root.size):
        n_steps[rule] = programs.score_offsets[rule + 1] - programs.score_offsets[rule]
        if n_steps[rule] == 0:
            n_steps[rule] = sizes[programs.root[rule]] if programs.root[rule] >= 0 else 1


@jit
def write_rule_steps(
    programs: ScorePrograms,
    n_literals: int,
    stack: WalkStack,
    rules: NDArray[np.int32],
    offsets: NDArray[np.int64],
    code: NDArray[np.int32],
) -> None:
    """Write the score programs of some rules; the match tree is written where the program is empty.

    ANDs in ANDs and ORs in ORs, which a match tree may have because of sharing, are joined.
    """
    score_offsets, score_code, roots = programs.score_offsets, programs.score_code, programs.root
    operations, child_offsets, children = programs.node_op, programs.child_offsets, programs.children
    nodes, next_child, n_operands = stack.node, stack.next_child, stack.n_operands
    place = 0
    for number in range(rules.size):
        rule = rules[number]
        for step in range(score_offsets[rule], score_offsets[rule + 1]):
            code[place] = score_code[step]
            place += 1
        height = -1
        if score_offsets[rule] == score_offsets[rule + 1]:
            if roots[rule] < 0:
                code[place] = (IS_TRUE if roots[rule] == ALWAYS else IS_FALSE) << STEP_BITS | CONSTANT
                place += 1
            else:
                height, nodes[0], next_child[0] = 0, roots[rule], _NOT_ENTERED
        while height >= 0:
            node = nodes[height]
            n_made = 1
            if node < n_literals:
                code[place] = node << STEP_BITS | LEAF
                place += 1
            else:
                inner = node - n_literals
                if next_child[height] == _NOT_ENTERED:
                    next_child[height], n_operands[height] = child_offsets[inner], 0
                if next_child[height] < child_offsets[inner + 1]:
                    nodes[height + 1] = children[next_child[height]]
                    next_child[height + 1] = _NOT_ENTERED
                    next_child[height] += 1
                    height += 1
                    continue
                if height > 0 and operations[inner] == operations[nodes[height - 1] - n_literals]:
                    n_made = n_operands[height]
                else:
                    code[place] = n_operands[height] << STEP_BITS | operations[inner]
                    place += 1
            height -= 1
            if height >= 0:
                n_operands[height] += n_made
        offsets[number + 1] = place

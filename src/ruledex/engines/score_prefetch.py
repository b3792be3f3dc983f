"""Ask the memory for what rules are scored by, before it is read.

A rule leads to its root, the root to its children, they to theirs, and these to the records of literals; each is read
where the one before says, and is seldom in the cache. For one rule after another these are twenty waits per rule; for
many rules side by side, the loads of one step do not wait for each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import prefetch
from ruledex.compiled.decorator import jit
from ruledex.program.scores.literals import FIELDS
from ruledex.program.scores.run import ScoreBounds, ScorePrograms

MOST = 8  # children of a node, and operands of a program: what lies behind is on its way by then


@jit
def ask_for_rules(
    programs: ScorePrograms,
    bounds: ScoreBounds,
    records: NDArray[np.int32],
    rules: NDArray[np.int32],
    needed: NDArray[np.float64],
    n_rules: int,
) -> None:
    """Ask for what `match_scores` reads of the first `n_rules` of some rules, two levels down."""
    code_offsets, code, roots = programs.score_offsets, programs.score_code, programs.root
    operations, child_offsets, children = programs.node_op, programs.child_offsets, programs.children
    of_operand, operand_offsets = bounds.of_operand, bounds.offsets
    operand_begin, operand_guard = bounds.operand_begin, bounds.operand_guard
    n_literals = records.size // FIELDS
    for place in range(n_rules):
        prefetch(code_offsets, np.int64(rules[place]))
        prefetch(operand_offsets, np.int64(rules[place]))
        prefetch(roots, np.int64(rules[place]))
    for place in range(n_rules):
        first, root = code_offsets[rules[place]], roots[rules[place]]
        if first < code_offsets[rules[place] + 1]:
            opens = np.int64(operand_offsets[rules[place]])
            prefetch(of_operand, opens)
            prefetch(operand_guard, opens)
            prefetch(operand_begin, opens)
        elif root >= n_literals:
            prefetch(operations, np.int64(root - n_literals))
            prefetch(child_offsets, np.int64(root - n_literals))
    for place in range(n_rules):
        first, last, root = code_offsets[rules[place]], code_offsets[rules[place] + 1], roots[rules[place]]
        if first < last:
            begin, end = operand_offsets[rules[place]], operand_offsets[rules[place] + 1]
            for operand in range(begin, min(end, begin + MOST)):
                if of_operand[operand] >= needed[place]:
                    prefetch(code, np.int64(operand_begin[operand]))
                    prefetch(records, np.int64(FIELDS) * max(operand_guard[operand], 0))
        if first == last and root >= n_literals:
            prefetch(children, np.int64(child_offsets[root - n_literals]))
    for depth in range(3):
        for place in range(n_rules):
            root = roots[rules[place]]
            if code_offsets[rules[place]] < code_offsets[rules[place] + 1] or root < n_literals:
                continue
            begin, end = child_offsets[root - n_literals], child_offsets[root - n_literals + 1]
            for child in children[begin : min(end, begin + MOST)]:
                if child < n_literals:
                    if depth == 0:
                        prefetch(records, np.int64(FIELDS) * child)
                elif depth == 0:
                    prefetch(operations, np.int64(child - n_literals))
                    prefetch(child_offsets, np.int64(child - n_literals))
                elif depth == 1:
                    prefetch(children, np.int64(child_offsets[child - n_literals]))
                else:
                    first, last = child_offsets[child - n_literals], child_offsets[child - n_literals + 1]
                    for grandchild in range(first, min(last, first + MOST)):
                        if children[grandchild] < n_literals:
                            prefetch(records, np.int64(FIELDS) * children[grandchild])

"""Whether stored nodes and score programs can be walked without looking: a pass each, since they are most of an index.

Offsets are taken as checked: they ascend and end where their arrays do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit
from ruledex.kernels.score import CONSTANT, FALSE_BY, LEAF, OPERATION, SCORES_ONE, STEP_BITS, WEIGH

SOUND = -1


@jit
def first_faulty_node(
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    level_offsets: NDArray[np.int32],
) -> int:
    """The first inner node without two children that ascend and lie below its level; `SOUND` where there is none."""
    first_inner = level_offsets[0]
    for level in range(level_offsets.size - 1):
        for node in range(level_offsets[level] - first_inner, level_offsets[level + 1] - first_inner):
            if child_offsets[node + 1] - child_offsets[node] < 2:
                return node
            before = -1
            for at in range(child_offsets[node], child_offsets[node + 1]):
                if children[at] <= before:
                    return node
                before = children[at]
            if before >= level_offsets[level]:
                return node
    return SOUND


@jit
def first_faulty_score(
    offsets: NDArray[np.int32],
    code: NDArray[np.int32],
    n_weights: int,
    n_literals: int,
) -> int:
    """The first rule whose score program does not leave exactly one value; `SOUND` where there is none."""
    for rule in range(offsets.size - 1):
        height = 0
        for place in range(offsets[rule], offsets[rule + 1]):
            operation, argument = code[place] & OPERATION, code[place] >> STEP_BITS
            if operation == LEAF:
                height += 1
                if not 0 <= argument < n_literals:
                    return rule
            elif operation == FALSE_BY:
                if height < 1 or not 0 <= argument < n_literals:
                    return rule
            elif operation == WEIGH:
                if height < 1 or not 0 <= argument < n_weights:
                    return rule
            elif operation == CONSTANT:
                height += 1
                if not 0 <= argument <= SCORES_ONE:
                    return rule
            else:
                if not 1 <= argument <= height:
                    return rule
                height += 1 - argument
        if height != (offsets[rule] < offsets[rule + 1]):
            return rule
    return SOUND

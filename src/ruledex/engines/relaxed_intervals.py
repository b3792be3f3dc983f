"""Which rules are conjunctions of ranges, as the subscriptions of ranked-pubsub2008 are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ruledex.encode.program import AND, Program


def n_interval_rules(program: Program) -> int:
    """How many rules ask of each of their attributes one stretch of its values, or one value, and nothing else."""
    is_range = np.zeros(program.n_nodes, np.bool_)
    is_range[: program.n_positive] = np.diff(program.interval_offsets) == 1
    for level_begin, level_end in pairwise(program.level_offsets.tolist()):
        begin, end = level_begin - program.n_literals, level_end - program.n_literals
        if begin < end:
            offsets = program.child_offsets[begin : end + 1]
            below = is_range[program.children[offsets[0] : offsets[-1]]]
            all_are = np.logical_and.reduceat(below, offsets[:-1] - offsets[0])
            is_range[level_begin:level_end] = all_are & (program.node_op[begin:end] == AND)
    return int(np.count_nonzero(is_range[program.root[program.root >= 0]]))

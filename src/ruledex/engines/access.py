"""How often each node is true, and the order of children that follows from it.

Frequencies come from what is known of the events, or else from what the rules themselves suggest. An AND node is
reached through the child that is true least often, so the nearer these numbers are to the truth, the fewer nodes are
looked at in vain. Answers do not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import AND, EVERY
from ruledex.compiled.decorator import jit
from ruledex.engines.protocol import Statistics
from ruledex.errors import RuledexError
from ruledex.program.program import Program

MANY_CHILDREN = 64  # of one node; from here on all are sorted by NumPy, which takes longer for few
AT_ONCE = 1 << 17  # nodes
PRESENCE = 0.5  # how often an attribute is there, where nothing is known


@jit
def order_children(
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    probability: NDArray[np.float64],
    out: NDArray[np.int32],
) -> None:
    """Write each node's children, those that are least often true first, ties as they stood.

    By insertion, which suits the few children that most nodes have.
    """
    for node in range(child_offsets.size - 1):
        first, last = child_offsets[node], child_offsets[node + 1]
        for place in range(first, last):
            child = children[place]
            other = place
            while other > first and probability[out[other - 1]] > probability[child]:
                out[other] = out[other - 1]
                other -= 1
            out[other] = child


def cell_frequencies(program: Program, statistics: Statistics | None) -> NDArray[np.float64]:
    """Return for each cell the part of events that have it; without statistics, all cells of a domain count alike."""
    if statistics is not None:
        if statistics.cell_frequency.shape != (program.n_cells,):
            expected = f"but needs one entry for each of {program.n_cells:,} cells"
            raise RuledexError(f"cell_frequency has the shape {statistics.cell_frequency.shape}, {expected}")
        frequency = np.clip(statistics.cell_frequency, 0.0, 1.0)
    else:
        sizes = np.diff(domain_boundaries(program))
        frequency = np.repeat(PRESENCE / sizes, sizes)
    frequency[EVERY] = 1.0
    return frequency


def domain_boundaries(program: Program) -> NDArray[np.int32]:
    """Return where domains begin, and where the last one ends; a Program may leave out the outermost."""
    inside = program.domain_offsets
    return np.unique(np.concatenate([inside, [0, 1, program.n_cells]]).astype(np.int32))


def node_probabilities(program: Program, statistics: Statistics | None) -> NDArray[np.float64]:
    """Return for each node how often it is true, as if children were independent of one another."""
    frequency = cell_frequencies(program, statistics)
    before = np.concatenate([[0.0], np.cumsum(frequency)])
    probability = np.zeros(program.n_nodes)
    width = before[program.interval_high + 1] - before[program.interval_low]
    within = np.concatenate([[0.0], np.cumsum(width)])
    positive = np.clip(np.diff(within[program.interval_offsets]), 0.0, 1.0)
    probability[: program.n_positive] = positive
    probability[program.n_positive : program.n_literals] = np.clip(
        frequency[program.negative_presence] - positive[program.negative_of], 0.0, 1.0
    )
    for begin, end, starts, children in nodes_by_level(program):
        below = probability[children]
        all_true = np.multiply.reduceat(below, starts)
        some_true = 1.0 - np.multiply.reduceat(1.0 - below, starts)
        is_and = program.node_op[begin - program.n_literals : end - program.n_literals] == AND
        probability[begin:end] = np.where(is_and, all_true, some_true)
    return probability


def nodes_by_level(program: Program) -> Iterator[tuple[int, int, NDArray[np.int32], NDArray[np.int32]]]:
    """Yield all inner nodes, those of the lowest level first, some at a time, since what is computed of them is large.

    Yields the first of them and their end, where each node's children begin, and the children.
    """
    n_literals = program.n_literals
    for first, last in pairwise(program.level_offsets.tolist()):
        for begin in range(first, last, AT_ONCE):
            end = min(begin + AT_ONCE, last)
            offsets = program.child_offsets[begin - n_literals : end - n_literals + 1]
            yield begin, end, offsets[:-1] - offsets[0], program.children[offsets[0] : offsets[-1]]


def children_by_probability(program: Program, probability: NDArray[np.float64]) -> NDArray[np.int32]:
    """`program.children`, each node's sorted so that the least often true comes first."""
    n_children = np.diff(program.child_offsets)
    if np.max(n_children, initial=0) <= MANY_CHILDREN:
        out = np.zeros(len(program.children), np.int32)
        order_children(
            frozen(program.child_offsets, np.int32),
            frozen(program.children, np.int32),
            frozen(probability, np.float64),
            out,
        )
        return out
    node = np.repeat(np.arange(len(n_children)), n_children)
    return program.children[np.lexsort((probability[program.children], node))]

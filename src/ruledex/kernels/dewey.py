"""The Expression Evaluator for Dewey IDs (fontoura2010, Section 3.2).

The paper's EVALUATEAND and EVALUATEOR call each other down the virtual tree. Here the nodes that are being explored
stand on a stack, by their depth: an even depth is an AND and an odd one an OR.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.bits import prefetch
from ruledex.kernels.dewey_labels import component_at
from ruledex.kernels.jit import inlined, jit

AHEAD = 8  # how far before its use a line of memory is asked for


class DeweyStack(NamedTuple):
    """The nodes from the root down to a leaf, one longer than the longest ID has components."""

    child: NDArray[np.int64]  # the component of the child that is being explored
    result: NDArray[np.uint8]
    last_explored: NDArray[np.int64]  # of an AND, how many children were explored
    last_child: NDArray[np.uint8]  # of an AND, whether the latest of them is marked


@inlined
def evaluate(
    expression_of: NDArray[np.int32],
    label_offsets: NDArray[np.int32],
    labels: NDArray[np.uint8],
    leaves: NDArray[np.int32],
    first: int,
    last: int,
    child: NDArray[np.int64],
    result: NDArray[np.uint8],
    last_explored: NDArray[np.int64],
    last_child: NDArray[np.uint8],
) -> tuple[bool, int]:
    """Whether the expression of the first of `leaves[first:last]` is true, and where another one's leaves begin.

    Leaves ascend, and so, within an expression, by their IDs.
    """
    expression = expression_of[leaves[first]]
    result[0], last_explored[0], last_child[0] = 1, 0, 0
    n_explored = 0  # the depth of the leaf before
    place = first
    while place < last and expression_of[leaves[place]] == expression:
        if place + 2 * AHEAD < last:
            prefetch(expression_of, np.int64(leaves[place + 2 * AHEAD]))
            prefetch(label_offsets, np.int64(leaves[place + 2 * AHEAD]))
            prefetch(labels, np.int64(label_offsets[leaves[place + AHEAD]]))
        curr, stop = int(label_offsets[leaves[place]]), int(label_offsets[leaves[place] + 1])
        depth = 0
        if place > first:
            component, after = component_at(labels, curr)
            while component == child[depth]:  # the node at this depth is an ancestor of both leaves
                depth += 1
                curr = after
                component, after = component_at(labels, curr)
        _return_to(depth, n_explored, result, last_child)
        n_explored = depth
        place += 1
        if result[depth] == depth & 1:  # false for an AND and true for an OR: other children change nothing
            continue
        while curr < stop:
            component, curr = component_at(labels, curr)
            child[depth] = component
            if depth & 1 == 0:
                last_explored[depth] += 1
                if component >> 1 != last_explored[depth]:
                    result[depth] = 0
                last_child[depth] = component & 1
            depth += 1
            result[depth], last_explored[depth], last_child[depth] = 1 - (depth & 1), 0, 0
        result[depth], last_child[depth] = 1, 1  # a leaf that was found is true
        n_explored = depth
    _return_to(0, n_explored, result, last_child)
    return bool(result[0] & last_child[0]), place


@inlined
def _return_to(depth: int, n_explored: int, result: NDArray[np.uint8], last_child: NDArray[np.uint8]) -> None:
    """Return the results of the nodes below `depth`, each to the node above it."""
    while n_explored > depth:
        if n_explored & 1 == 0:
            result[n_explored - 1] |= result[n_explored] & last_child[n_explored]
        else:
            result[n_explored - 1] &= result[n_explored]
        n_explored -= 1


@jit
def evaluate_dewey(
    expression_of: NDArray[np.int32],
    label_offsets: NDArray[np.int32],
    labels: NDArray[np.uint8],
    stack: DeweyStack,
    leaf_offsets: NDArray[np.int64],
    leaves: NDArray[np.int32],
    n_events: int,
    true_offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the expressions that the true leaves of each event make true, ascending, and where each event's end.

    Leaves ascend within an event. `out` may be `leaves` itself: there are never more expressions than leaves before
    them.
    """
    child, result, last_explored, last_child = stack.child, stack.result, stack.last_explored, stack.last_child
    n_true = 0
    true_offsets[0] = 0
    for event in range(n_events):
        place, last = leaf_offsets[event], leaf_offsets[event + 1]
        while place < last:
            expression = expression_of[leaves[place]]
            is_true, place = evaluate(
                expression_of, label_offsets, labels, leaves, place, last, child, result, last_explored, last_child
            )
            out[n_true] = expression
            n_true += 1 if is_true else 0
        true_offsets[event + 1] = n_true

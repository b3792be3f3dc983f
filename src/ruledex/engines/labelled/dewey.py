"""`dewey`: arbitrary trees over the K-index, by Dewey IDs (fontoura2010, Section 3).

A Dewey ID names a leaf by the numbers of the edges from the root to it (Section 3.1). The root is an AND, an artificial
one if need be. A component is twice an edge's number, counted from 1, plus 1 where the edge is marked (the paper's *):
the edge to the last child of an AND is. In bytes, a component takes seven bits of each, the lowest first, and the
highest bit of a byte says that more follow: mostly one byte is enough.

In the Expression Evaluator (Section 3.2), the paper's EVALUATEAND and EVALUATEOR call each other down the virtual tree.
Here the nodes that are being explored stand on a stack, by their depth: an even depth is an AND and an odd one an OR.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.bits import prefetch
from ruledex.compiled.constants import AND
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.inputs import LARGEST, array_of
from ruledex.engines.labelled.annotator import LEAF, Labels, Trees
from ruledex.engines.labelled.engine import AnnotatedEngine, LabelledScratch
from ruledex.engines.protocol import Arrays
from ruledex.errors import RuledexError
from ruledex.program.program import Program

MORE = 128  # the bit of a byte that is not the last of its component
ONLY_CHILD = 3  # 1*, the component of what stands below an artificial root
AHEAD = 8  # how far before its use a line of memory is asked for


@inlined
def component_at(labels: NDArray[np.uint8], place: int) -> tuple[int, int]:
    """Return the component that begins at `place`, and where the next one does."""
    byte = int(labels[place])
    place += 1
    component = byte
    if byte >= MORE:
        component, shift = byte & (MORE - 1), 7
        while byte >= MORE:
            byte = int(labels[place])
            place += 1
            component |= (byte & (MORE - 1)) << shift
            shift += 7
    return component, place


@jit
def label_leaves(
    trees: Trees,
    n_trees: int,
    stack: NDArray[np.int64],
    leaves: NDArray[np.int32],
    lengths: NDArray[np.int32],
    labels: NDArray[np.uint8],
) -> int:
    """Write the nodes of all leaves in pre-order, how many bytes each ID has, and the IDs one after the other.

    Return how many bytes all IDs have; what `labels` has no room for is counted only. `stack` is scratch of three rows
    (node, number of its children so far, component), two longer than the deepest tree.
    """
    kind, end, node = trees.kind, trees.end, trees.node
    n_leaves, n_bytes = 0, 0
    for tree in range(n_trees):
        first = trees.offsets[tree]
        depth = 0  # of the edge to the node at hand
        for n in range(first, trees.offsets[tree + 1]):
            if n == first:
                if kind[n] != AND:
                    stack[2, 0], depth = ONLY_CHILD, 1
            else:
                while end[stack[0, depth - 1]] <= n:
                    depth -= 1
                parent = stack[0, depth - 1]
                stack[1, depth - 1] += 1
                is_marked = kind[parent] == AND and end[parent] == end[n]
                stack[2, depth - 1] = 2 * stack[1, depth - 1] + (1 if is_marked else 0)
            if kind[n] == LEAF:
                start = n_bytes
                for place in range(depth):
                    rest = stack[2, place]
                    is_written = False
                    while not is_written:
                        is_written = rest < MORE
                        if n_bytes < labels.size:
                            labels[n_bytes] = rest if is_written else (rest & (MORE - 1)) | MORE
                        n_bytes += 1
                        rest >>= 7
                leaves[n_leaves], lengths[n_leaves] = node[n], n_bytes - start
                n_leaves += 1
            else:
                stack[0, depth], stack[1, depth] = n, 0
                depth += 1
    return n_bytes


class DeweyStack(NamedTuple):
    """The nodes from the root down to a leaf, one longer than the longest ID has components."""

    child: NDArray[np.int64]  # the component of the child that is being explored
    result: NDArray[np.uint8]
    last_explored: NDArray[np.int64]  # of an AND, how many children were explored
    last_child: NDArray[np.uint8]  # of an AND, whether the latest of them is marked


@inlined
def evaluate_expression(
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
    """Return whether the expression of the first of `leaves[first:last]` is true, and where another one's leaves begin.

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
            is_true, place = evaluate_expression(
                expression_of, label_offsets, labels, leaves, place, last, child, result, last_explored, last_child
            )
            out[n_true] = expression
            n_true += 1 if is_true else 0
        true_offsets[event + 1] = n_true


def height(program: Program) -> int:
    """Return the most nodes that a path down an unfolded tree has, with an artificial root above and a leaf below."""
    return len(program.level_offsets) + 2


class DeweyLabeller:
    """Gives leaves Dewey IDs, whose order is the pre-order that leaves have already."""

    def __init__(self, most_nodes: int) -> None:
        self._stack = np.zeros((3, most_nodes), np.int64)
        self._lengths = [np.zeros(0, np.int32)]
        self._labels = [np.zeros(0, np.uint8)]

    def label(self, trees: Trees, n_trees: int, leaves: NDArray[np.int32]) -> None:
        """Label the leaves of further trees; write the nodes of the leaves in the order of their labels."""
        lengths, labels = np.zeros(len(leaves), np.int32), np.zeros(0, np.uint8)
        n_bytes = label_leaves(trees, n_trees, self._stack, leaves, lengths, labels)
        labels = np.zeros(n_bytes, np.uint8)
        label_leaves(trees, n_trees, self._stack, leaves, lengths, labels)
        self._lengths.append(lengths)
        self._labels.append(labels)

    def labels(self) -> Labels:
        """Return the bytes of all IDs, and where each begins and the last one ends."""
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(self._lengths), dtype=np.int64)])
        if offsets[-1] > LARGEST:
            raise RuledexError(f"the Dewey IDs take {offsets[-1]:,} bytes, more than {LARGEST:,}; use several indexes")
        return {
            "label_offsets": frozen(offsets, np.int32),
            "labels": frozen(np.concatenate(self._labels), np.uint8),
        }


class DeweyEngine(AnnotatedEngine):
    """The engine `dewey`. It evaluates an expression along the paths to its true leaves, which their IDs spell out."""

    name = "dewey"

    @classmethod
    def _new_labeller(cls, program: Program) -> DeweyLabeller:
        return DeweyLabeller(height(program))

    @classmethod
    def _stored_labels(cls, arrays: Arrays) -> Labels:
        return {
            "label_offsets": array_of(arrays, "label_offsets", np.int32),
            "labels": array_of(arrays, "labels", np.uint8),
        }

    def _new_evaluation(self) -> DeweyStack:
        most_nodes = height(self.program)
        return DeweyStack(
            np.zeros(most_nodes, np.int64),
            np.zeros(most_nodes, np.uint8),
            np.zeros(most_nodes, np.int64),
            np.zeros(most_nodes, np.uint8),
        )

    def _evaluate(
        self, scratch: LabelledScratch, leaf_offsets: NDArray[np.int64], n_events: int, true_offsets: NDArray[np.int64]
    ) -> None:
        offsets, labels = self.labels["label_offsets"], self.labels["labels"]
        leaves = leaf_offsets, scratch.leaves, n_events, true_offsets, scratch.leaves
        evaluate_dewey(self.annotations.expression_of, offsets, labels, scratch.evaluation, *leaves)

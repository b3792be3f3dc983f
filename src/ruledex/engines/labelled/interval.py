"""`interval`: arbitrary trees over the K-index, by Interval IDs (fontoura2010, Section 4).

An Interval ID is an interval of integers per leaf, both ends inside (Section 4.2). The tree itself has the interval
from 1 to M. The children of an OR have the interval of their parent, those of an AND cut it into parts, and no two
children of ANDs, the first ones left out, begin at the same place. A tree is then true if and only if intervals of true
leaves cover 1 to M without overlap, which is what the Expression Evaluator looks for (Section 4.3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.bits import prefetch
from ruledex.compiled.constants import AND
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import array_of
from ruledex.engines.labelled.annotator import LEAF, Labels, Trees
from ruledex.engines.labelled.engine import AnnotatedEngine, LabelledScratch
from ruledex.engines.protocol import Arrays
from ruledex.program.program import Program

AHEAD = 16  # how far before its use a line of memory is asked for
NARROW, WIDE = np.uint16, np.int32  # the ends of intervals, where no tree has more leaves than the first can count


@jit
def label(
    trees: Trees,
    tree: int,
    m: int,
    left_leaves: NDArray[np.int32],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
) -> None:
    """Write the intervals of a tree's nodes: Algorithm 4, with each node before its children instead of recursion.

    All three arrays have an entry for each node of all trees. `m` is the number of the tree's leaves or more;
    `left_leaves` is scratch: how many leaves of the tree come before a node in pre-order.
    """
    kind, subtree_end = trees.kind, trees.end
    first, last = trees.offsets[tree], trees.offsets[tree + 1]
    n_leaves = 0
    for n in range(first, last):
        left_leaves[n] = n_leaves
        n_leaves += 1 if kind[n] == LEAF else 0
    begin[first], end[first] = 1, m
    for n in range(first, last):
        if kind[n] == LEAF:
            continue
        curr = begin[n]
        c = np.int64(n + 1)
        while c < subtree_end[n]:
            after = np.int64(subtree_end[c])
            size = (left_leaves[after] if after < last else n_leaves) - left_leaves[c]
            begin[c], end[c] = begin[n], end[n]
            if kind[n] == AND:
                begin[c] = curr
                if c == n + 1:
                    end[c] = left_leaves[n] + size
                elif after != subtree_end[n]:
                    end[c] = curr + size - 1
                curr = end[c] + 1
            c = after


@jit
def label_sorted(
    trees: Trees,
    n_trees: int,
    scratch: NDArray[np.int32],
    counts: NDArray[np.int32],
    leaves: NDArray[np.int32],
    begins: NDArray[np.int32],
    ends: NDArray[np.int32],
) -> None:
    """Write the nodes and the intervals of all leaves, within a tree by where they begin. M is the number of leaves.

    `scratch` is three rows of an entry for each node of all trees, `counts` two longer than the most leaves of a tree.
    """
    kind, node = trees.kind, trees.node
    left_leaves, begin, end = scratch[0], scratch[1], scratch[2]
    first_leaf = 0
    for tree in range(n_trees):
        first, last = trees.offsets[tree], trees.offsets[tree + 1]
        m = 0
        for n in range(first, last):
            m += 1 if kind[n] == LEAF else 0
        label(trees, tree, m, left_leaves, begin, end)
        counts[: m + 2] = 0
        for n in range(first, last):
            if kind[n] == LEAF:
                counts[begin[n] + 1] += 1
        for place in range(1, m + 1):
            counts[place] += counts[place - 1]
        for n in range(first, last):
            if kind[n] == LEAF:
                leaf = first_leaf + counts[begin[n]]
                counts[begin[n]] += 1
                leaves[leaf], begins[leaf], ends[leaf] = node[n], begin[n], end[n]
        first_leaf += m


@jit
def match_intervals(
    expression_of: NDArray[np.int32],
    expression_offsets: NDArray[np.int32],
    begin: NDArray[np.integer],
    end: NDArray[np.integer],
    matched: NDArray[np.int64],
    leaf_offsets: NDArray[np.int64],
    leaves: NDArray[np.int32],
    n_events: int,
    true_offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the expressions that the true leaves of each event make true, ascending, and where each event's end.

    Leaves ascend within an event, and so, within an expression, by `begin`. `out` may be `leaves` itself: there are
    never more expressions than leaves before them.

    This is Algorithm 5, MATCH, on one expression after the other. M is an expression's number of leaves; `matched` has
    an entry more than the largest M, and one more at its end. So that it need not be initialised for each expression,
    each has a number of its own for `true`, larger than all before, the last of which stays in the last entry. What is
    smaller is false, and the larger of two is what OR gives.
    """
    true = matched[matched.size - 1]
    n_true = 0
    true_offsets[0] = 0
    for event in range(n_events):
        expression, m = -1, 0
        last = leaf_offsets[event + 1]
        for place in range(leaf_offsets[event], last):
            leaf = leaves[place]
            if place + AHEAD < last:
                coming = np.int64(leaves[place + AHEAD])
                prefetch(expression_of, coming)
                prefetch(begin, coming)
                prefetch(end, coming)
            if expression_of[leaf] != expression:
                if expression >= 0:
                    out[n_true] = expression
                    n_true += 1 if matched[m] == true else 0
                expression = expression_of[leaf]
                m = expression_offsets[expression + 1] - expression_offsets[expression]
                true += 1
                matched[0] = true
            # if matched[begin - 1] then matched[end] ← true; without a branch, which no processor could predict
            matched[end[leaf]] = max(matched[end[leaf]], matched[begin[leaf] - 1])
        if expression >= 0:
            out[n_true] = expression
            n_true += 1 if matched[m] == true else 0
        true_offsets[event + 1] = n_true
    matched[matched.size - 1] = true


class IntervalLabeller:
    """Gives leaves intervals, and orders those of a tree by where they begin."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.integer]] = [np.zeros((2, 0), NARROW)]

    def label(self, trees: Trees, n_trees: int, leaves: NDArray[np.int32]) -> None:
        """Label the leaves of further trees; write the nodes of the leaves in the order of their labels."""
        intervals = np.zeros((2, len(leaves)), np.int32)
        scratch, counts = np.zeros((3, len(trees.kind)), np.int32), np.zeros(len(leaves) + 2, np.int32)
        label_sorted(trees, n_trees, scratch, counts, leaves, *intervals)
        narrow = intervals.max(initial=0) <= np.iinfo(NARROW).max
        self._parts.append(intervals.astype(NARROW) if narrow else intervals)

    def labels(self) -> Labels:
        """Return the two ends of each interval, as narrow as all of them can be."""
        dtype = NARROW if all(part.dtype == NARROW for part in self._parts) else WIDE
        begin, end = np.concatenate(self._parts, axis=1)
        return {"begin": frozen(begin, dtype), "end": frozen(end, dtype)}


class IntervalEngine(AnnotatedEngine):
    """The engine `interval`. An expression is true if intervals of true leaves lie end to end from 1 to M."""

    name = "interval"

    @classmethod
    def _new_labeller(cls, program: Program) -> IntervalLabeller:  # noqa: ARG003 - of any depth
        return IntervalLabeller()

    @classmethod
    def _stored_labels(cls, arrays: Arrays) -> Labels:
        stored = arrays.get("begin")
        dtype = NARROW if stored is not None and stored.dtype == NARROW else WIDE
        return {name: array_of(arrays, name, dtype) for name in ("begin", "end")}

    def _new_evaluation(self) -> NDArray[np.int64]:
        most_leaves = int(np.diff(self.annotations.expression_offsets).max(initial=0))
        return np.zeros(most_leaves + 2, np.int64)

    def _evaluate(
        self, scratch: LabelledScratch, leaf_offsets: NDArray[np.int64], n_events: int, true_offsets: NDArray[np.int64]
    ) -> None:
        trees, begin, end = self.annotations, self.labels["begin"], self.labels["end"]
        leaves = scratch.evaluation, leaf_offsets, scratch.leaves, n_events, true_offsets, scratch.leaves
        match_intervals(trees.expression_of, trees.expression_offsets, begin, end, *leaves)

"""`interval`: arbitrary trees over the K-index, by Interval IDs (fontoura2010, Section 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.program import Program
from ruledex.engines.annotations import AnnotatedEngine, Scratch
from ruledex.engines.annotator import Labels
from ruledex.engines.inputs import array_of, frozen
from ruledex.engines.protocol import Arrays
from ruledex.kernels.annotate import Trees
from ruledex.kernels.interval import match_intervals
from ruledex.kernels.interval_labels import label_sorted

NARROW, WIDE = np.uint16, np.int32  # the ends of intervals, where no tree has more leaves than the first can count


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
        """The two ends of each interval, as narrow as all of them can be."""
        dtype = NARROW if all(part.dtype == NARROW for part in self._parts) else WIDE
        begin, end = np.concatenate(self._parts, axis=1)
        return {"begin": frozen(begin, dtype), "end": frozen(end, dtype)}


class IntervalEngine(AnnotatedEngine):
    """An expression is true when intervals of its true leaves lie end to end from 1 to its number of leaves."""

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
        self, scratch: Scratch, leaf_offsets: NDArray[np.int64], n_events: int, true_offsets: NDArray[np.int64]
    ) -> None:
        match_intervals(
            self.annotations.expression_of,
            self.annotations.expression_offsets,
            self.labels["begin"],
            self.labels["end"],
            scratch.evaluation,
            leaf_offsets,
            scratch.leaves,
            n_events,
            true_offsets,
            scratch.leaves,
        )

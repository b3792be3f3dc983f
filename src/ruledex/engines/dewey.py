"""`dewey`: arbitrary trees over the K-index, by Dewey IDs (fontoura2010, Section 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.program import Program
from ruledex.engines.annotations import AnnotatedEngine, Scratch
from ruledex.engines.annotator import LARGEST, Labels
from ruledex.engines.inputs import array_of, frozen
from ruledex.engines.protocol import Arrays
from ruledex.errors import RuledexError
from ruledex.kernels.annotate import Trees
from ruledex.kernels.dewey import DeweyStack, evaluate_dewey
from ruledex.kernels.dewey_labels import label_leaves


def height(program: Program) -> int:
    """How many nodes a path down an unfolded tree has at the most, with an artificial root above and a leaf below."""
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
        """The bytes of all IDs, and where each begins and the last one ends."""
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(self._lengths), dtype=np.int64)])
        if offsets[-1] > LARGEST:
            raise RuledexError(f"the Dewey IDs take {offsets[-1]:,} bytes, more than {LARGEST:,}; use several indexes")
        return {
            "label_offsets": frozen(offsets, np.int32),
            "labels": frozen(np.concatenate(self._labels), np.uint8),
        }


class DeweyEngine(AnnotatedEngine):
    """An expression is evaluated along the paths from its root to its true leaves, which their IDs spell out."""

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
        self, scratch: Scratch, leaf_offsets: NDArray[np.int64], n_events: int, true_offsets: NDArray[np.int64]
    ) -> None:
        evaluate_dewey(
            self.annotations.expression_of,
            self.labels["label_offsets"],
            self.labels["labels"],
            scratch.evaluation,
            leaf_offsets,
            scratch.leaves,
            n_events,
            true_offsets,
            scratch.leaves,
        )

"""Scan with conjunction match: trees with a conjunction that the index found are evaluated (fontoura2010, Section 5.2).

The index of conjunctions is the one that `dewey` and `interval` have; the trees are the Program's own nodes.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.inputs import nodes_of
from ruledex.engines.labelled.engine import DEFAULT_BUDGET, LabelledOptions
from ruledex.engines.labelled.interval import IntervalEngine
from ruledex.engines.protocol import Statistics
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

from .baseline import Answer, Baseline
from .lookup_kernels import ConjunctionTrees, conjunction_scan
from .true_literals import grouped
from .true_literals_kernel import Facts


class ConjunctionScan(Baseline):
    """Rules that are the same are one tree."""

    name = "scan with conjunctions"
    counted = ("conjunctions found", "trees evaluated")

    def __init__(self, program: Program, statistics: Statistics | None, budget: int) -> None:
        super().__init__(program)
        annotated = IntervalEngine.build(program, statistics, LabelledOptions(budget))
        annotations = annotated.annotations
        self.conjunctions = annotated.conjunctions
        n_trees = len(annotations.expression_offsets) - 1
        pairs = np.unique(annotations.conjunction_of * np.int64(max(n_trees, 1)) + annotations.expression_of)
        conjunction, tree = pairs // max(n_trees, 1), pairs % max(n_trees, 1)
        self.index = ConjunctionTrees(
            *grouped(conjunction, tree, self.conjunctions.n_conjunctions),
            frozen(program.root[annotations.rules[annotations.rule_offsets[:-1]]], np.int32),
            annotations.rule_offsets,
            annotations.rules,
        )
        self._nodes = nodes_of(program)

    @classmethod
    def build(cls, program: Program, statistics: Statistics | None = None, *, budget: int = DEFAULT_BUDGET) -> Self:
        """Index the conjunctions of all trees; a tree of more leaves than `budget` is a BudgetError."""
        return cls(program, statistics, budget)

    def describe(self) -> dict[str, Any]:
        """What the baseline is made of."""
        made = {"n_conjunctions": self.conjunctions.n_conjunctions, "n_trees": len(self.index.root)}
        return {**super().describe(), **made}

    def _arrays(self) -> list[NDArray[Any]]:
        return [*self.index, *self._nodes, *self.conjunctions.arrays().values()]

    def _new_scratch(self, batch: EventBatch) -> Any:
        n_trees = len(self.index.root)
        return (
            self.conjunctions.new_scratch(batch),
            self.truth.is_weak.astype(np.uint8),
            np.empty(n_trees, np.uint8),
            np.zeros((2, len(self.program.level_offsets) + 1), np.int64),
            np.empty(self.conjunctions.n_conjunctions, np.int32),
            np.empty(n_trees, np.int32),
        )

    def _match_some(
        self,
        batch: EventBatch,
        scratch: Any,
        facts: Facts,
        first_event: int,
        last_event: int,
        alive: NDArray[np.uint8],
        answer: Answer,
    ) -> tuple[int, int]:
        cursors, holds, is_candidate, path, conjunctions, found = scratch
        return conjunction_scan(
            self.index,
            self.conjunctions.index,
            self._nodes,
            facts,
            batch.offsets,
            batch.cells,
            alive,
            first_event,
            last_event,
            cursors,
            holds,
            is_candidate,
            path,
            conjunctions,
            found,
            answer,
        )

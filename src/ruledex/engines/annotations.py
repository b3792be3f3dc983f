"""What `dewey` and `interval` share: an index of conjunctions, annotated with where they stand in the rules' trees.

Matching has three steps (fontoura2010, Figure 1): the index gives the conjunctions that are true of an event, their
annotations the true leaves of expressions, in order, and the evaluator of each engine the true expressions among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.encode.program import Program
from ruledex.engines.annotator import Annotated, Annotator, Labeller, Labels
from ruledex.engines.conjunction_index import ConjunctionIndex
from ruledex.engines.inputs import array_of, frozen_alive, frozen_batch
from ruledex.engines.normal_forms import Overflow
from ruledex.engines.normal_forms_engine import stored_overflow
from ruledex.engines.normal_forms_overflow import OverflowRules
from ruledex.engines.protocol import Alive, Arrays, Matches, Rank, Statistics
from ruledex.engines.ranking import Ranker
from ruledex.errors import BudgetError, RuledexError
from ruledex.kernels.annotate_leaves import BLOCK_BITS, Annotations, Marks, gather_leaves, write_rules

DEFAULT_BUDGET = 1 << 18  # leaves of one rule
CHUNK = 1 << 18  # leaves found by one call into the kernels, at the least
CONJUNCTIONS = "conjunctions."  # before the names of the arrays of their index


class Scratch(NamedTuple):
    """What one call needs while it matches."""

    conjunctions: NDArray[np.int32]
    leaf_marks: Marks
    leaves: NDArray[np.int32]
    rule_marks: NDArray[np.uint64]
    evaluation: Any  # the engine's own


class AnnotatedEngine(ABC):
    """The index is read-only; each call takes scratch from a pool, so that calls may run side by side."""

    name: str

    def __init__(
        self, program: Program, annotated: Annotated, labels: Labels, overflow: OverflowRules | None = None
    ) -> None:
        self.program = program
        self.annotations, self.conjunctions = annotated
        self.labels = labels
        self.overflow = overflow
        # Numba tells the type of a plain tuple faster than that of a named one; a match may take but microseconds.
        self._postings: tuple[NDArray[Any], ...] = tuple(self.conjunctions.index)
        self._ranker = Ranker(program)
        self._pool: list[Scratch] = []

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,
        *,
        budget: int = DEFAULT_BUDGET,
        overflow: Overflow = "error",
    ) -> Self:
        """Label the rules' trees. Labels need trees: what a rule shares within itself is there as often as it is used.

        A rule of more leaves than `budget` is a BudgetError, or, if `overflow` is "sparse", is left to an engine of
        that kind.
        """
        if overflow not in get_args(Overflow):
            raise RuledexError(f"overflow is {overflow!r}, one of {', '.join(get_args(Overflow))} was expected")
        annotator = Annotator(program)
        n_leaves = annotator.n_leaves(program.root)
        large = np.flatnonzero(n_leaves > budget).astype(np.int32)
        if len(large) and overflow == "error":
            raise BudgetError("unfolded tree", int(n_leaves[large[0]]), budget, int(large[0]), unit="leaves")
        labeller = cls._new_labeller(program)
        annotated = annotator.annotate(np.flatnonzero(n_leaves <= budget), labeller, statistics)
        others = OverflowRules.build(program, large, statistics) if len(large) else None
        return cls(program, annotated, labeller.labels(), others)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """The engine over stored arrays, which are used as they lie."""
        annotated = Annotated(
            Annotations(*(array_of(arrays, name, np.int32) for name in Annotations._fields)),
            ConjunctionIndex.from_arrays(
                program,
                {name.removeprefix(CONJUNCTIONS): arrays[name] for name in arrays if name.startswith(CONJUNCTIONS)},
            ),
        )
        return cls(program, annotated, cls._stored_labels(arrays), stored_overflow(program, arrays))

    def arrays(self) -> Arrays:
        """The annotations and labels, the index of conjunctions, and that of rules that were too large."""
        return {
            **self.annotations._asdict(),
            **self.labels,
            **{CONJUNCTIONS + name: array for name, array in self.conjunctions.arrays().items()},
            **(self.overflow.arrays() if self.overflow is not None else {}),
        }

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """All rules that are true, ascending within an event."""
        batch = frozen_batch(batch)
        offsets = np.zeros(batch.n_events + 1, np.int64)
        chunks = list(self._found(batch, alive, offsets))
        found = Matches(offsets, chunks[0] if len(chunks) == 1 else np.concatenate([np.zeros(0, np.int32), *chunks]))
        return found if self.overflow is None else self.overflow.added_to(found, batch, alive)

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """For each event, how many rules are true."""
        batch = frozen_batch(batch)
        offsets = np.zeros(batch.n_events + 1, np.int64)
        for _ in self._found(batch, alive, offsets):
            pass
        counts = np.diff(offsets)
        return counts if self.overflow is None else counts + self.overflow.engine.count(batch, alive)

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """The best k rules of each event with their ranks as scores, the best first, ties by position."""
        return self._ranker.top(batch, self.match(batch, alive), k, rank, static_score)

    def describe(self) -> dict[str, Any]:
        """What the engine is made of."""
        n_leaves = np.diff(self.annotations.expression_offsets)
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "n_expressions": len(n_leaves),
            "n_leaves": int(n_leaves.sum()),
            "most_leaves": int(n_leaves.max(initial=0)),
            "n_conjunctions": self.conjunctions.n_conjunctions,
            "n_overflow": 0 if self.overflow is None else len(self.overflow.rules),
            "bytes": sum(array.nbytes for array in self.arrays().values()),
            "bytes_of_labels": sum(array.nbytes for array in self.labels.values()),
        }

    @classmethod
    @abstractmethod
    def _new_labeller(cls, program: Program) -> Labeller:
        """What labels the leaves of trees for this engine."""

    @classmethod
    @abstractmethod
    def _stored_labels(cls, arrays: Arrays) -> Labels:
        """The labels among stored arrays."""

    @abstractmethod
    def _new_evaluation(self) -> Any:
        """Scratch for this engine's evaluator."""

    @abstractmethod
    def _evaluate(
        self, scratch: Scratch, leaf_offsets: NDArray[np.int64], n_events: int, true_offsets: NDArray[np.int64]
    ) -> None:
        """Put in place of each event's true leaves, in `scratch.leaves`, the expressions that they make true."""

    def _found(self, batch: EventBatch, alive: Alive | None, offsets: NDArray[np.int64]) -> Iterator[NDArray[np.int32]]:
        """The rules of one run of events after the other; `offsets` gets where each event's end among them all."""
        alive_bytes = frozen_alive(alive, self.program.n_rules)
        cursors: tuple[NDArray[Any], ...] = tuple(self.conjunctions.new_scratch(batch))
        scratch = self._scratch()
        annotations = self.annotations
        leaf_offsets, true_offsets = np.zeros(batch.n_events + 1, np.int64), np.zeros(batch.n_events + 1, np.int64)
        event = 0
        while event < batch.n_events:
            after = gather_leaves(
                self._postings,
                cursors,
                annotations.annotation_offsets,
                annotations.annotations,
                scratch.leaf_marks,
                scratch.conjunctions,
                batch.offsets,
                batch.cells,
                event,
                leaf_offsets,
                scratch.leaves,
            )
            n_events = after - event
            self._evaluate(scratch, leaf_offsets, n_events, true_offsets)
            true = scratch.leaves[: true_offsets[n_events]]
            out = np.empty(self._n_rules(true), np.int32)
            n_written = write_rules(
                annotations.rule_offsets,
                annotations.rules,
                scratch.rule_marks,
                alive_bytes,
                true_offsets,
                true,
                n_events,
                offsets[event : after + 1],
                out,
            )
            yield out[:n_written]
            event = after
        self._pool.append(scratch)

    def _n_rules(self, expressions: NDArray[np.int32]) -> int:
        """How many rules these expressions have together."""
        offsets = self.annotations.rule_offsets
        if len(self.annotations.rules) == len(offsets) - 1:
            return len(expressions)
        return int(np.sum(offsets[expressions + 1] - offsets[expressions]))

    def _scratch(self) -> Scratch:
        """Scratch that no other call uses: from the pool, which a call that fails does not give it back to."""
        try:
            return self._pool.pop()
        except IndexError:
            n_leaves = len(self.annotations.annotations)
            return Scratch(
                np.empty(self.conjunctions.n_conjunctions, np.int32),
                (np.zeros((n_leaves >> 6) + 1, np.uint64), np.zeros((n_leaves >> BLOCK_BITS) + 1, np.uint8)),
                np.empty(max(n_leaves, CHUNK), np.int32),
                np.zeros((self.program.n_rules >> 6) + 1, np.uint64),
                self._new_evaluation(),
            )

"""What `dewey` and `interval` share: an index of conjunctions, annotated with where they stand in the rules' trees.

Matching has three steps (fontoura2010, Figure 1). The index finds the conjunctions that are true of an event. Their
annotations lead to the true leaves of expressions, in order. The evaluator of each engine finds the true expressions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.inputs import array_of, freeze_alive, freeze_batch
from ruledex.engines.kindex.conjunctions import ConjunctionIndex
from ruledex.engines.kindex.engine import stored_overflow
from ruledex.engines.kindex.matching import Owners, count_owners
from ruledex.engines.kindex.normal_forms import Overflow
from ruledex.engines.kindex.overflow import OverflowRules
from ruledex.engines.labelled.annotator import Annotated, Annotator, Labeller, Labels
from ruledex.engines.labelled.leaves import BLOCK_BITS, Annotations, Marks, gather_leaves, write_rules
from ruledex.engines.protocol import Alive, Arrays, Matches, Rank, Statistics
from ruledex.engines.ranking import Ranker
from ruledex.errors import BudgetError, RuledexError, quoted
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

DEFAULT_BUDGET = 1 << 18  # leaves of one rule
CHUNK = 1 << 18  # leaves of several events that one call into the kernels may find
CONJUNCTIONS = "conjunctions."  # before the names of the arrays of their index
WIDTHS: dict[str, type[np.generic]] = {"is_tested": np.uint8}


@dataclass(frozen=True)
class LabelledOptions:
    """The options of `dewey` and `interval`. `budget` is the most leaves that the tree of one rule may have."""

    budget: int = DEFAULT_BUDGET
    overflow: Overflow = "error"


class LabelledScratch(NamedTuple):
    """What one call needs while it matches."""

    conjunctions: NDArray[np.int32]
    true_conjunctions: NDArray[np.uint64]  # a bit each, none set between events
    leaf_marks: Marks
    marked: NDArray[np.int32]
    leaves: NDArray[np.int32]
    rule_marks: NDArray[np.uint64]
    evaluation: Any  # the engine's own


class AnnotatedEngine(ABC):
    """The base of `dewey` and `interval`. It is read-only, and each call takes scratch from a pool."""

    name: str
    options_type = LabelledOptions

    def __init__(
        self, program: Program, annotated: Annotated, labels: Labels, overflow: OverflowRules | None = None
    ) -> None:
        self.program = program
        self.annotations, self.conjunctions = annotated
        self.labels = labels
        self.overflow = overflow
        # Numba tells the type of a plain tuple faster than that of a named one; a match may take but microseconds.
        self._postings: tuple[NDArray[Any], ...] = tuple(self.conjunctions.index)
        self._annotations: tuple[NDArray[Any], ...] = tuple(self.annotations)
        self._ranker = Ranker(program)
        self._pool: list[LabelledScratch] = []

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,
        options: LabelledOptions | None = None,
    ) -> Self:
        """Label the trees of the rules. Labels need trees, so a node that a rule uses twice is there twice."""
        options = options or LabelledOptions()
        budget, overflow = options.budget, options.overflow
        if overflow not in get_args(Overflow):
            raise RuledexError(f"overflow must be one of {', '.join(get_args(Overflow))}, not {quoted(overflow)}")
        annotator = Annotator(program)
        n_leaves = annotator.n_leaves(program.root)
        large = np.flatnonzero(n_leaves > budget).astype(np.int32)
        if len(large) and overflow == "error":
            over = [(position, int(n_leaves[position])) for position in large.tolist()]
            raise BudgetError("unfolded tree", over[0][1], budget, over[0][0], unit="leaves", over=over)
        labeller = cls._new_labeller(program)
        annotated = annotator.annotate(np.flatnonzero(n_leaves <= budget), labeller, statistics)
        others = OverflowRules.build(program, large, statistics) if len(large) else None
        return cls(program, annotated, labeller.labels(), others)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the engine over stored arrays, which are not copied."""
        annotated = Annotated(
            Annotations(*(array_of(arrays, name, WIDTHS.get(name, np.int32)) for name in Annotations._fields)),
            ConjunctionIndex.from_arrays(
                program,
                {name.removeprefix(CONJUNCTIONS): arrays[name] for name in arrays if name.startswith(CONJUNCTIONS)},
            ),
        )
        return cls(program, annotated, cls._stored_labels(arrays), stored_overflow(program, arrays))

    def arrays(self) -> Arrays:
        """Return the annotations and labels, the index of conjunctions, and that of rules that were too large."""
        return {
            **self.annotations._asdict(),
            **self.labels,
            **{CONJUNCTIONS + name: array for name, array in self.conjunctions.arrays().items()},
            **(self.overflow.arrays() if self.overflow is not None else {}),
        }

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        batch = freeze_batch(batch)
        offsets = np.zeros(batch.n_events + 1, np.int64)
        chunks = list(self._found(batch, alive, offsets))
        found = Matches(offsets, chunks[0] if len(chunks) == 1 else np.concatenate([np.zeros(0, np.int32), *chunks]))
        return found if self.overflow is None else self.overflow.add_to(found, batch, alive)

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        batch = freeze_batch(batch)
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
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        return self._ranker.top(batch, self.match(batch, alive), k, rank, static_score)

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
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
        """Return what labels the leaves of trees for this engine."""

    @classmethod
    @abstractmethod
    def _stored_labels(cls, arrays: Arrays) -> Labels:
        """Return the labels among stored arrays."""

    @abstractmethod
    def _new_evaluation(self) -> Any:
        """Scratch for this engine's evaluator."""

    @abstractmethod
    def _evaluate(
        self, scratch: LabelledScratch, leaf_offsets: NDArray[np.int64], n_events: int, true_offsets: NDArray[np.int64]
    ) -> None:
        """Put in place of each event's true leaves, in `scratch.leaves`, the expressions that they make true."""

    def _found(self, batch: EventBatch, alive: Alive | None, offsets: NDArray[np.int64]) -> Iterator[NDArray[np.int32]]:
        """The rules of one run of events after the other; `offsets` gets where each event's end among them all."""
        alive_bytes = freeze_alive(alive, self.program.n_rules)
        cursors: tuple[NDArray[Any], ...] = tuple(self.conjunctions.new_scratch(batch))
        scratch = self._scratch()
        annotations = self.annotations
        leaf_offsets, true_offsets = np.zeros(batch.n_events + 1, np.int64), np.zeros(batch.n_events + 1, np.int64)
        event = 0
        while event < batch.n_events:
            after = gather_leaves(
                self._postings,
                cursors,
                self._annotations,
                scratch.leaf_marks,
                scratch.conjunctions,
                scratch.true_conjunctions,
                scratch.marked,
                batch.offsets,
                batch.cells,
                event,
                leaf_offsets,
                scratch.leaves,
            )
            n_events = after - event
            self._evaluate(scratch, leaf_offsets, n_events, true_offsets)
            true = scratch.leaves[: true_offsets[n_events]]
            out = np.empty(count_owners(Owners(annotations.rule_offsets, annotations.rules), true), np.int32)
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

    def _scratch(self) -> LabelledScratch:
        """Scratch that no other call uses: from the pool, which a call that fails does not give it back to."""
        try:
            return self._pool.pop()
        except IndexError:
            n_leaves = len(self.annotations.conjunction_of)
            return LabelledScratch(
                np.empty(self.conjunctions.n_conjunctions, np.int32),
                np.zeros((self.conjunctions.n_conjunctions >> 6) + 1, np.uint64),
                (np.zeros((n_leaves >> 6) + 1, np.uint64), np.zeros((n_leaves >> BLOCK_BITS) + 1, np.uint8)),
                np.empty(n_leaves, np.int32),
                np.empty(n_leaves + CHUNK, np.int32),
                np.zeros((self.program.n_rules >> 6) + 1, np.uint64),
                self._new_evaluation(),
            )

"""What `dewey` and `interval` share: an index of conjunctions, annotated with where they stand in the rules' trees.

Matching has three steps (fontoura2010, Figure 1). The index finds the conjunctions that are true of an event. Their
annotations lead to the true leaves of expressions, in order. The evaluator of each engine finds the true expressions.

The leaves of all expressions have one numbering: expression by expression, and within one in the order in which its
evaluator wants them. So to sort the annotations of the true conjunctions (Section 5.3) is to set a bit for each and to
read the bits in order, and an expression that has no true leaf is never looked at.

Nor is one whose rarest part has no true leaf. An AND is true only if each of its children is, so that one child is
enough to lead to it: the conjunctions of the other children have no annotation for it. When it is found, their truth
is looked up by the leaves' own conjunctions, and the evaluator gets the same labels as it would by the paper.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, lowest_bit, prefetch
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.inputs import freeze_alive, freeze_batch, stored_fields
from ruledex.engines.kindex.conjunctions import ConjunctionIndex
from ruledex.engines.kindex.engine import OverflowRules
from ruledex.engines.kindex.matching import Owners, collect_rules, count_owners, mark_rules, matching_conjunctions
from ruledex.engines.kindex.normal_forms import Overflow
from ruledex.engines.kindex.postings import PostingCursors, Postings
from ruledex.engines.labelled.annotator import Annotated, Annotations, Annotator, Labeller, Labels
from ruledex.engines.protocol import Alive, Arrays, Matches, Statistics
from ruledex.engines.ranking import Ranker, RanksFound
from ruledex.errors import BudgetError, RuledexError, quoted
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

BLOCK_BITS = 12  # leaves that share a byte of marks, as a power of two
AHEAD = 8  # how far before its use a line of memory is asked for
# Leaves that are marked in any order and read in ascending order: their bits, and for each 64 words of them a byte that
# says whether there is any. All zero between events.
Marks = tuple[NDArray[np.uint64], NDArray[np.uint8]]
DEFAULT_BUDGET = 1 << 18  # leaves of one rule
CHUNK = 1 << 18  # leaves of several events that one call into the kernels may find
CONJUNCTIONS = "conjunctions."  # before the names of the arrays of their index


@inlined
def _mark(bits: NDArray[np.uint64], touched: NDArray[np.uint8], number: int) -> None:
    place = np.uint64(number)
    bits[place >> SIX] |= ONE << (place & LOW_SIX)
    touched[place >> np.uint64(BLOCK_BITS)] = 1


@jit
def _take_marked(bits: NDArray[np.uint64], touched: NDArray[np.uint8], out: NDArray[np.int32], n_written: int) -> int:
    """Write the marked numbers, ascending, behind the first `n_written`, and unmark them; return how many there are."""
    for block in range(touched.size):
        if touched[block] == 0:
            continue
        touched[block] = 0
        first = block << (BLOCK_BITS - 6)
        for word in range(first, min(first + (1 << (BLOCK_BITS - 6)), bits.size)):
            left = bits[word]
            bits[word] = ZERO
            while left != ZERO:
                out[n_written] = (word << 6) + lowest_bit(left)
                n_written += 1
                left &= left - ONE
    return n_written


@inlined
def _true_leaves(
    annotations: Annotations,
    true: NDArray[np.uint64],
    marked: NDArray[np.int32],
    out: NDArray[np.int32],
    n_written: int,
) -> int:
    """Write the true leaves of the expressions that `marked` leads to behind the first `n_written`; return how many."""
    conjunction_of, expression_of = annotations.conjunction_of, annotations.expression_of
    is_tested, expression_offsets = annotations.is_tested, annotations.expression_offsets
    for place in range(marked.size):
        if place + 2 * AHEAD < marked.size:
            prefetch(expression_of, np.int64(marked[place + 2 * AHEAD]))
            prefetch(conjunction_of, np.int64(marked[place + 2 * AHEAD]))
            coming = np.int64(expression_of[marked[place + AHEAD]])
            prefetch(is_tested, coming)
            prefetch(expression_offsets, coming)
        expression = expression_of[marked[place]]
        if is_tested[expression] == 0:
            out[n_written] = marked[place]
            n_written += 1
            continue
        for leaf in range(expression_offsets[expression], expression_offsets[expression + 1]):
            conjunction = np.uint64(conjunction_of[leaf])
            out[n_written] = leaf
            n_written += 1 if (true[conjunction >> SIX] >> (conjunction & LOW_SIX)) & ONE != ZERO else 0
    return n_written


@jit
def gather_leaves(
    postings_arrays: tuple[NDArray[Any], ...],
    cursors_arrays: tuple[NDArray[Any], ...],
    annotation_arrays: tuple[NDArray[Any], ...],
    marks: Marks,
    found: NDArray[np.int32],
    true: NDArray[np.uint64],
    marked: NDArray[np.int32],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    leaf_offsets: NDArray[np.int64],
    leaves: NDArray[np.int32],
) -> int:
    """Write the true leaves of events from `first_event` on, as long as there is room for all leaves once more.

    They ascend within an event; `leaf_offsets` gets where those of each event end, and begins with 0. `found` is
    scratch for all conjunctions, `true` one bit per conjunction, none of them set, and `marked` scratch for all leaves.
    Return the event that comes next.
    """
    postings, cursors = Postings(*postings_arrays), PostingCursors(*cursors_arrays)
    of_trees = Annotations(*annotation_arrays)
    annotation_offsets, annotations = of_trees.annotation_offsets, of_trees.annotations
    bits, touched = marks
    event, n_written, n_leaves = first_event, 0, of_trees.conjunction_of.size
    leaf_offsets[0] = 0
    while event < event_offsets.size - 1 and n_written + n_leaves <= leaves.size:
        n_found = matching_conjunctions(postings, cursors, cells, event_offsets[event], event_offsets[event + 1], found)
        for place in range(n_found):
            if place + 2 * AHEAD < n_found:
                prefetch(annotation_offsets, np.int64(found[place + 2 * AHEAD]))
            if place + AHEAD < n_found:
                prefetch(annotations, np.int64(annotation_offsets[found[place + AHEAD]]))
            conjunction = np.uint64(found[place])
            true[conjunction >> SIX] |= ONE << (conjunction & LOW_SIX)
            for annotation in range(annotation_offsets[conjunction], annotation_offsets[conjunction + ONE]):
                _mark(bits, touched, annotations[annotation])
        n_marked = _take_marked(bits, touched, marked, 0)
        n_written = _true_leaves(of_trees, true, marked[:n_marked], leaves, n_written)
        for place in range(n_found):
            true[np.uint64(found[place]) >> SIX] = ZERO
        event += 1
        leaf_offsets[event - first_event] = n_written
    return event


@jit
def write_rules(
    rule_offsets: NDArray[np.int32],
    rules: NDArray[np.int32],
    marks: NDArray[np.uint64],
    alive: NDArray[np.uint8],
    true_offsets: NDArray[np.int64],
    true: NDArray[np.int32],
    n_events: int,
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> int:
    """Write the living rules of each event's true expressions, ascending; return how many.

    `offsets` gets where each event's rules end, counted from its first entry, which is given. `marks` has one bit per
    rule.
    """
    owners = Owners(rule_offsets, rules)
    n_written, before = 0, offsets[0]
    for event in range(n_events):
        first, last = true_offsets[event], true_offsets[event + 1]
        mark_rules(owners, true[first:last], last - first, alive, marks)
        n_written += collect_rules(marks, out[n_written:])
        offsets[event + 1] = before + n_written
    return n_written


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


class AnnotatedEngine(RanksFound):
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
            stored_fields(Annotations, arrays),
            ConjunctionIndex.from_arrays(
                program,
                {name.removeprefix(CONJUNCTIONS): arrays[name] for name in arrays if name.startswith(CONJUNCTIONS)},
            ),
        )
        return cls(program, annotated, cls._stored_labels(arrays), OverflowRules.among(program, arrays))

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
        """Return scratch for this engine's evaluator."""

    @abstractmethod
    def _evaluate(
        self, scratch: LabelledScratch, leaf_offsets: NDArray[np.int64], n_events: int, true_offsets: NDArray[np.int64]
    ) -> None:
        """Put in place of each event's true leaves, in `scratch.leaves`, the expressions that they make true."""

    def _found(self, batch: EventBatch, alive: Alive | None, offsets: NDArray[np.int64]) -> Iterator[NDArray[np.int32]]:
        """Yield the rules of one run of events after the other, and write to `offsets` where each event's rules end."""
        alive_bytes = freeze_alive(alive, self.program.n_rules)
        cursors: tuple[NDArray[Any], ...] = tuple(self.conjunctions.new_scratch(batch))
        scratch = self._scratch()
        annotations = self.annotations
        leaf_offsets, true_offsets = np.zeros(batch.n_events + 1, np.int64), np.zeros(batch.n_events + 1, np.int64)
        marks = scratch.leaf_marks, scratch.conjunctions, scratch.true_conjunctions, scratch.marked
        index = self._postings, cursors, self._annotations, *marks
        event, events = 0, (batch.offsets, batch.cells)
        while event < batch.n_events:
            after = gather_leaves(*index, *events, event, leaf_offsets, scratch.leaves)
            n_events = after - event
            self._evaluate(scratch, leaf_offsets, n_events, true_offsets)
            true = scratch.leaves[: true_offsets[n_events]]
            out = np.empty(count_owners(Owners(annotations.rule_offsets, annotations.rules), true), np.int32)
            owners = annotations.rule_offsets, annotations.rules, scratch.rule_marks, alive_bytes
            n_written = write_rules(*owners, true_offsets, true, n_events, offsets[event : after + 1], out)
            yield out[:n_written]
            event = after
        self._pool.append(scratch)

    def _scratch(self) -> LabelledScratch:
        """Return scratch that no other call uses, from the pool. A call that fails does not give it back."""
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

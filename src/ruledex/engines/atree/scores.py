"""The score programs of rules that come and go, each in a block of a heap, and the best k of those that were found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import lengthen, read_only
from ruledex.compiled.constants import ALWAYS, FALSE_BY, LEAF, OPERATION, STEP_BITS, WEIGH
from ruledex.compiled.decorator import jit
from ruledex.engines.atree.heap import TOP, empty_heap
from ruledex.engines.atree.layout import BLOCK, KEY, N_DOWN, NEGATIVE, OP, ROW
from ruledex.engines.atree.new_rules import EncodedRules
from ruledex.engines.atree.rules import NewScores, ScoreHeap
from ruledex.engines.atree.tree import GrowingTree
from ruledex.engines.protocol import Matches, Rank
from ruledex.engines.ranking import Ranker
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

# No block is longer than this for each rule and each step of its program.
WORDS_A_BLOCK, WORDS_A_STEP = 4, 2


@jit
def rename_literals(code: NDArray[np.int32], names: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    """Write the steps with `names[literal]` for each literal."""
    for place in range(code.size):
        operation = code[place] & OPERATION
        step = code[place]
        if operation in (LEAF, FALSE_BY):
            step = names[step >> STEP_BITS] << STEP_BITS | operation
        out[place] = step


@jit
def copy_steps(
    heap: NDArray[np.int32],
    starts: NDArray[np.int32],
    rules: NDArray[np.int32],
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the programs of some rules one behind the other."""
    for place in range(rules.size):
        start = starts[rules[place]]
        for step in range(offsets[place + 1] - offsets[place]):
            out[offsets[place] + step] = heap[start + step]


@jit
def copy_intervals(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    literals: NDArray[np.int32],
    offsets: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
) -> None:
    """Write the intervals of some literals of a tree one behind the other."""
    for place in range(literals.size):
        start = nodes[literals[place], BLOCK]
        for interval in range(nodes[literals[place], N_DOWN]):
            low[offsets[place] + interval] = heap[start + ROW * interval]
            high[offsets[place] + interval] = heap[start + ROW * interval + 1]


class GrowingScores:
    """For each rule its static score and its score program, whose literals are nodes of a tree."""

    def __init__(self) -> None:
        self._arrays = ScoreHeap(np.zeros(0), np.zeros(0, np.int32), np.zeros(0, np.int32), empty_heap(256))
        self._weights: NDArray[np.float64] = np.zeros(0)
        self._weight_number: dict[float, int] = {}

    def copy(self) -> GrowingScores:
        """Return the same in arrays of its own."""
        made = GrowingScores()
        arrays: Any = (array.copy() for array in self._arrays)
        made._arrays, made._weights = ScoreHeap(*arrays), self._weights.copy()
        made._weight_number = self._weight_number.copy()
        return made

    @property
    def arrays(self) -> ScoreHeap:
        """What the kernels that change rules change too."""
        return self._arrays

    @property
    def n_bytes(self) -> int:
        """What the arrays take."""
        return sum(array.nbytes for array in (*self._arrays, self._weights))

    def make_room(self, n_rules: int, n_new: int, encoded: EncodedRules) -> NewScores:
        """Make room for rules of numbers below `n_rules`, of which `n_new` come; their scores, with weights named."""
        static_score, start, length, heap = self._arrays
        n_words = int(heap[TOP]) + WORDS_A_BLOCK * n_new + WORDS_A_STEP * len(encoded.score_code)
        n_known = len(length)
        if n_rules > n_known or n_words > len(heap):
            self._arrays = ScoreHeap(
                lengthen(static_score, n_rules),
                lengthen(start, n_rules),
                lengthen(length, n_rules),
                lengthen(heap, n_words),
            )
            self._arrays.length[n_known:] = 0
        return NewScores(encoded.static_score, encoded.score_offsets, self._with_named_weights(encoded))

    def _with_named_weights(self, encoded: EncodedRules) -> NDArray[np.int32]:
        """Return the programs of new rules with the numbers that weights have among all. Weights are few, and stay."""
        weights = encoded.program.score_weight
        if not len(weights):
            return encoded.score_code
        code = encoded.score_code.copy()
        places = np.flatnonzero((code & OPERATION) == WEIGH)
        numbers = self._weight_number
        names = np.array([numbers.setdefault(weight, len(numbers)) for weight in weights.tolist()], np.int32)
        code[places] = names[code[places] >> STEP_BITS] << STEP_BITS | WEIGH
        self._weights = np.fromiter(numbers, np.float64, len(numbers))
        return read_only(code)

    def _programs(self, rules: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        offsets = np.zeros(len(rules) + 1, np.int64)
        np.cumsum(self._arrays.length[rules], out=offsets[1:])
        code = np.empty(offsets[-1], np.int32)
        copy_steps(self._arrays.heap, self._arrays.start, read_only(rules), offsets, code)
        return offsets, code

    def top(
        self,
        tree: GrowingTree,
        batch: EventBatch,
        found: Matches,
        k: int,
        rank: Rank,
        static_score: NDArray[np.float64] | None,
        order: NDArray[np.int64] | None,
    ) -> Matches:
        """Return the best k of the rules found, ties by `order`, one entry per rule, or else by their numbers."""
        rules = np.unique(found.rule)
        if order is not None:
            rules = rules[np.argsort(order[rules], kind="stable")]
        position = np.zeros(len(self._arrays.static_score), np.int32)
        position[rules] = np.arange(len(rules), dtype=np.int32)
        scores = self._arrays.static_score if static_score is None else static_score
        program = self._program_of(tree, rules, scores[rules])
        found = Matches(found.offsets, position[found.rule])
        best = Ranker(program).top(batch, found, k, rank, None)
        return Matches(best.offsets, rules[best.rule], best.scores)

    def _program_of(self, tree: GrowingTree, rules: NDArray[np.int32], static_score: NDArray[np.float64]) -> Program:
        """Return a Program of rules that are known to be true: only what scores them is in it."""
        nodes, heap = tree.arrays.nodes, tree.arrays.heap
        offsets, code = self._programs(rules)
        used = np.unique(literals_in(code))
        is_negative = nodes[used, OP] == NEGATIVE
        negative = used[is_negative]
        positive = np.union1d(used[~is_negative], nodes[negative, KEY]).astype(np.int32)
        names = np.zeros(int(used.max(initial=-1)) + 1, np.int32)
        names[used[~is_negative]] = np.searchsorted(positive, used[~is_negative])
        names[negative] = len(positive) + np.arange(len(negative))
        interval_offsets = np.zeros(len(positive) + 1, np.int32)
        np.cumsum(nodes[positive, N_DOWN], out=interval_offsets[1:])
        low, high = np.empty(interval_offsets[-1], np.int32), np.empty(interval_offsets[-1], np.int32)
        copy_intervals(nodes, heap, read_only(positive), interval_offsets, low, high)
        presence_offsets = np.arange(len(negative) + 1, dtype=np.int32)
        presence, ends = np.empty(len(negative), np.int32), np.empty(len(negative), np.int32)
        copy_intervals(nodes, heap, read_only(negative), presence_offsets, presence, ends)
        renamed = np.empty(len(code), np.int32)
        rename_literals(read_only(code), read_only(names), renamed)
        n_literals = len(positive) + len(negative)
        return Program(
            interval_offsets=interval_offsets,
            interval_low=low,
            interval_high=high,
            negative_presence=presence,
            negative_of=np.searchsorted(positive, nodes[negative, KEY]).astype(np.int32),
            node_op=np.zeros(0, np.uint8),
            child_offsets=np.zeros(1, np.int32),
            children=np.zeros(0, np.int32),
            level_offsets=np.array([n_literals], np.int32),
            root=np.full(len(rules), ALWAYS, np.int32),
            static_score=static_score,
            score_offsets=offsets.astype(np.int32),
            score_code=renamed,
            score_weight=self._weights,
            n_cells=0,
            domain_offsets=np.zeros(0, np.int32),
        )


def literals_in(code: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the literals that steps look at, each as often as they do."""
    operations = code & OPERATION
    literals: NDArray[np.int32] = code[(operations == LEAF) | (operations == FALSE_BY)] >> STEP_BITS
    return literals

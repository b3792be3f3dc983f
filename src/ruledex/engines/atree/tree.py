"""An A-Tree as a Python object: it owns the arrays of engines/atree/layout.py, and makes them longer where it must.

Kernels stop where the room ends, with everything as it was before the node at hand, and are called again when there is
more room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE, lengthen, read_only
from ruledex.compiled.constants import NEVER
from ruledex.engines.atree.heap import TOP, empty_heap
from ruledex.engines.atree.layout import (
    ALWAYS_RULE,
    FREE_NODE,
    N_ADJUSTED,
    N_CENTERS_WANTED,
    N_COLUMNS,
    N_COUNTS,
    N_DISSOLVED,
    N_EDGES,
    N_FREED,
    N_INNER,
    N_LISTS_SKIPPED,
    N_NODES,
    N_REUSED,
    N_WORDS_WANTED,
    NO_RULE,
    ON_DEMAND,
    REORGANISE,
    ROOT,
    ROW,
    SELF_ADJUST,
    SHARE,
    TOP_LEVEL,
    TOP_NODE,
    UNUSED,
    Tree,
    refill_centers,
    refill_table,
)
from ruledex.engines.atree.literals import add_literals, move_literals
from ruledex.engines.atree.match import TreeIndex
from ruledex.engines.atree.rules import (
    NOT_MADE,
    NewScores,
    RulesToLoad,
    ScoreHeap,
    delete_scored,
    insert_rules,
    insert_scored,
)
from ruledex.engines.inputs import LARGEST
from ruledex.errors import RuledexError

WIDTHS = read_only(np.array([N_COLUMNS, ROW, 0]))
NOTHING_FREED = read_only(np.zeros(0, np.int32))
_NODES, _LEVELS, _WORDS = 16, 32, 256  # of an empty tree


class Switches(NamedTuple):
    """Which of the paper's design elements are used: the options of `atree`. Answers do not depend on them."""

    sharing: bool = True
    reorganisation: bool = True
    self_adjustment: bool = True
    zero_suppression: bool = True
    propagation_on_demand: bool = True

    @property
    def bits(self) -> int:
        """As the kernels take them; to borrow or to lend, a node must be shared."""
        return (
            SHARE * self.sharing
            | REORGANISE * (self.sharing and self.reorganisation)
            | SELF_ADJUST * (self.sharing and self.self_adjustment)
            | ON_DEMAND * self.propagation_on_demand
        )


class LiteralIntervals(NamedTuple):
    """The cells of some literals: those of literal `i` are the intervals from `offsets[i]` to `offsets[i + 1]`."""

    offsets: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]


def _frozen(array: NDArray[np.int32]) -> NDArray[np.int32]:
    return read_only(array) if array.flags.writeable else array


class GrowingTree:
    """A tree, its literals and its rules, each by the number of its row. Not safe to use from several threads.

    `chance` has, for literals that are to come, how often each is true, in the order in which they will come.
    """

    def __init__(self, switches: Switches, chance: NDArray[np.float32] | None = None) -> None:
        self.switches = switches
        self._bits = switches.bits
        self.arrays = Tree(
            nodes=np.zeros((_NODES, N_COLUMNS), np.int32),
            heap=empty_heap(_WORDS),
            table=np.full(2 * _NODES, FREE, np.int32),
            rules=np.zeros((0, 3), np.int32),
            centers=np.full((2 * _NODES, 3), FREE, np.int32),
            levels=np.zeros(_LEVELS, np.int32),
            counts=np.zeros(N_COUNTS, np.int64),
            flags=np.zeros(_NODES, np.uint8),
            pending=np.zeros(_NODES, np.int32),
            doomed=np.zeros(_NODES, np.int32),
            freed=np.zeros(_NODES, np.int32),
            chance=np.zeros(0, np.float32) if chance is None else lengthen(chance, _NODES),
        )
        self.arrays.counts[[FREE_NODE, ALWAYS_RULE]] = UNUSED, NO_RULE

    @property
    def n_bytes(self) -> int:
        """What the arrays take."""
        return sum(array.nbytes for array in self.arrays)

    def index(self) -> TreeIndex:
        """Return what is matched: read-only views that the next change makes useless."""
        tree = self.arrays
        return TreeIndex(
            read_only(tree.nodes.reshape(-1)),
            read_only(tree.heap),
            read_only(tree.rules),
            read_only(tree.centers),
            read_only(tree.levels),
            read_only(tree.counts),
            WIDTHS,
        )

    def copy(self) -> GrowingTree:
        """Return the same tree in arrays of its own."""
        made = GrowingTree(self.switches)
        arrays: Any = (array.copy() for array in self.arrays)
        made.arrays = Tree(*arrays)
        return made

    def describe(self) -> dict[str, Any]:
        """Describe what the tree is made of."""
        counts = self.arrays.counts
        names = {
            "n_nodes": N_NODES,
            "n_inner_nodes": N_INNER,
            "n_edges": N_EDGES,
            "n_levels": TOP_LEVEL,
            "n_reused_by_reorganisation": N_REUSED,
            "n_self_adjustments": N_ADJUSTED,
            "n_dissolved": N_DISSOLVED,
            "n_lists_skipped": N_LISTS_SKIPPED,
        }
        return {**{name: int(counts[place]) for name, place in names.items()}, "bytes": self.n_bytes}

    # Changes.

    def add_literals(
        self, intervals: LiteralIntervals, positive_of: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32]:
        """Add literals; return their nodes. A negative one has its presence as interval and names its positive node."""
        n_literals = len(intervals.offsets) - 1
        made = np.empty(n_literals, np.int32)
        if positive_of is None:
            positive_of = np.empty(n_literals, np.int32)
            positive_of.fill(-1)
        positive_of = read_only(positive_of)
        offsets, low, high = map(_frozen, intervals)
        self._run(n_literals, lambda first: add_literals(self.arrays, positive_of, offsets, low, high, first, made))
        return made

    def move_literals(self, literals: NDArray[np.int32], intervals: LiteralIntervals) -> None:
        """Give literals other cells."""
        literals = read_only(literals)
        offsets, low, high = map(_frozen, intervals)
        self._run(len(literals), lambda first: move_literals(self.arrays, literals, offsets, low, high, first))

    def insert(self, rules: RulesToLoad) -> None:
        """Put in rules under numbers that are not in use."""
        self.reserve_rules(int(rules.rule.max(initial=-1)) + 1)
        arrays: Any = (array if not array.flags.writeable else read_only(array) for array in rules)
        given, bits = RulesToLoad(*arrays), self._bits
        node_of = np.full(len(rules.node_op), NOT_MADE, np.int32)
        self._run(len(rules.root), lambda first: insert_rules(self.arrays, bits, given, node_of, first))

    def insert_scored(self, rules: RulesToLoad, scores: ScoreHeap, new: NewScores) -> NDArray[np.int32]:
        """Put in rules with what scores them, for which `scores` has room; the literals that nothing uses, and went.

        There must be room for their numbers, and all arrays that come are read-only.
        """
        self.arrays.counts[N_FREED] = 0
        bits, node_of = self._bits, np.empty(len(rules.node_op), np.int32)
        node_of.fill(NOT_MADE)
        self._run(len(rules.root), lambda first: insert_scored(self.arrays, scores, bits, rules, new, node_of, first))
        return self._freed()

    def delete_scored(self, rules: NDArray[np.int32], scores: ScoreHeap) -> NDArray[np.int32]:
        """Take out rules and what scores them; the literals that went with them. The array is read-only."""
        self.arrays.counts[N_FREED] = 0
        bits = self._bits
        self._run(len(rules), lambda first: delete_scored(self.arrays, scores, bits, rules, first))
        return self._freed()

    def _freed(self) -> NDArray[np.int32]:
        """Return the literals that the last change took out."""
        n_freed = int(self.arrays.counts[N_FREED])
        return self.arrays.freed[:n_freed].copy() if n_freed else NOTHING_FREED

    def _run(self, n_wanted: int, kernel: Callable[[int], int]) -> None:
        """Call a kernel until it is done, with more room each time that it stops before."""
        n_done = kernel(0)
        while n_done < n_wanted:
            self._enlarge()
            n_done = kernel(n_done)

    # Room.

    def reserve(self, n_nodes: int, n_words: int) -> None:
        """Make room, so that nothing is copied again and again while many rules come."""
        tree = self.arrays
        if n_nodes > len(tree.nodes):
            nodes = lengthen(tree.nodes, n_nodes)
            flags = np.zeros(len(nodes), np.uint8)
            flags[: len(tree.flags)] = tree.flags
            tree = tree._replace(
                nodes=nodes,
                flags=flags,
                pending=np.empty(len(nodes), np.int32),
                doomed=lengthen(tree.doomed, len(nodes)),
                freed=lengthen(tree.freed, len(nodes)),
                chance=lengthen(tree.chance, len(nodes)) if len(tree.chance) else tree.chance,
            )
        if n_words > LARGEST:
            raise RuledexError(f"the A-Tree needs {n_words:,} words, more than {LARGEST:,}; build several indexes")
        self.arrays = tree._replace(heap=lengthen(tree.heap, n_words))

    def reserve_rules(self, n_rules: int) -> None:
        """Make room for rules of numbers below `n_rules`."""
        before = self.arrays.rules
        if n_rules > len(before):
            rules = lengthen(before, n_rules)
            rules[len(before) :] = NO_RULE
            rules[len(before) :, ROOT] = NEVER
            self.arrays = self.arrays._replace(rules=rules)

    def _enlarge(self) -> None:
        """Make room in whatever was found to be full."""
        counts = self.arrays.counts
        n_nodes, n_used_words = int(counts[N_NODES]), int(self.arrays.heap[TOP])
        n_words = n_used_words + int(counts[N_WORDS_WANTED])
        if n_nodes >= len(self.arrays.nodes):
            self.reserve(n_nodes + n_nodes // 2 + 1, 0)
        if n_words > len(self.arrays.heap):
            self.reserve(0, min(max(n_words, n_used_words + n_used_words // 2), max(n_words, LARGEST)))
        tree = self.arrays
        if self.switches.sharing and 2 * counts[N_INNER] >= len(tree.table):
            table = np.full(4 * len(tree.table), FREE, np.int32)
            refill_table(tree.nodes, int(counts[TOP_NODE]), table)
            tree = tree._replace(table=table)
        if 2 * counts[N_CENTERS_WANTED] >= len(tree.centers):
            n_centers = 1 << (4 * int(counts[N_CENTERS_WANTED])).bit_length()
            centers = np.full((n_centers, 3), FREE, np.int32)
            refill_centers(tree.centers, centers)
            tree = tree._replace(centers=centers)
        if 2 * counts[TOP_LEVEL] + 4 >= len(tree.levels):
            tree = tree._replace(levels=np.concatenate([tree.levels, np.zeros_like(tree.levels)]))
        self.arrays = tree

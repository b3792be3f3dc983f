"""`atree`: the A-Tree of a-tree2021 over a Program, loaded at once. For rules that change there is live.py."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.access import domain_boundaries, node_probabilities
from ruledex.engines.atree.layout import N_EDGES, N_INNER, N_NODES, TOP_LEVEL
from ruledex.engines.atree.match import TreeIndex
from ruledex.engines.atree.matcher import TreeMatcher
from ruledex.engines.atree.packing import NO_SCOPES, pack_tree, scopes_of
from ruledex.engines.atree.rules import RulesToLoad
from ruledex.engines.atree.tree import GrowingTree, LiteralIntervals, Switches
from ruledex.engines.inputs import array_of, freeze_alive, freeze_batch, stored_fields
from ruledex.engines.protocol import Alive, Arrays, Matches, Statistics
from ruledex.engines.ranking import Ranker, RanksFound
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

WORDS_A_CHILD, WORDS_A_LITERAL = 12, 16  # of the heap, as a first guess
_SWITCHES = "switches"


class AtreeEngine(RanksFound):
    """The engine `atree`: a tree that does not change any more. It is read-only: calls may run side by side."""

    name = "atree"
    options_type = Switches

    def __init__(self, program: Program, index: TreeIndex, switches: Switches, made: dict[str, Any]) -> None:
        self.program = program
        self.index = index
        self.switches = switches
        self._made = made
        self._ranker = Ranker(program)
        is_plain = not (switches.zero_suppression and switches.propagation_on_demand)
        scopes = NO_SCOPES if switches.zero_suppression else scopes_of(index, domain_boundaries(program)[:-1])
        self._matcher = TreeMatcher(index, program.n_rules, switches.bits, is_plain, scopes)

    @classmethod
    def build(
        cls,
        program: Program,
        statistics: Statistics | None = None,
        options: Switches | None = None,
    ) -> Self:
        """Insert all rules, one by one. Access children are the rarest by `statistics`, or else random ones."""
        switches = options or Switches()
        tree = load(program, statistics, switches)
        made = tree.describe()
        return cls(program, pack_tree(tree, literal_chance(program, statistics)), switches, made)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the engine over stored arrays, which are not copied."""
        index = stored_fields(TreeIndex, arrays)
        index = index._replace(rules=index.rules.reshape(-1, 3), centers=index.centers.reshape(-1, 3))
        switches = Switches(*array_of(arrays, _SWITCHES, np.bool_).tolist())
        return cls(program, index, switches, {})

    def arrays(self) -> Arrays:
        """Return the fields of the index, and the switches."""
        return {**self.index._asdict(), _SWITCHES: np.array(self.switches, np.bool_)}

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        return self._matcher.match(freeze_batch(batch), freeze_alive(alive, self.program.n_rules))

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        return self._matcher.count(freeze_batch(batch), freeze_alive(alive, self.program.n_rules))

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
        counts = self.index.counts
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            **self._made,
            "n_nodes": int(counts[N_NODES]),
            "n_inner_nodes": int(counts[N_INNER]),
            "n_edges": int(counts[N_EDGES]),
            "n_levels": int(counts[TOP_LEVEL]),
            "switches": self.switches._asdict(),
            "bytes": sum(array.nbytes for array in self.index),
        }


def load(program: Program, statistics: Statistics | None, switches: Switches) -> GrowingTree:
    """Return a tree of all rules of a Program; its first nodes are the literals, and rules have their positions."""
    n_literals, n_inner = program.n_literals, len(program.node_op)
    chance = inner_chance = None
    if statistics is not None:
        probability = node_probabilities(program, statistics).astype(np.float32)
        chance, inner_chance = probability[:n_literals], probability[n_literals:]
    tree = GrowingTree(switches, chance)
    n_words = WORDS_A_LITERAL * n_literals + WORDS_A_CHILD * len(program.children)
    tree.reserve(n_literals + n_inner, n_words)
    positive = LiteralIntervals(program.interval_offsets, program.interval_low, program.interval_high)
    n_negative = len(program.negative_of)
    negative = LiteralIntervals(
        np.arange(n_negative + 1, dtype=np.int32), program.negative_presence, program.negative_presence
    )
    nodes = np.concatenate([tree.add_literals(positive), tree.add_literals(negative, program.negative_of)])
    tree.insert(
        RulesToLoad(
            program.node_op,
            program.child_offsets,
            program.children,
            program.root,
            np.arange(program.n_rules, dtype=np.int32),
            np.zeros(0, np.float32) if inner_chance is None else inner_chance,
            nodes.astype(np.int32),
        )
    )
    return tree


def literal_chance(program: Program, statistics: Statistics | None) -> NDArray[np.float64]:
    """Return how often each literal is true; without statistics a guess, which only puts nodes in order."""
    return node_probabilities(program, statistics)[: program.n_literals]

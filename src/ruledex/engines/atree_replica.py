"""One of the states that a live tree alternates between: a tree, the dictionary of its literals, and the scores.

A replica is either read by any number of threads or changed by one, never both. Changes are values (`Insertion`,
`Deletion`), and what they do depends on nothing else, so that two replicas that have seen the same changes are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.event_batch import EventBatch
from ruledex.encode.events import EventEncoder
from ruledex.encode.growing import GrowingDictionary
from ruledex.encode.growing_literals import Meanings, Negative, Positive
from ruledex.encode.growing_rules import EncodedRules
from ruledex.encode.merging import Name
from ruledex.encode.program import CELL
from ruledex.engines.atree_check import check_tree
from ruledex.engines.atree_matching import TreeMatcher
from ruledex.engines.atree_packing import NO_SCOPES, scopes_of
from ruledex.engines.atree_scores import GrowingScores
from ruledex.engines.atree_tree import GrowingTree, Intervals, Switches
from ruledex.engines.inputs import ALL_ALIVE, frozen_batch
from ruledex.engines.protocol import Matches, Rank
from ruledex.kernels.atree_plain import Scopes
from ruledex.kernels.atree_rules import NewRules
from ruledex.kernels.event_cells import order_cells
from ruledex.kernels.growing import read_only
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema

if TYPE_CHECKING:
    from ruledex.encode.arrow_events import ArrowEvents

Literal = Positive | Negative
NO_NODE = -1
NO_CHANCE = read_only(np.zeros(0, np.float32))


class Insertion:
    """Rules that come, and the numbers that they get."""

    def __init__(self, rules: NDArray[np.int32], encoded: EncodedRules) -> None:
        self.rules = read_only(rules)
        self.encoded = encoded
        self.n_numbers = max(rules.tolist()) + 1
        # The nodes of the literals, if all were there when the first of the replicas saw the change.
        self.nodes: NDArray[np.int32] | None = None


class Deletion:
    """The numbers of rules that go."""

    def __init__(self, rules: NDArray[np.int32]) -> None:
        self.rules = read_only(rules)


class Replica:
    """Rules by their numbers. Readers enter their token in `readers` for as long as they read."""

    def __init__(self, schema: Schema, switches: Switches) -> None:
        self.schema = schema
        self.switches = switches
        self.readers: set[object] = set()
        self._clear()

    def _clear(self) -> None:
        self.tree = GrowingTree(self.switches)
        self.dictionary = GrowingDictionary(self.schema)
        self.scores = GrowingScores()
        self._node_of: dict[str, int] = {}  # by the keys of literals
        self._literal_of: dict[int, tuple[str, Literal]] = {}
        self._literals_of: dict[Name, dict[int, Positive]] = {}
        self.n_rules = 0
        self._settle()

    def copy(self) -> Replica:
        """The same state, of which nothing is shared with this one that changes."""
        made = Replica(self.schema, self.switches)
        made.tree, made.scores = self.tree.copy(), self.scores.copy()
        made.dictionary = self.dictionary.copy()
        made._node_of, made._literal_of = self._node_of.copy(), self._literal_of.copy()
        made._literals_of = {name: literals.copy() for name, literals in self._literals_of.items()}
        made.n_rules = self.n_rules
        made._settle()
        return made

    # Changes.

    def apply(self, change: Insertion | Deletion) -> None:
        """Change the state; nobody may read it meanwhile."""
        if isinstance(change, Insertion):
            self._insert(change)
        else:
            self._delete(change.rules)
        self._settle()

    def _settle(self) -> None:
        """Make what reads the new state."""
        if self.dictionary.settle() or self.n_rules == 0:
            self.encoder = EventEncoder(self.dictionary)
            self.__dict__.pop("_arrow", None)
        self.__dict__.pop("_matcher", None)

    def _insert(self, change: Insertion) -> None:
        program = change.encoded.program
        nodes = self._literal_nodes(change)
        self.tree.reserve_rules(change.n_numbers)
        new = self.scores.make_room(change.n_numbers, len(change.rules), change.encoded)
        rules = NewRules(
            program.node_op, program.child_offsets, program.children, program.root, change.rules, NO_CHANCE, nodes
        )
        self._forget(self.tree.insert_scored(rules, self.scores.arrays, new))
        self.n_rules += len(change.rules)

    def _delete(self, rules: NDArray[np.int32]) -> None:
        self.n_rules -= len(rules)
        if self.n_rules == 0:
            self._clear()
            return
        self._forget(self.tree.delete_scored(rules, self.scores.arrays))

    def _literal_nodes(self, change: Insertion) -> NDArray[np.int32]:
        """The nodes of a Program's literals, made where there are none.

        Replicas are equal before a change, so the second one need not look for what the first has found.
        """
        if change.nodes is not None:
            return change.nodes
        keys = change.encoded.meanings.keys
        known = self._node_of
        nodes = [known.get(key, NO_NODE) for key in keys]
        if NO_NODE in nodes:
            places = {keys[place]: place for place, node in enumerate(nodes) if node == NO_NODE}
            self._make_literals(sorted(places.values()), change.encoded)
            return read_only(np.array([known[key] for key in keys], np.int32))
        change.nodes = read_only(np.array(nodes, np.int32))
        return change.nodes

    def _make_literals(self, places: list[int], encoded: EncodedRules) -> None:
        """Make nodes of literals that have none, by their places, ascending."""
        meanings, n_positives = encoded.meanings, len(encoded.meanings.positives)
        positives = {place: meanings.positives[place] for place in places if place < n_positives}
        negatives = {place: meanings.negatives[place - n_positives] for place in places if place >= n_positives}
        # All constants first: what moves others must have moved them before anything is given its cells.
        moved = self.dictionary.use([*positives.values(), *negatives.values()], meanings)
        moving = {node: literal for name in sorted(moved) for node, literal in self._literals_of.get(name, {}).items()}
        if moving:
            self.tree.move_literals(np.fromiter(moving, np.int32, len(moving)), self._cells(moving.values()))
        if positives:
            self._note(positives, meanings, self.tree.add_literals(self._cells(positives.values())))
        if negatives:
            presence = np.array([self.dictionary.cell(literal.presence) for literal in negatives.values()], CELL)
            of = encoded.program.negative_of[np.fromiter(negatives, np.int64, len(negatives)) - n_positives]
            positive_of = np.array([self._node_of[meanings.keys[place]] for place in of.tolist()], np.int32)
            offsets = np.arange(len(presence) + 1, dtype=np.int32)
            made = self.tree.add_literals(Intervals(offsets, presence, presence), positive_of)
            self._note(negatives, meanings, made)

    def _cells(self, literals: Iterable[Positive]) -> Intervals:
        spans = [self.dictionary.cells(literal) for literal in literals]
        offsets = np.zeros(len(spans) + 1, np.int32)
        np.cumsum([len(row) for row in spans], out=offsets[1:])
        ends = np.array([span for row in spans for span in row], CELL).reshape(-1, 2)
        return Intervals(offsets, ends[:, 0].copy(), ends[:, 1].copy())

    def _note(self, literals: Mapping[int, Literal], meanings: Meanings, nodes: NDArray[np.int32]) -> None:
        for (place, literal), node in zip(literals.items(), nodes.tolist(), strict=True):
            self._node_of[meanings.keys[place]] = node
            self._literal_of[node] = meanings.keys[place], literal
            if isinstance(literal, Positive):
                for stretch in literal.stretches:
                    self._literals_of.setdefault(stretch.slot, {})[node] = literal

    def _forget(self, nodes: NDArray[np.int32]) -> None:
        if not len(nodes):
            return
        gone = []
        for node in nodes.tolist():
            key, literal = self._literal_of.pop(node)
            del self._node_of[key]
            gone.append(literal)
            if isinstance(literal, Positive):
                for name in {stretch.slot for stretch in literal.stretches}:
                    del self._literals_of[name][node]
                    if not self._literals_of[name]:
                        del self._literals_of[name]
        self.dictionary.drop(gone)

    # Reading.

    @cached_property
    def _matcher(self) -> TreeMatcher:
        switches = self.switches
        is_plain = not (switches.zero_suppression and switches.propagation_on_demand)
        n_rules = len(self.tree.arrays.rules)
        return TreeMatcher(self.tree.index(), n_rules, switches.bits, is_plain, self._scopes())

    def _scopes(self) -> Scopes:
        """The literals of each domain, where what is false matters."""
        if self.switches.zero_suppression:
            return NO_SCOPES
        return scopes_of(self.tree.index(), self.dictionary.first_cells())

    @cached_property
    def _arrow(self) -> tuple[EventEncoder, NDArray[np.int32]]:
        fixed, cells = self.dictionary.fixed()
        return EventEncoder(fixed), cells

    def encode(self, events: Iterable[Mapping[str, Any]], weights: Iterable[Weights | None] | None) -> EventBatch:
        """The cells of events."""
        return self.encoder.encode(events, weights)

    def encode_arrow(self, events: ArrowEvents) -> EventBatch:
        """The cells of the rows of a table: column by column, over constants as they are now."""
        encoder, names = self._arrow
        batch = encoder.arrow.encode(events)
        offsets, cells = batch.offsets.copy(), names[batch.cells]
        n_cells = order_cells(offsets, cells)
        return EventBatch(offsets, cells[:n_cells], batch.weights, batch.single)

    def match(self, batch: EventBatch) -> Matches:
        """The rules of each event, ascending."""
        return self._matcher.match(frozen_batch(batch), ALL_ALIVE)

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank,
        static_score: NDArray[np.float64] | None,
        order: NDArray[np.int64] | None,
    ) -> Matches:
        """The best k rules of each event."""
        return self.scores.top(self.tree, batch, self.match(batch), k, rank, static_score, order)

    def check(self) -> None:
        """Raise a `BrokenTreeError` where something is not as it should be."""
        check_tree(self.tree, self.scores.literals().tolist())
        for key, node in self._node_of.items():
            assert self._literal_of[node][0] == key
        assert len(self._literal_of) == len(self._node_of)

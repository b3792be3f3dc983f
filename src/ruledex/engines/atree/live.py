"""An A-Tree whose rules come and go while it answers (a-tree2021).

Readers are never blocked. There are two replicas of everything, a tree, the dictionary of its literals and the scores:
one is read, and a change is made to the other, which is the tree from then on; the next change first brings the older
one up to date. So a call sees each change whole or not at all, and answers from one state, however long it takes. A
replica that is still read when it is to be changed is left to its reader, and a copy of the other is made instead.

A replica is either read by any number of threads or changed by one, never both: a reader enters a token and then
looks whether the stamp is still that of the state that it wants, a writer takes the stamp away and then looks whether a
token is there. Changes are values (`Insertion`, `Deletion`), and what they do depends on nothing else, so that two
replicas that have seen the same changes are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, count
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import CELL
from ruledex.dictionary.growing import GrowingDictionary
from ruledex.dictionary.meanings import Meanings, Negative, Positive
from ruledex.dictionary.merging import Name
from ruledex.engines.atree.matcher import OneEventTree, TreeMatcher
from ruledex.engines.atree.new_rules import EncodedRules
from ruledex.engines.atree.packing import NO_SCOPES, scopes_of
from ruledex.engines.atree.plain import Scopes
from ruledex.engines.atree.rules import RulesToLoad
from ruledex.engines.atree.scores import GrowingScores
from ruledex.engines.atree.tree import WIDTHS, GrowingTree, LiteralIntervals, Switches
from ruledex.engines.inputs import ALL_ALIVE, freeze_batch
from ruledex.engines.protocol import Matches, OutdatedError, Rank
from ruledex.events.batch import EventBatch
from ruledex.events.joint import JointEncoder
from ruledex.events.mappings import EventEncoder, GrowingEncoder
from ruledex.forks import ForkSafeLock, cached_property
from ruledex.language.schema import Schema

Literal = Positive | Negative
NO_NODE = -1
NO_CHANCE = read_only(np.zeros(0, np.float32))
NO_RULES = read_only(np.zeros(0, np.int32))
NO_CELLS = LiteralIntervals(read_only(np.zeros(1, np.int32)), *[read_only(np.zeros(0, CELL))] * 2)
CHANGING: Final = -1  # the stamp of what somebody changes
_CLAIMING: Final = ForkSafeLock()
_STAMPS = count()  # each is given once, whatever the tree
COPY_FROM = 8  # a change of more than one rule in so many is copied to the other replica, not made again
FEW = 1000  # rules; changes of no more than these are always made again


class Insertion:
    """Rules to add. What the first replica finds out, the second need not, because both are equal.

    `labels` are what the caller calls the rules, if that is to be found by their rows.
    """

    def __init__(self, encoded: EncodedRules, labels: Sequence[Any] = ()) -> None:
        self.encoded = encoded
        self.labels = labels
        self.rules = NO_RULES  # the numbers that they get, once a replica has them
        self.nodes: NDArray[np.int32] | None = None  # those of the literals, once a replica has them
        self.new_literals: NewLiterals | None = None

    @property
    def n_rules(self) -> int:
        """How many come."""
        return self.encoded.program.n_rules


class NewLiterals(NamedTuple):
    """Literals that have no nodes yet, by their places among those of a Program, and the cells that they get.

    `moved` are literals that have nodes and get other cells.
    """

    positives: Mapping[int, Positive]
    negatives: Mapping[int, Negative]
    moved: NDArray[np.int32]
    moved_to: LiteralIntervals
    cells: LiteralIntervals  # of the positives
    presence: LiteralIntervals  # of the negatives


class Deletion:
    """The rows of rules to remove."""

    def __init__(self, rules: NDArray[np.int32]) -> None:
        self.rules = read_only(rules)

    @property
    def n_rules(self) -> int:
        """How many go."""
        return len(self.rules)


TreeChange: TypeAlias = Insertion | Deletion


def _each(new: NewLiterals) -> list[Literal]:
    return [*new.positives.values(), *new.negatives.values()]


class Replica:
    """Rules by their rows, which are used again once their rules are removed."""

    def __init__(self, schema: Schema, switches: Switches) -> None:
        self.schema = schema
        self.switches = switches
        self.stamp = next(_STAMPS)
        self._readers: set[object] = set()
        self._one_event: OneEventTree | None = None
        self._joint: JointEncoder | None = None
        self._clear()

    # Who may do what.

    def enter(self, token: object, stamp: int) -> bool:
        """Let somebody read the state of this stamp until `leave`; False where it is that state no longer."""
        self._readers.add(token)
        if self.stamp == stamp:
            return True
        self._readers.discard(token)
        return False

    def leave(self, token: object) -> None:
        """Undo `enter`."""
        self._readers.discard(token)

    def claim(self, stamp: int) -> bool:
        """Take the state of this stamp to change it; False where it is another one, or somebody reads it."""
        with _CLAIMING:  # of several threads, one may
            if self.stamp != stamp:
                return False
            self.stamp = CHANGING
            if self._readers:
                self.stamp = stamp
                return False
            return True

    def _clear(self) -> None:
        self.tree = GrowingTree(self.switches)
        self.dictionary = GrowingDictionary(self.schema)
        self.scores = GrowingScores()
        self._node_of: dict[str, int] = {}  # by the keys of literals
        self._literal_of: dict[int, tuple[str, Literal]] = {}
        self._literals_of: dict[Name, dict[int, Positive]] = {}
        self.labels: list[Any] = []  # of rules that have labels, by row
        self._free: list[int] = []  # numbers that rules had
        self._n_numbers = 0
        self.n_rules = 0
        self._settle()

    def copy(self) -> Replica:
        """Return the same state, of which nothing is shared with this one that changes."""
        made = Replica(self.schema, self.switches)
        made.tree, made.scores = self.tree.copy(), self.scores.copy()
        made.dictionary = self.dictionary.copy()
        made._node_of, made._literal_of = self._node_of.copy(), self._literal_of.copy()
        made._literals_of = {name: literals.copy() for name, literals in self._literals_of.items()}
        made._free, made._n_numbers = self._free.copy(), self._n_numbers
        made.labels = self.labels.copy()
        made.n_rules = self.n_rules
        made.encoder = GrowingEncoder(made.dictionary)
        return made

    # Changes.

    def apply(self, changes: Iterable[TreeChange]) -> None:
        """Change the state, which is claimed, or nobody else's yet; it gets another stamp."""
        for change in changes:
            if isinstance(change, Insertion):
                self._insert(change)
            else:
                self._delete(change.rules)
        self._settle()
        self.stamp = next(_STAMPS)

    def _settle(self) -> None:
        """Make what reads the new state."""
        if self.dictionary.settle() or self.n_rules == 0:
            self.encoder = GrowingEncoder(self.dictionary)
        self.__dict__.pop("_matcher", None)

    def _insert(self, change: Insertion) -> None:
        program = change.encoded.program
        nodes = self._literal_nodes(change)
        numbers = self._numbers(change.n_rules)
        if not len(change.rules):
            change.rules = read_only(np.array(numbers, np.int32))
        self.tree.reserve_rules(self._n_numbers)
        new = self.scores.make_room(self._n_numbers, change.n_rules, change.encoded)
        rules = RulesToLoad(
            program.node_op, program.child_offsets, program.children, program.root, change.rules, NO_CHANCE, nodes
        )
        self._forget(self.tree.insert_scored(rules, self.scores.arrays, new))
        self.n_rules += change.n_rules
        if change.labels:
            self.labels += [None] * (self._n_numbers - len(self.labels))
            for row, label in zip(numbers, change.labels, strict=True):
                self.labels[row] = label

    def _numbers(self, n_rules: int) -> list[int]:
        """Numbers for new rules, those that were given back last first."""
        n_again = min(n_rules, len(self._free))
        n_numbers = self._n_numbers + n_rules - n_again
        numbers = [*(self._free.pop() for _ in range(n_again)), *range(self._n_numbers, n_numbers)]
        self._n_numbers = n_numbers
        return numbers

    def _delete(self, rules: NDArray[np.int32]) -> None:
        self.n_rules -= len(rules)
        if self.n_rules == 0:
            self._clear()
            return
        self._free += rules.tolist()
        self._forget(self.tree.delete_scored(rules, self.scores.arrays))

    def _literal_nodes(self, change: Insertion) -> NDArray[np.int32]:
        """Return the nodes of a Program's literals, made where there are none."""
        if change.nodes is not None:
            if change.new_literals is not None:
                self.dictionary.use(_each(change.new_literals), change.encoded.meanings)
                self._make(change.new_literals, change.encoded)
            return change.nodes
        keys, known = change.encoded.meanings.keys, self._node_of
        nodes = [known.get(key, NO_NODE) for key in keys]
        if NO_NODE in nodes:
            places = {keys[place]: place for place, node in enumerate(nodes) if node == NO_NODE}
            change.new_literals = self._new_literals(sorted(places.values()), change.encoded.meanings)
            self._make(change.new_literals, change.encoded)
            nodes = [known[key] for key in keys]
        change.nodes = read_only(np.array(nodes, np.int32))
        return change.nodes

    def _new_literals(self, places: list[int], meanings: Meanings) -> NewLiterals:
        """Give cells to literals that have none, by their places, ascending."""
        n_positives = len(meanings.positives)
        positives = {place: meanings.positives[place] for place in places if place < n_positives}
        negatives = {place: meanings.negatives[place - n_positives] for place in places if place >= n_positives}
        # All constants first: what moves others must have moved them before anything is given its cells.
        moved = self.dictionary.use([*positives.values(), *negatives.values()], meanings)
        moving = {node: literal for name in sorted(moved) for node, literal in self._literals_of.get(name, {}).items()}
        return NewLiterals(
            positives,
            negatives,
            np.fromiter(moving, np.int32, len(moving)) if moving else NO_RULES,
            self._cells(moving.values()) if moving else NO_CELLS,
            self._cells(positives.values()) if positives else NO_CELLS,
            self._presence_cells(negatives.values()) if negatives else NO_CELLS,
        )

    def _presence_cells(self, literals: Iterable[Negative]) -> LiteralIntervals:
        cells = read_only(np.array([self.dictionary.cell(literal.presence) for literal in literals], CELL))
        return LiteralIntervals(read_only(np.arange(len(cells) + 1, dtype=np.int32)), cells, cells)

    def _make(self, new: NewLiterals, encoded: EncodedRules) -> None:
        """Make nodes of literals whose constants are in use."""
        meanings = encoded.meanings
        if len(new.moved):
            self.tree.move_literals(new.moved, new.moved_to)
        if new.positives:
            self._note(new.positives, meanings, self.tree.add_literals(new.cells))
        if new.negatives:
            of = encoded.program.negative_of[np.fromiter(new.negatives, np.int64) - len(meanings.positives)]
            positive_of = np.array([self._node_of[meanings.keys[place]] for place in of.tolist()], np.int32)
            self._note(new.negatives, meanings, self.tree.add_literals(new.presence, positive_of))

    def _cells(self, literals: Iterable[Positive]) -> LiteralIntervals:
        spans = [self.dictionary.cells(literal) for literal in literals]
        offsets = np.array(list(accumulate(map(len, spans), initial=0)), np.int32)
        low = np.array([span[0] for row in spans for span in row], CELL)
        high = np.array([span[1] for row in spans for span in row], CELL)
        return LiteralIntervals(read_only(offsets), read_only(low), read_only(high))

    def _note(self, literals: Mapping[int, Literal], meanings: Meanings, nodes: NDArray[np.int32]) -> None:
        keys, node_of, literal_of, literals_of = meanings.keys, self._node_of, self._literal_of, self._literals_of
        for (place, literal), node in zip(literals.items(), nodes.tolist(), strict=True):
            key = keys[place]
            node_of[key] = node
            literal_of[node] = key, literal
            if type(literal) is Positive and (values := literal.values) is not None:
                of_slot = literals_of.get(values.slot)
                if of_slot is None:
                    of_slot = literals_of[values.slot] = {}
                of_slot[node] = literal

    def _forget(self, nodes: NDArray[np.int32]) -> None:
        if not len(nodes):
            return
        gone = []
        for node in nodes.tolist():
            key, literal = self._literal_of.pop(node)
            del self._node_of[key]
            gone.append(literal)
            if isinstance(literal, Positive) and literal.values is not None:
                name = literal.values.slot
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

    @property
    def one_event(self) -> OneEventTree:
        """What matches single events by the short way, for a tree with both optimisations of matching."""
        made, tree = self._one_event, self.tree
        if made is None or made.arrays is not tree.arrays:
            made = self._one_event = OneEventTree(tree.arrays, WIDTHS)
        return made

    def encoder_with(self, other: EventEncoder) -> JointEncoder:
        """Return what encodes single events for another dictionary and for this one at once."""
        made = self._joint
        if made is None or made.first is not other or made.second is not self.encoder:
            made = self._joint = JointEncoder(other, self.encoder)
        return made

    def _scopes(self) -> Scopes:
        """Return the literals of each domain, where what is false matters."""
        if self.switches.zero_suppression:
            return NO_SCOPES
        return scopes_of(self.tree.index(), self.dictionary.first_cells())

    def match(self, batch: EventBatch, alive: NDArray[np.uint8] | None = None) -> Matches:
        """Return the rules of each event, ascending. `alive` is read-only, with 0 for rules to leave out."""
        return self._matcher.match(freeze_batch(batch), ALL_ALIVE if alive is None else alive)

    def count(self, batch: EventBatch, alive: NDArray[np.uint8] | None = None) -> NDArray[np.int64]:
        """For each event how many rules are true."""
        return self._matcher.count(freeze_batch(batch), ALL_ALIVE if alive is None else alive)

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank,
        static_score: NDArray[np.float64] | None,
        order: NDArray[np.int64] | None,
        alive: NDArray[np.uint8] | None = None,
    ) -> Matches:
        """Return the best k rules of each event."""
        return self.scores.top(self.tree, batch, self.match(batch, alive), k, rank, static_score, order)

    def describe(self) -> dict[str, Any]:
        """Describe what the tree is made of; `bytes` are those of this replica's arrays."""
        made = self.tree.describe()
        made["bytes"] += self.scores.n_bytes
        return {
            "engine": "atree",
            "n_rules": self.n_rules,
            "n_attributes": len(self.dictionary.slots),
            **made,
            "switches": self.switches._asdict(),
        }


class TreeVersion(NamedTuple):
    """A tree as it is after some change. It can be read until the next version is changed."""

    replica: Replica
    stamp: int  # of the replica, while it is in this state
    spare: Replica | None = None  # the other replica, which lacks the changes that led here, if these are few
    spare_stamp: int = 0
    missed: tuple[TreeChange, ...] = ()

    @classmethod
    def empty(cls, schema: Schema, switches: Switches) -> TreeVersion:
        """Return a version without rules."""
        replica = Replica(schema, switches)
        return cls(replica, replica.stamp)

    @contextmanager
    def reading(self) -> Iterator[Replica]:
        """Yield the replica, which does not change meanwhile; raise `OutdatedError` if it has changed already."""
        token = object()
        if not self.replica.enter(token, self.stamp):
            raise OutdatedError
        try:
            yield self.replica
        finally:
            self.replica.leave(token)

    def changed(self, *changes: TreeChange, in_place: bool = False) -> TreeVersion:
        """Return the version after changes, which are made at once. Call it on the last version.

        Two threads may make different versions of one; one of them then pays for a copy. If it fails, or if its result
        is not used, this version is still the last. With `in_place`, which is for a version that nobody else has, this
        version is of no use afterwards, and that before it is still the last.
        """
        if in_place and self.replica.claim(self.stamp):
            self.replica.apply(changes)
            return self._next(self.replica, self.spare, self.spare_stamp, (*self.missed, *changes))
        if self.spare is None or not self.spare.claim(self.spare_stamp):
            with self.reading():
                replica = self.replica.copy()
            replica.apply(changes)
        else:
            replica = self.spare
            replica.apply((*self.missed, *changes))
        return self._next(replica, self.replica, self.stamp, changes)

    @staticmethod
    def _next(replica: Replica, spare: Replica | None, spare_stamp: int, missed: tuple[TreeChange, ...]) -> TreeVersion:
        if spare is None or sum(change.n_rules for change in missed) > max(FEW, replica.n_rules // COPY_FROM):
            return TreeVersion(replica, replica.stamp)
        return TreeVersion(replica, replica.stamp, spare, spare_stamp, missed)

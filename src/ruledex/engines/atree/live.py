"""An A-Tree whose rules come and go while it answers (a-tree2021).

Readers are never blocked. There are two replicas of everything: one is read, and a change is made to the other, which
is the tree from then on; the next change first brings the older one up to date. So a call sees each change whole or not
at all, and answers from one state, however long it takes. A replica that is still read when it is to be changed is left
to its reader, and a copy of the other is made instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.atree.new_rules import EncodedRules, NewRule, encode_rules
from ruledex.engines.atree.replica import Deletion, Insertion, Replica, TreeChange
from ruledex.engines.atree.tree import Switches
from ruledex.engines.protocol import Matches, OutdatedError, Rank
from ruledex.errors import RuledexError
from ruledex.forks import ForkSafeLock
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema

if TYPE_CHECKING:
    from ruledex.events.arrow.tables import ArrowEvents

COPY_FROM = 8  # a change of more than one rule in so many is copied to the other replica, not made again
FEW = 1000  # rules, of which any change is made again


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

    def changed(self, *changes: TreeChange) -> TreeVersion:
        """Return the version after changes, which are made at once. Call it on the last version, one thread at a time.

        If it fails, or if its result is not used, this version is still the last.
        """
        if self.spare is None or not self.spare.claim(self.spare_stamp):
            replica = self.replica.copy()
            replica.apply(changes)
        else:
            replica = self.spare
            replica.apply((*self.missed, *changes))
        if sum(change.n_rules for change in changes) > max(FEW, replica.n_rules // COPY_FROM):
            return TreeVersion(replica, replica.stamp)
        return TreeVersion(replica, replica.stamp, self.replica, self.stamp, changes)


class LiveTree:
    """A tree by itself. Rules are in *rows*: numbers that `insert` gives, and gives again once they are deleted.

    Safe to use from any number of threads; changes are made one after the other.
    """

    def __init__(self, schema: Schema | None = None, **switches: bool) -> None:
        self.schema = Schema() if schema is None else schema
        try:
            self.switches = Switches(**switches)
        except TypeError:
            raise RuledexError(f"the switches of a tree are {', '.join(Switches._fields)}, not {switches}") from None
        self._version = TreeVersion.empty(self.schema, self.switches)
        self._writing = ForkSafeLock()
        self._rules: dict[int, NewRule] = {}

    # Changes.

    def insert(self, rules: Sequence[NewRule]) -> list[int]:
        """Add rules, each a text or a tree with its static score; return their rows. If one is wrong, none is added."""
        return self.insert_encoded(rules, self.encode(rules))

    def encode(self, rules: Sequence[NewRule]) -> EncodedRules:
        """Parse and encode rules for `insert_encoded`; this needs nothing of the tree, and blocks nobody."""
        return encode_rules(self.schema, rules)

    def insert_encoded(self, rules: Sequence[NewRule], encoded: EncodedRules) -> list[int]:
        """Add rules that `encode` has encoded; return their rows."""
        if not rules:
            return []
        with self._writing:
            insertion = Insertion(encoded)
            self._version = self._version.changed(insertion)
            rows: list[int] = insertion.rules.tolist()
            self._rules.update(zip(rows, rules, strict=True))
            return rows

    def delete(self, rows: Iterable[int]) -> None:
        """Remove the rules in these rows, all at once."""
        gone = list(rows)
        if not gone:
            return
        with self._writing:
            missing = [row for row in gone if row not in self._rules]
            if missing or len(set(gone)) < len(gone):
                raise RuledexError(f"there is no rule in row {missing[0]}" if missing else "a row was given twice")
            self._version = self._version.changed(Deletion(np.array(gone, np.int32)))
            for row in gone:
                del self._rules[row]

    # Reading.

    @contextmanager
    def _reading(self) -> Iterator[Replica]:
        """The newest replica, which is not changed until it is left."""
        token = object()
        while True:
            version = self._version
            if version.replica.enter(token, version.stamp):
                break
        try:
            yield version.replica
        finally:
            version.replica.leave(token)

    def match(self, events: Sequence[Mapping[str, Any]]) -> Matches:
        """Return the rows of the rules that are true of each event, ascending."""
        with self._reading() as replica:
            return replica.match(replica.encoder.encode(events))

    def match_arrow(self, table: ArrowEvents) -> Matches:
        """Return the same for the rows of an Arrow table, a record batch or a data frame."""
        with self._reading() as replica:
            return replica.match(replica.encoder.arrow.encode(table))

    def top(
        self,
        events: Sequence[Mapping[str, Any]],
        k: int,
        rank: Rank = "sum",
        weights: Iterable[Weights | None] | None = None,
        *,
        static_score: NDArray[np.float64] | None = None,
        order: NDArray[np.int64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first.

        `static_score` has one entry per row and replaces the rules' own. `order` has one entry per row and breaks
        ties: the smaller comes first, and without it the smaller row.
        """
        with self._reading() as replica:
            return replica.top(replica.encoder.encode(events, weights), k, rank, static_score, order)

    def rule(self, row: int) -> NewRule:
        """Return the rule in a row as it was given: its text or tree, and its static score."""
        try:
            return self._rules[row]
        except KeyError:
            raise RuledexError(f"there is no rule in row {row}") from None

    def __len__(self) -> int:
        return len(self._rules)

    def describe(self) -> dict[str, Any]:
        """Describe what the tree is made of; `bytes` are those of one replica's arrays."""
        with self._reading() as replica:
            return replica.describe()

    def check(self) -> None:
        """Raise an AssertionError where what is held of the rules contradicts itself. It is slow."""
        with self._writing, self._reading() as replica:
            replica.check()

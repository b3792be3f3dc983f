"""An A-Tree by itself whose rules come and go while it answers. An index has the same tree as its delta."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.atree.live import Deletion, Insertion, Replica, TreeVersion
from ruledex.engines.atree.new_rules import EncodedRules, NewRule, encode_rules
from ruledex.engines.atree.tree import Switches
from ruledex.engines.protocol import Matches, Rank
from ruledex.errors import RuledexError
from ruledex.forks import ForkSafeLock
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema

if TYPE_CHECKING:
    from ruledex.events.arrow.tables import ArrowEvents


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

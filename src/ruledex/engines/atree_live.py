"""LiveTree: an A-Tree whose rules come and go while it answers (a-tree2021).

Readers are never blocked. There are two replicas of everything: one is read, and a change is made to the other, which
then takes its place in one assignment; the next change first brings the one that was left behind up to date. So a call
sees each change whole or not at all, and answers from one state, however long it takes. A replica that somebody still
reads when it is to be changed is left to that reader, and a copy of the other is made instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.growing_rules import EncodedRules, NewRule, encode_rules
from ruledex.engines.atree_replica import Deletion, Insertion, Replica
from ruledex.engines.atree_tree import Switches
from ruledex.engines.protocol import Matches, Rank
from ruledex.errors import RuledexError
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema

if TYPE_CHECKING:
    from ruledex.encode.arrow_events import ArrowEvents

COPY_FROM = 8  # a change of more than one rule in so many is copied to the other replica, not made again
FEW = 1000  # rules, of which any change is made again


class LiveTree:
    """Rules in *slots*: numbers that `insert` gives, and that are given again once their rules are deleted.

    Safe to use from any number of threads; changes are made one after the other.
    """

    def __init__(self, schema: Schema | None = None, **switches: bool) -> None:
        self.schema = Schema() if schema is None else schema
        try:
            self.switches = Switches(**switches)
        except TypeError:
            raise RuledexError(f"the switches of a tree are {', '.join(Switches._fields)}, not {switches}") from None
        self._active = Replica(self.schema, self.switches)
        self._spare: Replica | None = None
        self._missed: Insertion | Deletion | None = None  # what the spare replica has not seen
        self._writing = Lock()
        self._rules: dict[int, NewRule] = {}
        self._free: list[int] = []
        self._n_slots = 0

    # Changes.

    def insert(self, rules: Sequence[NewRule]) -> list[int]:
        """Add rules, each a text or a tree with its static score; their slots. If one is no rule, none is added."""
        return self.insert_encoded(rules, self.encode(rules))

    def encode(self, rules: Sequence[NewRule]) -> EncodedRules:
        """Parse and encode rules for `insert_encoded`; this needs nothing of the tree, and blocks nobody."""
        return encode_rules(self.schema, rules)

    def insert_encoded(self, rules: Sequence[NewRule], encoded: EncodedRules) -> list[int]:
        """Add rules that `encode` has encoded; their slots."""
        if not rules:
            return []
        with self._writing:
            n_reused = min(len(rules), len(self._free))
            n_slots = self._n_slots + len(rules) - n_reused
            slots = [*reversed(self._free[len(self._free) - n_reused :]), *range(self._n_slots, n_slots)]
            self._change(Insertion(np.array(slots, np.int32), encoded))
            del self._free[len(self._free) - n_reused :]
            self._n_slots = n_slots
            self._rules.update(zip(slots, rules, strict=True))
            return slots

    def delete(self, slots: Iterable[int]) -> None:
        """Remove the rules in these slots, all at once."""
        gone = list(slots)
        if not gone:
            return
        with self._writing:
            missing = [slot for slot in gone if slot not in self._rules]
            if missing or len(set(gone)) < len(gone):
                raise RuledexError(f"there is no rule in slot {missing[0]}" if missing else "a slot was given twice")
            self._change(Deletion(np.array(gone, np.int32)))
            for slot in gone:
                del self._rules[slot]
            self._free += gone
            if not self._rules:
                self._free, self._n_slots = [], 0

    def _change(self, change: Insertion | Deletion) -> None:
        replica = self._up_to_date()
        replica.apply(change)
        before, self._active = self._active, replica
        self._spare, self._missed = before, change

    def _up_to_date(self) -> Replica:
        """A replica in the state of the active one that nobody reads."""
        spare, missed = self._spare, self._missed
        self._spare = None  # should a change fail, what it was made to is of no use any more
        if spare is None or missed is None or spare.readers or self._is_large(missed):
            return self._active.copy()
        spare.apply(missed)
        return spare

    def _is_large(self, change: Insertion | Deletion) -> bool:
        return len(change.rules) > max(FEW, self._active.n_rules // COPY_FROM)

    # Reading.

    @contextmanager
    def _reading(self) -> Iterator[Replica]:
        """The active replica, which is not changed until it is left."""
        token = object()
        while True:
            replica = self._active
            replica.readers.add(token)
            if replica is self._active:
                break
            # It was replaced before it was known to be read, and may be changed by now.
            replica.readers.discard(token)
        try:
            yield replica
        finally:
            replica.readers.discard(token)

    def match(self, events: Sequence[Mapping[str, Any]]) -> Matches:
        """The slots of the rules that are true of each event, ascending."""
        with self._reading() as replica:
            return replica.match(replica.encode(events, None))

    def match_arrow(self, table: ArrowEvents) -> Matches:
        """The same for the rows of an Arrow table, a record batch or a data frame."""
        with self._reading() as replica:
            return replica.match(replica.encode_arrow(table))

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
        """The best k rules of each event with their ranks as scores, the best first.

        `static_score` has an entry a slot, and replaces the rules' own; `order` too, and breaks ties: the smaller comes
        first, where it is not given the smaller slot.
        """
        with self._reading() as replica:
            return replica.top(replica.encode(events, weights), k, rank, static_score, order)

    def rule(self, slot: int) -> NewRule:
        """The rule in a slot as it was given: its text or tree, and its static score."""
        try:
            return self._rules[slot]
        except KeyError:
            raise RuledexError(f"there is no rule in slot {slot}") from None

    def __len__(self) -> int:
        return len(self._rules)

    def describe(self) -> dict[str, Any]:
        """What the tree is made of; `bytes` are those of one replica's arrays."""
        with self._reading() as replica:
            made = replica.tree.describe()
            made["bytes"] += replica.scores.n_bytes
            return {
                "engine": "atree",
                "n_rules": replica.n_rules,
                "n_attributes": len(replica.dictionary.slots),
                **made,
                "switches": self.switches._asdict(),
            }

    def check(self) -> None:
        """Raise an AssertionError where what is held of the rules contradicts itself. It is slow."""
        with self._writing, self._reading() as replica:
            replica.check()

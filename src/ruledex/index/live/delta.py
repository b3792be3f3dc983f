"""What an index knows of the rules of its delta, apart from what they say: arrays in the order of ids, and a log.

The delta: rules that came after the base was built, in an A-Tree that grows (engines/atree/live.py).

It has constants of its own, so that what comes touches nothing of the base. A change makes another delta, over the next
version of the same tree: whoever reads the one before ends on it, and if it has become too old to begin with, the index
has a newer one (`OutdatedError`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.dictionary.dictionary import Dictionary
from ruledex.engines.atree.live import TreeVersion
from ruledex.engines.atree.new_rules import EncodedRules
from ruledex.engines.atree.replica import (
    Change,
    Deletion,
    Insertion,
    Replica,
)
from ruledex.engines.atree.tree import Switches
from ruledex.engines.protocol import Matches, Rank
from ruledex.forks import cached_property
from ruledex.index.identities import RuleId
from ruledex.index.inputs import Events, encode_events
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema
from ruledex.language.value import INT64_MAX, INT64_MIN

# Ids and texts in the order in which they came. It grows at its end and nothing in it changes, so that all states of a
# delta have one, and each knows the entries that are its own.
Log: TypeAlias = list[tuple[RuleId, str]]


class DeltaRules(NamedTuple):
    """For each rule, ascending by id: a rule's number is its place here. Immutable."""

    ids: NDArray[Any]  # int64 or objects
    before: NDArray[np.int64]  # how many rules of the base have smaller ids
    scores: NDArray[np.float64]
    slots: NDArray[np.int32]  # in the tree
    entries: NDArray[np.int64]  # in the log

    @classmethod
    def none(cls) -> DeltaRules:
        """No rules."""
        whole = np.zeros(0, np.int64)
        return cls(whole, whole, np.zeros(0), np.zeros(0, np.int32), whole)

    def without(self, numbers: Sequence[int]) -> DeltaRules:
        """The rules but for some."""
        kept = np.ones(len(self.ids), np.bool_)
        kept[list(numbers)] = False
        arrays: Any = (array[kept] for array in self)
        return DeltaRules(*arrays)

    def joined(self, new: DeltaRules) -> DeltaRules:
        """The rules and others, of other ids."""
        if not len(self.ids):
            return new  # whose ids may be of another type
        places = np.searchsorted(self.ids, new.ids)
        pairs: Any = zip(self, new, strict=True)
        arrays = (_inserted(mine, places, theirs) for mine, theirs in pairs)
        return DeltaRules(*arrays)

    def scored(self, scores: Sequence[tuple[int, float]]) -> DeltaRules:
        """With other static scores for some, by number."""
        replaced = self.scores.copy()
        for number, score in scores:
            replaced[number] = score
        return self._replace(scores=replaced)


def _inserted(array: NDArray[Any], places: NDArray[np.int64], new: NDArray[Any]) -> NDArray[Any]:
    """An array with others before the items at some places."""
    if len(new) > 1:
        return np.insert(array, places, new)
    at = int(places[0])  # NumPy's own takes ten times as long for one
    return np.concatenate([array[:at], new, array[at:]])


_FEW_ENTRIES: Final = 1024  # of a log that is not worth tidying


class NewRules(NamedTuple):
    """Rules that come, ascending by id."""

    ids: NDArray[Any]  # int64 or objects
    texts: Sequence[str]
    scores: NDArray[np.float64]
    before: NDArray[np.int64]  # of each, how many rules of the base have smaller ids
    encoded: EncodedRules


class Delta:
    """Rules in the order of their ids; a rule's number is its place in that order. Immutable."""

    def __init__(self, tree: TreeVersion, rules: DeltaRules, log: Log) -> None:
        self.tree = tree
        self.rules = rules
        self.log = log

    @staticmethod
    def empty(schema: Schema) -> Delta:
        """No rules."""
        return Delta(TreeVersion.empty(schema, Switches()), DeltaRules.none(), [])

    def __len__(self) -> int:
        return len(self.ids)

    # Looking at it.

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of all rules, int64 or objects."""
        return self.rules.ids

    @property
    def before(self) -> NDArray[np.int64]:
        """Of each rule, how many rules of the base have smaller ids."""
        return self.rules.before

    @property
    def kind(self) -> str:
        """Of which type the ids are."""
        return "string" if self.ids.dtype == object else "integer"

    def number(self, rule_id: object) -> int | None:
        """The number of an id, None where there is none."""
        if not len(self.ids):
            return None
        if self.kind == "string":
            if not isinstance(rule_id, str):
                return None
        elif isinstance(rule_id, bool) or not isinstance(rule_id, int) or not INT64_MIN <= rule_id <= INT64_MAX:
            return None
        at = int(self.ids.searchsorted(rule_id))
        return at if at < len(self.ids) and self.ids[at] == rule_id else None

    def text(self, number: int) -> str:
        """The text of a rule."""
        return self.log[int(self.rules.entries[number])][1]

    def static_score(self, number: int) -> float:
        """The static score of a rule."""
        return float(self.rules.scores[number])

    def texts(self) -> pa.Array:
        """The texts of all rules."""
        return pa.array((self.log[entry][1] for entry in self.rules.entries.tolist()), pa.large_string())

    def static_scores(self) -> NDArray[np.float64]:
        """The static scores of all rules."""
        return self.rules.scores

    # Asking it.

    @contextmanager
    def reading(self) -> Iterator[DeltaReader]:
        """What answers, and is not changed meanwhile; an `OutdatedError` where it has been already."""
        with self.tree.reading() as replica:
            yield DeltaReader(self, replica)

    @cached_property
    def by_slot(self) -> BySlot:
        """What the tree needs to know of its rules."""
        slots = self.rules.slots
        n_slots = int(slots.max(initial=-1)) + 1
        number = np.zeros(n_slots, np.int64)
        number[slots] = np.arange(len(slots))
        score = np.zeros(n_slots)
        score[slots] = self.rules.scores
        return BySlot(number, score)

    # Changing.

    def changed(self, dropped: list[int], scores: list[tuple[int, float]], new: NewRules | None) -> Delta:
        """The delta after a change: static scores replaced, rules dropped, others added.

        One thread at a time calls, and on the last delta. Until what it gives is used, that is still the last one.
        """
        rules, changes = self.rules, list[Change]()
        if scores:
            rules = rules.scored(scores)
        if dropped:
            changes.append(Deletion(rules.slots[dropped]))
            rules = rules.without(dropped)
        insertion = None if new is None else Insertion(new.encoded)
        if insertion is not None:
            changes.append(insertion)
        tree = self.tree.changed(*changes) if changes else self.tree
        log = self.log
        if new is not None and insertion is not None:
            # What a failed change has left in the log is nobody's.
            entries = np.arange(len(log), len(log) + len(new.ids))
            log.extend(zip(new.ids.tolist(), new.texts, strict=True))
            rules = rules.joined(DeltaRules(new.ids, new.before, new.scores, insertion.rules, entries))
        if len(log) > 2 * len(rules.ids) + _FEW_ENTRIES:
            log = [log[entry] for entry in rules.entries.tolist()]
            rules = rules._replace(entries=np.arange(len(log)))
        return Delta(tree, rules, log)


class BySlot(NamedTuple):
    """The numbers and static scores of rules by their slots in the tree."""

    number: NDArray[np.int64]
    score: NDArray[np.float64]


class DeltaReader:
    """A delta that can be asked, for as long as it is held."""

    def __init__(self, delta: Delta, replica: Replica) -> None:
        self._delta = delta
        self._replica = replica

    def match_one(self, event: Mapping[str, Any]) -> list[RuleId]:
        """The ids of the rules that are true of one event, in no order."""
        found = self._replica.match(self._replica.encoder.encode_one(event)).rule
        if not len(found):
            return []
        return self._delta.ids[self._delta.by_slot.number[found]].tolist()  # type: ignore[no-any-return]

    def match(self, events: Events) -> Matches:
        """The numbers of all rules that are true, ascending within an event."""
        found = self._replica.match(encode_events(self._replica.encoder, events))
        numbers = self._delta.by_slot.number[found.rule]
        event = np.repeat(np.arange(found.n_events), np.diff(found.offsets))
        order = np.sort(event << 32 | numbers)  # a number has 31 bits, as a slot has
        return found._replace(rule=(order & 0xFFFF_FFFF).astype(np.int32))

    def count(self, events: Events) -> NDArray[np.int64]:
        """For each event, how many rules are true."""
        return self._replica.count(encode_events(self._replica.encoder, events))

    def top(self, events: Events, k: int, rank: Rank, weights: Sequence[Weights | None] | None) -> Matches:
        """The numbers of the best k rules of each event, with their ranks."""
        batch, by_slot = encode_events(self._replica.encoder, events, weights), self._delta.by_slot
        found = self._replica.top(batch, k, rank, by_slot.score, by_slot.number)
        return found._replace(rule=by_slot.number[found.rule].astype(np.int32))

    def dictionaries(self) -> list[Dictionary]:
        """That of the tree, as one that does not change; none where there are no rules."""
        return [self._replica.dictionary.fixed()[0]] if len(self._delta) else []

    def describe(self) -> dict[str, Any]:
        """How many rules, and what the tree is made of."""
        told = self._replica.describe() if len(self._delta) else {}
        return {"added": len(self._delta), "tree": told}

    def check(self) -> None:
        """Raise an error where the tree contradicts itself, or has other rules than the delta. It is slow."""
        self._replica.check()
        slots = self._delta.rules.slots
        assert self._replica.n_rules == len(slots) == len(set(slots.tolist()))

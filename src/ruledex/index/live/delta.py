"""The delta: rules that were added after the base was built, in an A-Tree that grows (engines/atree/live.py).

The delta has constants of its own, so that adding rules changes nothing in the base. A change makes another delta over
the next version of the same tree: calls that read the one before end on it. A delta that is too old to begin a call
with raises an `OutdatedError`, and the index then has a newer one.

The rules that came last may be missing in the tree. They are queued for it (queued_rules.py), and meanwhile they answer
for single events by themselves (recent_rules.py). As long as all rules of a delta do, the tree is not asked for those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.compiled.arrays import read_only
from ruledex.dictionary.dictionary import Dictionary, slot_uses_now
from ruledex.engines.protocol import Matches, Rank
from ruledex.forks import cached_property
from ruledex.index.identities import RuleId
from ruledex.index.inputs import Events, encode_events
from ruledex.index.live.queued_rules import MOST_QUEUED, QueuedRule, QueuedRules
from ruledex.index.live.recent_rules import PlannedRule, RecentRules
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema
from ruledex.language.value import INT64_MAX, INT64_MIN

if TYPE_CHECKING:  # an index that nobody changes needs no A-Tree
    from ruledex.engines.atree.live import Replica, TreeVersion
    from ruledex.engines.atree.new_rules import EncodedRules
    from ruledex.engines.atree.plain_rules import PlainRules

# Ids, texts and tags (canonical JSON or None) in the order in which they were added. A log grows at its end and nothing
# in it changes, so all states of a delta share one, and each knows which entries are its own.
Log: TypeAlias = list[tuple[RuleId, str, str | None, str | None]]

_FEW_ENTRIES: Final = 1024  # a log of so few is not worth tidying


class DeltaRules(NamedTuple):
    """The rules of a delta as columns, ascending by id: a rule's position in the delta is its row here. Immutable."""

    ids: NDArray[Any]  # int64 or objects
    before: NDArray[np.int64]  # how many rules of the base have smaller ids
    scores: NDArray[np.float64]
    tree_positions: NDArray[np.int32]  # in the tree; -1 of the first rule of the queue, -2 of the second, and so on
    entries: NDArray[np.int64]  # in the log

    @classmethod
    def empty(cls) -> DeltaRules:
        """Return no rules."""
        whole = np.zeros(0, np.int64)
        return cls(whole, whole, np.zeros(0), np.zeros(0, np.int32), whole)

    def drop(self, positions: Sequence[int]) -> DeltaRules:
        """Return all rules but those at some positions."""
        kept = np.ones(len(self.ids), np.bool_)
        kept[list(positions)] = False
        arrays: Any = (array[kept] for array in self)
        return DeltaRules(*arrays)

    def merge(self, new: DeltaRules) -> DeltaRules:
        """Return these rules and others, which have other ids."""
        if not len(self.ids):
            return new  # its ids may be of another type
        positions = self.ids.searchsorted(new.ids)
        pairs: Any = zip(self, new, strict=True)
        arrays = (_insert(mine, positions, theirs) for mine, theirs in pairs)
        return DeltaRules(*arrays)

    def with_rows(self, rows: NDArray[np.int32]) -> DeltaRules:
        """Return the rules with the positions in the tree of those that were queued, which are `rows`."""
        return self._replace(tree_positions=_in_tree(self.tree_positions, rows)) if len(rows) else self

    def replace_scores(self, scores: Sequence[tuple[int, float]]) -> DeltaRules:
        """Return the rules with other static scores at some positions."""
        replaced = self.scores.copy()
        for position, score in scores:
            replaced[position] = score
        return self._replace(scores=replaced)


def _insert(array: NDArray[Any], positions: NDArray[np.int64], new: NDArray[Any]) -> NDArray[Any]:
    """Return an array with new items before those at some positions."""
    if len(new) > 1:
        return np.insert(array, positions, new)
    at = int(positions[0])  # np.insert takes ten times as long for one item
    if at == len(array):
        return np.concatenate([array, new])
    return np.concatenate([array[:at], new, array[at:]])


def _in_tree(positions: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.where(positions < 0, rows[-1 - np.minimum(positions, -1)], positions)


class AddedRules(NamedTuple):
    """Rules to add to a delta, ascending by id. Those that are not `encoded` are queued, and must be planned."""

    ids: NDArray[Any]  # int64 or objects
    texts: Sequence[str]
    scores: NDArray[np.float64]
    before: NDArray[np.int64]  # for each, how many rules of the base have smaller ids
    encoded: EncodedRules | None
    tags: Sequence[str | None]  # canonical JSON
    originals: Sequence[str | None]  # as written for other systems
    planned: Sequence[PlannedRule] | None = None  # None if one of them cannot be


class FunctionsUsed(NamedTuple):
    """Whether rules use functions of events, and among them the time of the call."""

    any: bool = False
    now: bool = False

    @staticmethod
    def of(dictionary: Dictionary) -> FunctionsUsed:
        """Return what the rules of a dictionary use."""
        derived = dictionary.derived
        return FunctionsUsed(True, any(map(slot_uses_now, derived))) if derived else _NO_FUNCTIONS


_NO_FUNCTIONS: Final = FunctionsUsed()


class Waiting(NamedTuple):
    """The rules of a delta that are not in the tree, and those that answer by themselves for single events.

    The latter are all rules of the delta, or else those that are not in the tree.
    """

    queue: QueuedRules | None = None
    n_queued: int = 0  # the first rules of the queue belong to the delta
    recent: RecentRules | None = None
    is_all_recent: bool = False


NOTHING_WAITS: Final = Waiting()


class Delta:
    """Rules in the order of their ids; a rule's position here is its position in that order. Immutable."""

    admitted: NDArray[np.uint8] | None = None  # by position, 0 for rules that a filter leaves out
    _settled: Delta | None = None

    def __init__(
        self,
        tree: TreeVersion,
        rules: DeltaRules,
        log: Log,
        plain: PlainRules,
        functions: FunctionsUsed,
        waiting: Waiting | None = None,
    ) -> None:
        self.tree = tree
        self.rules = rules
        self.log = log
        self.plain = plain  # encodes single rules; all states of a delta share it
        self.functions = functions
        self.waiting = NOTHING_WAITS if waiting is None else waiting

    @staticmethod
    def empty(schema: Schema) -> Delta:
        """Return a delta without rules."""
        from ruledex.engines.atree.live import TreeVersion
        from ruledex.engines.atree.plain_rules import PlainRules
        from ruledex.engines.atree.tree import Switches

        return Delta(TreeVersion.empty(schema, Switches()), DeltaRules.empty(), [], PlainRules(schema), FunctionsUsed())

    def __len__(self) -> int:
        return len(self.ids)

    # Looking at it.

    @property
    def n_recent(self) -> int | None:
        """How many rules answer by themselves for single events, if all do; else None."""
        if not len(self.rules.ids):
            return 0
        recent = self.waiting.recent
        return recent.n_rules if recent is not None and self.waiting.is_all_recent else None

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of all rules, int64 or objects."""
        return self.rules.ids

    @property
    def before(self) -> NDArray[np.int64]:
        """For each rule, how many rules of the base have smaller ids."""
        return self.rules.before

    @property
    def kind(self) -> str:
        """The type of the ids, "integer" or "string"."""
        return "string" if self.ids.dtype == object else "integer"

    def position(self, rule_id: object) -> int | None:
        """Return the position of an id in the delta, or None."""
        ids = self.rules.ids
        if not len(ids):
            return None
        if ids.dtype == object:
            if not isinstance(rule_id, str):
                return None
        elif isinstance(rule_id, bool) or not isinstance(rule_id, int) or not INT64_MIN <= rule_id <= INT64_MAX:
            return None
        at = int(ids.searchsorted(rule_id))
        return at if at < len(ids) and ids[at] == rule_id else None

    def text(self, position: int) -> str:
        """Return the text of a rule."""
        return self.log[int(self.rules.entries[position])][1]

    def tags_text(self, position: int) -> str | None:
        """Return the tags of a rule as canonical JSON, or None if it has none."""
        return self.log[int(self.rules.entries[position])][2]

    def tags(self) -> list[str | None]:
        """Return the tags of all rules as canonical JSON."""
        return [self.log[entry][2] for entry in self.rules.entries.tolist()]

    def original(self, position: int) -> str | None:
        """Return a rule as its owner wrote it for another system, or None."""
        return self.log[int(self.rules.entries[position])][3]

    def originals(self) -> list[str | None]:
        """Return all rules as written for other systems, None for those that were not."""
        return [self.log[entry][3] for entry in self.rules.entries.tolist()]

    def static_score(self, position: int) -> float:
        """Return the static score of a rule."""
        return float(self.rules.scores[position])

    def texts(self) -> pa.Array:
        """Return the texts of all rules."""
        return pa.array((self.log[entry][1] for entry in self.rules.entries.tolist()), pa.large_string())

    def static_scores(self) -> NDArray[np.float64]:
        """Return the static scores of all rules."""
        return self.rules.scores

    # Matching.

    def settled(self) -> Delta:
        """Return a delta of the same rules that are all in the tree, which answers alone. Made at the first call.

        Raises an `OutdatedError` if that is no longer possible, since the index has been changed.
        """
        if self.waiting is NOTHING_WAITS:
            return self
        made = self._settled
        if made is None:
            tree, rules, queue = self.tree, self.rules, self.waiting.queue
            if queue is not None:
                tree, rows = queue.insert(self.waiting.n_queued)
                rules = rules.with_rows(rows)
            made = self._settled = Delta(tree, rules, self.log, self.plain, self.functions)
        return made

    def shares_tree(self, other: Delta) -> bool:
        """Return whether a change of this delta's tree in place could take it from another delta."""
        return any(mine is theirs for mine in self._versions() for theirs in other._versions())

    def _versions(self) -> Iterator[TreeVersion]:
        """Yield the versions of the tree that this delta may read or change."""
        yield self.tree
        if self.waiting.queue is not None:
            yield self.waiting.queue.version
        if self._settled is not None:
            yield self._settled.tree

    @contextmanager
    def reading(self) -> Iterator[DeltaReader]:
        """Give a reader that no change touches. Raises an `OutdatedError` if the tree has been changed already."""
        settled = self.settled()
        with settled.tree.reading() as replica:
            yield DeltaReader(settled, replica)

    @cached_property
    def by_tree_position(self) -> ByTreePosition:
        """The rules in the order of the tree."""
        tree_positions = self.rules.tree_positions
        n_rules = int(tree_positions.max(initial=-1)) + 1
        position = np.zeros(n_rules, np.int64)
        position[tree_positions] = np.arange(len(tree_positions))
        score = np.zeros(n_rules)
        score[tree_positions] = self.rules.scores
        return ByTreePosition(position, score)

    @cached_property
    def alive(self) -> NDArray[np.uint8] | None:
        """By position in the tree, 0 for rules that a filter leaves out; None if there is no filter."""
        if self.admitted is None:
            return None
        alive = np.zeros(len(self.by_tree_position.position), np.uint8)
        alive[self.rules.tree_positions] = self.admitted
        return read_only(alive)

    # Changing.

    def change(
        self, removed: list[int], scores: list[tuple[int, float]], new: AddedRules | None, *, in_place: bool = False
    ) -> Delta:
        """Return the delta after a change: static scores replaced, rules at some positions removed, others added.

        One thread at a time may call this, and only on the last delta. Until the returned delta is used, this one
        stays the last, unless it is changed `in_place`.
        """
        rules, log, settled = self.rules, self.log, self._settled
        if scores:
            rules = rules.replace_scores(scores)
        tree, queue, n_queued = self.tree, self.waiting.queue, self.waiting.n_queued
        if queue is not None and settled is not None:  # a reader has put all of them into the tree
            tree, queue, n_queued = settled.tree, None, 0
            rules = rules._replace(tree_positions=settled.rules.tree_positions)
        recent, is_all = self._recent_after(removed, new, queue)
        gone = rules.tree_positions[removed]
        if removed:
            rules = rules.drop(removed)
        if new is not None:
            # Entries that a failed change left in the log belong to no rule.
            entries = np.arange(len(log), len(log) + len(new.ids))
            log.extend(zip(new.ids.tolist(), new.texts, new.tags, new.originals, strict=True))
            rows = np.zeros(len(new.ids), np.int32)  # as long as they are not in the tree
            if new.encoded is None:
                queue = QueuedRules(tree, self.plain.schema) if queue is None else queue
                rows = -1 - np.arange(n_queued, n_queued + len(new.ids), dtype=np.int32)
                n_queued = queue.put(n_queued, _queued(new))
            rules = rules.merge(DeltaRules(new.ids, new.before, new.scores, rows, entries))
        to_tree = None if new is None or new.encoded is None else new
        if removed or to_tree is not None or recent is None or n_queued >= MOST_QUEUED:
            rules, tree = _to_tree(tree, queue, n_queued, rules, gone, to_tree, in_place=in_place)
            queue, n_queued, recent = None, 0, recent if is_all else None
        if len(log) > 2 * len(rules.ids) + _FEW_ENTRIES:
            log = [log[entry] for entry in rules.entries.tolist()]
            rules = rules._replace(entries=np.arange(len(log)))
        functions = self.functions if to_tree is None and not removed else FunctionsUsed.of(tree.replica.dictionary)
        is_alone = recent is not None and (is_all or queue is not None) and len(rules.ids)
        waiting = Waiting(queue, n_queued, recent, is_all) if is_alone else None
        # The replica of this tree is nobody else's to change until the next change.
        return Delta(tree, rules, log, self.plain, functions, waiting)

    def _recent_after(
        self, removed: list[int], new: AddedRules | None, queue: QueuedRules | None
    ) -> tuple[RecentRules | None, bool]:
        """Return the rules that answer by themselves after a change, and whether these are all."""
        _, _, recent, is_all = self.waiting
        if not len(self.rules.ids):
            recent, is_all = RecentRules(), True
        elif recent is None or not (is_all or queue is not None):
            recent = RecentRules()  # all others are in the tree
        if removed and is_all:
            recent = recent.without(self.rules.ids[removed].tolist())
        if new is not None:
            planned = new.planned
            more = None if planned is None else recent.with_rules(zip(new.ids.tolist(), planned, strict=True))
            return more, is_all and more is not None
        return recent, is_all


def _queued(new: AddedRules) -> Iterator[QueuedRule]:
    assert new.planned is not None
    each = zip(new.ids.tolist(), new.texts, new.scores.tolist(), new.planned, strict=True)
    return (QueuedRule(rule_id, text, score, planned.tree) for rule_id, text, score, planned in each)


def _to_tree(
    tree: TreeVersion,
    queue: QueuedRules | None,
    n_queued: int,
    rules: DeltaRules,
    gone: NDArray[np.int32],
    new: AddedRules | None,
    *,
    in_place: bool,
) -> tuple[DeltaRules, TreeVersion]:
    """Return rules that are all in the tree, and the tree with them and without others.

    `gone` are the positions of the others, in the tree or the queue. The positions of rules that are `new` count for
    nothing yet.
    """
    from ruledex.engines.atree.live import Deletion, Insertion

    changes = list[Deletion | Insertion]()
    rows, missing = np.empty(0, np.int32), np.empty(0, np.int32)
    if queue is not None:
        tree, inserted = queue.inserted(n_queued)  # a reader may have put the first of them into the tree
        rows = np.full(n_queued, -1, np.int32)
        rows[: len(inserted)] = inserted
        gone = _in_tree(gone, rows)
        places = np.sort(-1 - rules.tree_positions[rules.tree_positions < 0])
        missing = places[places >= len(inserted)]
    gone = gone[gone >= 0]
    if len(gone):
        changes.append(Deletion(gone))
    queued = insertion = None
    if queue is not None and len(missing):
        queued = queue.insertion(missing.tolist())
        changes.append(queued)
    if new is not None and new.encoded is not None:
        insertion = Insertion(new.encoded, new.ids.tolist())
        changes.append(insertion)
    tree = tree.changed(*changes, in_place=in_place) if changes else tree
    if queued is not None:
        rows[missing] = queued.rules
    rules = rules.with_rows(rows)
    if new is not None and insertion is not None:
        rules.tree_positions[rules.ids.searchsorted(new.ids)] = insertion.rules
    return rules, tree


class ByTreePosition(NamedTuple):
    """The positions in the delta and the static scores of rules, by their positions in the tree."""

    position: NDArray[np.int64]
    score: NDArray[np.float64]


class DeltaReader:
    """Answers for a delta as long as it is held."""

    def __init__(self, delta: Delta, replica: Replica) -> None:
        self._delta = delta
        self._replica = replica

    def match_one(self, event: Mapping[str, Any]) -> list[RuleId]:
        """Return the ids of the rules that are true of one event, in no order."""
        found = self._replica.match(self._replica.encoder.encode_one(event), self._delta.alive).rule
        if not len(found):
            return []
        return self._delta.ids[self._delta.by_tree_position.position[found]].tolist()  # type: ignore[no-any-return]

    def match(self, events: Events) -> Matches:
        """Return the positions in the delta of all rules that are true, ascending within an event."""
        found = self._replica.match(encode_events(self._replica.encoder, events), self._delta.alive)
        positions = self._delta.by_tree_position.position[found.rule]
        event = np.repeat(np.arange(found.n_events), np.diff(found.offsets))
        order = np.sort(event << 32 | positions)  # a position has 31 bits
        return found._replace(rule=(order & 0xFFFF_FFFF).astype(np.int32))

    def count(self, events: Events) -> NDArray[np.int64]:
        """Return for each event how many rules are true."""
        return self._replica.count(encode_events(self._replica.encoder, events), self._delta.alive)

    def top(self, events: Events, k: int, rank: Rank, weights: Sequence[Weights | None] | None) -> Matches:
        """Return the positions in the delta of the best k rules of each event, with their ranks."""
        batch, rules = encode_events(self._replica.encoder, events, weights), self._delta.by_tree_position
        found = self._replica.top(batch, k, rank, rules.score, rules.position, self._delta.alive)
        return found._replace(rule=rules.position[found.rule].astype(np.int32))

    def dictionaries(self) -> list[Dictionary]:
        """Return the tree's dictionary in a form that does not change; nothing if there are no rules."""
        return [self._replica.dictionary.freeze()[0]] if len(self._delta) else []

    def describe(self) -> dict[str, Any]:
        """Return how many rules there are, and what the tree consists of."""
        described = self._replica.describe() if len(self._delta) else {}
        return {"added": len(self._delta), "tree": described}

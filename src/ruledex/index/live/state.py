"""The live state: a version of an index and the changes since, as one snapshot. A change makes another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.dictionary.dictionary import Dictionary
from ruledex.engines.auto import AutoEngine
from ruledex.engines.inputs import ALL_ALIVE
from ruledex.engines.protocol import Matcher, OutdatedError, Rank
from ruledex.engines.sharded import combine_matches, combine_top
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.errors import EventError
from ruledex.events.arrow.tables import is_arrow, read_arrow_events
from ruledex.events.batch import EventBatch
from ruledex.forks import cached_property
from ruledex.index.identities import Identities, RuleId, identities_of, in_order
from ruledex.index.inputs import Event, Events, as_mapping, as_mappings, encode_events
from ruledex.index.live.delta import Delta, DeltaReader
from ruledex.index.live.overlay import Overlay
from ruledex.index.state import BuiltState, IndexMatches, Snapshot, require_position
from ruledex.language.plain import is_record
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema

if TYPE_CHECKING:  # an index that nobody changes needs no A-Tree
    from ruledex.engines.atree.live import Replica
    from ruledex.engines.atree.matcher import OneEventTree
    from ruledex.engines.joint import JointMatcher
    from ruledex.events.joint import JointEncoder
    from ruledex.index.live.recent_matching import RecentMatcher
    from ruledex.index.live.recent_rules import RecentRules


class _Short(NamedTuple):
    """What answers for single events: the engine of base and tree together, if there is one, and the tree's own."""

    joint: JointMatcher | None
    tree: OneEventTree
    encoder: JointEncoder
    labels: list[RuleId]


class LiveState:
    """A base, the rules removed from it and its changed static scores, and a delta of added rules. Immutable.

    A rule that was replaced is removed from the base and is in the delta under the same id. Matching raises an
    `OutdatedError` if the index has been changed twice since; the newest state of the index then answers.
    """

    is_changed = True

    def __init__(
        self,
        base: BuiltState,
        removed: NDArray[np.int64],
        alive: Overlay[np.uint8] | None,
        scores: Overlay[np.float64] | None,
        delta: Delta,
        schema: Schema | None = None,
    ) -> None:
        self.base = base
        self.removed = removed  # positions in the base, ascending
        self.alive = alive  # for each rule of the base 1, or 0 if it is removed; None if nothing is
        self.scores = scores  # of the base's rules; None if none has changed
        self.delta = delta
        self._short: _Short | None = None  # made by the first match
        self.schema = base.schema if schema is None else schema  # that of the base, unless definitions have changed

    @staticmethod
    def of(state: Snapshot) -> LiveState:
        """Return a live state as it is, and a built one as a live one without changes."""
        if isinstance(state, LiveState):
            return state
        return LiveState(state.base, np.zeros(0, np.int64), None, None, Delta.empty(state.dictionary.schema))

    @property
    def plain_match(self) -> Callable[[Event], list[RuleId]] | None:
        """`match`, if there are no functions of events. It is not kept: a state that holds itself is freed late."""
        return None if self._has_functions else self.match

    @cached_property
    def _has_functions(self) -> bool:
        return bool(self.delta.functions.any or self.base.dictionary.derived)

    @cached_property
    def may_use_now(self) -> bool:
        """Whether some rule asks for the time of the call."""
        return self.delta.functions.now or self.base.dictionary.uses_now

    @cached_property
    def positions(self) -> LivePositions:
        """The positions of all rules in the order of ids."""
        return LivePositions(self.removed, self.delta.before, len(self.base.identities))

    @cached_property
    def identities(self) -> OverlayIdentities:
        """The ids of all rules, ascending."""
        return OverlayIdentities(self.base.identities, self.delta, self.positions)

    # Matching. The delta's reader is made before any event is read: it may raise an OutdatedError, the call is then
    # repeated, and events may be an iterator.

    def match(self, event: Event) -> list[RuleId]:
        """Return the ids of all rules that are true of an event, ascending."""
        delta = self.delta
        if not len(delta.rules.ids):
            return self._match_base(event)
        if delta.admitted is not None:
            return self._match_apart(event)
        waiting = delta.waiting
        if waiting.recent is None:
            return self._match_jointly(event)
        if type(event) is not dict:
            event = as_mapping(event)
        if type(event) is dict:
            alone = self._alone
            found = self._match_recent(event, waiting.recent) if alone is None else alone.match(event)
            if found is not None:
                return found
        return self._settled.match(event)

    @cached_property
    def _alone(self) -> RecentMatcher | None:
        """What answers for the base and for all rules of the delta at once, if there is such a thing."""
        waiting, encoder, alive, sparse = self.delta.waiting, self.base.encoder, self.alive_array, self._sparse
        if waiting.recent is None or not waiting.is_all_recent or sparse is None or encoder.has_derived:
            return None
        from ruledex.engines.joint import LivingMatcher
        from ruledex.index.live.recent_matching import RecentMatcher

        living = LivingMatcher(sparse, ALL_ALIVE if alive is None else alive)
        return RecentMatcher(living, encoder, self.base.identities, waiting.recent)

    @property
    def _sparse(self) -> SparseEngine | None:
        """The engine that answers for single events of the base, if it is `sparse`."""
        engine = self.base.engine
        if isinstance(engine, AutoEngine):
            return engine.sparse if engine.word is None else None
        return engine if isinstance(engine, SparseEngine) else None

    def _match_recent(self, event: dict[str, Any], recent: RecentRules) -> list[RuleId] | None:
        """Return the ids of all rules that are true of an event, ascending; None if only the tree can say."""
        added = recent.match(event)
        if added is None:
            return None
        if self.delta.waiting.is_all_recent:
            return in_order(self._match_base(event), added)
        try:
            return in_order(self._match_jointly(event), added)
        except OutdatedError:  # the tree has got these rules meanwhile
            return None

    @cached_property
    def _settled(self) -> LiveState:
        """The same rules, of which the tree has all that were added."""
        return LiveState(self.base, self.removed, self.alive, self.scores, self.delta.settled(), self.schema)

    def _match_base(self, event: Event) -> list[RuleId]:
        """Return the ids of the base's rules that are true of an event and not removed, ascending."""
        base = self.base
        if self.alive is None:
            return base.match(event)
        if type(event) is not dict:
            event = as_mapping(event)
        return base.identities.of(base.match_one(event, self.alive_array))

    def _match_jointly(self, event: Event) -> list[RuleId]:
        """Return the ids of all rules of the base and the tree that are true of an event, ascending."""
        if type(event) is not dict:
            event = as_mapping(event)
        base, delta = self.base, self.delta
        replica, token = delta.tree.replica, object()
        if not replica.enter(token, delta.tree.stamp):
            raise OutdatedError
        try:
            short = self._short
            if short is None:
                short = self._short = self._make_short(replica)
            joint, tree, encoder, labels = short
            if joint is None:
                found = base.match_one(event, self.alive_array)
                rows = tree.match_one(replica.encoder.cells_of(event))
            else:
                found, rows = joint.match_one(tree, encoder.cells_of(event))
            added = [labels[row] for row in rows]
        finally:
            replica.leave(token)
        return in_order(base.identities.of(found), added)

    def _make_short(self, replica: Replica) -> _Short:
        """Return what a match needs. The replica is always the same while this state may be asked."""
        from ruledex.engines.joint import JointMatcher

        engine, alive = self.base.engine, self.alive_array
        sparse = engine.sparse if isinstance(engine, AutoEngine) else engine
        joint = None
        if isinstance(sparse, SparseEngine):
            joint = JointMatcher(sparse, ALL_ALIVE if alive is None else alive)
        return _Short(joint, replica.one_event, replica.encoder_with(self.base.encoder), replica.labels)

    def _match_apart(self, event: Event) -> list[RuleId]:
        """Return the ids of all rules that are true of an event and admitted by the filter of the delta."""
        if type(event) is not dict:
            event = as_mapping(event)
        with self.delta.reading() as delta:
            return in_order(
                self.base.identities.of(self.base.match_one(event, self.alive_array)), delta.match_one(event)
            )

    @cached_property
    def alive_array(self) -> NDArray[np.uint8] | None:
        """For each rule of the base 1, or 0 if it is removed; None if nothing is."""
        return None if self.alive is None else self.alive.array

    def match_batch(self, events: Events) -> IndexMatches:
        """Return the rules that are true of each of many events."""
        with self.delta.reading() as delta:
            events, positions = self._read_twice(events, delta), self.positions
            alive = self.alive_array
            found = self.base.engine.match(encode_events(self.base.encoder, events), alive)
            found = found._replace(rule=positions.of_base(found.rule))
            if len(self.delta):
                added = delta.match(events)
                found = combine_matches(found, added._replace(rule=positions.of_delta[added.rule]))
            return IndexMatches(found, self.identities)

    def counts(self, events: Events) -> NDArray[np.int64]:
        """Return for each event how many rules are true of it."""
        with self.delta.reading() as delta:
            events = self._read_twice(events, delta)
            alive = self.alive_array
            counts = self.base.engine.count(encode_events(self.base.encoder, events), alive)
            return counts + delta.count(events) if len(self.delta) else counts

    def top(self, events: Events, k: int, rank: Rank, weights: Iterable[Weights | None] | None) -> IndexMatches:
        """Return the best k rules of each of many events."""
        with self.delta.reading() as delta:
            events, positions = self._read_twice(events, delta), self.positions
            weights = None if weights is None else list(weights)
            alive = self.alive_array
            scores = None if self.scores is None else self.scores.array
            found = self.base.engine.top(encode_events(self.base.encoder, events, weights), k, rank, alive, scores)
            found = found._replace(rule=positions.of_base(found.rule))
            if len(self.delta):
                added = delta.top(events, k, rank, weights)
                found = combine_top(found, added._replace(rule=positions.of_delta[added.rule]), k)
            return IndexMatches(found, self.identities)

    def _read_twice(self, events: Events, delta: DeltaReader) -> Events:
        """Return events that can be read twice, once for the base and once for the delta."""
        if isinstance(events, EventBatch):
            if len(self.delta):
                raise EventError(
                    "encoded events have the cells of one version: after rules were added, give the events"
                )
            return events
        if is_arrow(events):
            return read_arrow_events(events, lambda: [self.base.dictionary, *delta.dictionaries()])
        # A single event is refused later, where it is encoded.
        return events if isinstance(events, str | bytes) or is_record(events) else list(as_mappings(events))

    # Looking at it.

    def text(self, rule_id: RuleId) -> str:
        """Return the text of a rule."""
        position = self.delta.position(rule_id)
        if position is not None:
            return self.delta.text(position)
        return self.base.texts.text(self._base_position(rule_id))

    def score(self, rule_id: RuleId) -> float:
        """Return the static score of a rule."""
        position = self.delta.position(rule_id)
        if position is not None:
            return self.delta.static_score(position)
        position = self._base_position(rule_id)
        return self.base.static_score(position) if self.scores is None else float(self.scores.array[position])

    def tags_text(self, rule_id: RuleId) -> str | None:
        """Return the tags of a rule as canonical JSON, or None if it has none."""
        position = self.delta.position(rule_id)
        if position is not None:
            return self.delta.tags_text(position)
        return self.base.tags.text(self._base_position(rule_id))

    def original(self, rule_id: RuleId) -> str | None:
        """Return a rule as its owner wrote it for another system, as it is stored, or None."""
        position = self.delta.position(rule_id)
        if position is not None:
            return self.delta.original(position)
        return self.base.originals.original(self._base_position(rule_id))

    def _base_position(self, rule_id: RuleId) -> int:
        """Return the position in the base of a rule that is not in the delta."""
        require_position(self.identities, rule_id)  # raises an error if there is no such rule
        return self.base.identities.position(rule_id)

    def rules(self) -> Iterator[tuple[RuleId, str]]:
        """Give all rules as (id, text), ascending by id."""
        delta, removed = self.delta, set(self.removed.tolist())
        before, ids = delta.before.tolist(), delta.ids.tolist()
        at = 0
        for base_position, rule in enumerate(self.base.rules()):
            while at < len(ids) and before[at] <= base_position:
                yield ids[at], delta.text(at)
                at += 1
            if base_position not in removed:
                yield rule
        for rest in range(at, len(ids)):
            yield ids[rest], delta.text(rest)

    def describe_changes(self) -> dict[str, Any]:
        """Return how many rules were added and removed (a replaced rule is both), and what the tree consists of."""
        with self.delta.reading() as delta:
            return {"removed": len(self.removed), **delta.describe()}

    @property
    def dictionaries(self) -> list[Dictionary]:
        """The dictionaries of the base and of the delta, which have every operand of the rules."""
        with self.delta.reading() as delta:
            return [self.base.dictionary, *delta.dictionaries()]

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary of the base. Its schema has the definitions of the base."""
        return self.base.dictionary

    @property
    def engine(self) -> Matcher:
        """The engine of the base."""
        return self.base.engine

    @property
    def version(self) -> str | None:
        """The version on disk that the changes are made to."""
        return self.base.version


# A base with a few changes.


class LivePositions:
    """The positions of all rules in the order of ids, after rules were removed from the base and others were added.

    `removed` has the positions in the base of the removed rules, ascending. `before` has, for each rule of the delta in
    the order of ids, how many rules of the base have smaller ids, the removed ones included.
    """

    def __init__(self, removed: NDArray[np.int64], before: NDArray[np.int64], n_base: int) -> None:
        self._removed = removed
        self._before = before
        self.n_rules = n_base - len(removed) + len(before)

    def is_removed(self, base_position: int) -> bool:
        """Return whether a rule of the base has been removed."""
        at = int(self._removed.searchsorted(base_position))
        return at < len(self._removed) and int(self._removed[at]) == base_position

    @cached_property
    def of_delta(self) -> NDArray[np.int32]:
        """The positions of the delta's rules, in the order of ids."""
        n_removed = np.searchsorted(self._removed, self._before)
        return (self._before - n_removed + np.arange(len(self._before))).astype(np.int32)

    def of_base(self, base_positions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the positions of rules of the base that have not been removed."""
        n_removed = np.searchsorted(self._removed, base_positions)
        n_added = np.searchsorted(self._before, base_positions, side="right")
        return (base_positions - n_removed + n_added).astype(np.int32)

    def split(self, positions: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return for each position whether its rule is in the delta, and the rule's position in the delta or base."""
        at = np.searchsorted(self.of_delta, positions)
        is_delta = np.zeros(len(positions), np.bool_)
        inside = at < len(self._before)
        is_delta[inside] = self.of_delta[at[inside]] == positions[inside]
        n_kept = positions - at  # rules of the base before each
        base_positions = n_kept + np.searchsorted(self._kept_before, n_kept, side="right")
        return is_delta, np.where(is_delta, at, base_positions)

    @cached_property
    def _kept_before(self) -> NDArray[np.int64]:
        """For each removed rule, how many rules before it are kept."""
        return self._removed - np.arange(len(self._removed))


class OverlayIdentities:
    """The ids of a base without its removed rules, and those of a delta, in one order."""

    def __init__(self, base: Identities, delta: Delta, positions: LivePositions) -> None:
        self._base = base
        self._delta = delta
        self._positions = positions
        # A base without rules accepts ids of either kind.
        self.kind = base.kind if len(base) or not len(delta) else delta.kind

    def __len__(self) -> int:
        return self._positions.n_rules

    def __iter__(self) -> Iterator[RuleId]:
        return iter(self.to_arrow().to_pylist())

    def of(self, positions: NDArray[np.int32]) -> list[RuleId]:
        """Return the ids at some positions."""
        is_delta, at = self._positions.split(positions)
        ids = np.empty(len(positions), object)
        ids[is_delta] = self._delta.ids[at[is_delta]].tolist()
        ids[~is_delta] = self._base.of(at[~is_delta].astype(np.int32))
        return ids.tolist()

    def take(self, positions: NDArray[np.int32]) -> NDArray[np.int64] | pa.LargeStringArray:
        """Return the ids at some positions as an array."""
        is_delta, at = self._positions.split(positions)
        added = self._delta.ids[at[is_delta]]
        kept = self._base.take(at[~is_delta].astype(np.int32))
        if self.kind == "integer":
            ids = np.empty(len(positions), np.int64)
            ids[is_delta], ids[~is_delta] = added, kept
            return ids
        order = np.empty(len(positions), np.int64)
        order[is_delta] = np.arange(len(added))
        order[~is_delta] = np.arange(len(added), len(positions))
        both = [pa.array(part, pa.large_string()) for part in (added, kept) if len(part)]
        return pa.concat_arrays(both).take(pa.array(order)) if both else pa.array([], pa.large_string())

    def position(self, rule_id: RuleId) -> int:
        """Return the position of an id. Raises a KeyError if there is none."""
        delta_position = self._delta.position(rule_id)
        if delta_position is not None:
            return int(self._positions.of_delta[delta_position])
        base_position = self._base.position(rule_id)
        if self._positions.is_removed(base_position):
            raise KeyError(rule_id)
        return int(self._positions.of_base(np.array([base_position], np.int32))[0])

    def has(self, rule_id: object) -> bool:
        """Return whether there is such an id."""
        if self._delta.position(rule_id) is not None:
            return True
        try:
            base_position = self._base.position(rule_id)  # type: ignore[arg-type]  # any other object is not found
        except KeyError:
            return False
        return not self._positions.is_removed(base_position)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays that would be stored."""
        return identities_of(self.to_arrow()).arrays()

    def to_arrow(self) -> pa.Array:
        """Return all ids."""
        return self._all

    @cached_property
    def _all(self) -> pa.Array:
        return pa.array(self.take(np.arange(len(self), dtype=np.int32)))

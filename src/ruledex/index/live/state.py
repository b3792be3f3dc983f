"""The live state: a version of an index and the changes since, as one snapshot. A change makes another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ruledex.dictionary.dictionary import Dictionary
from ruledex.engines.protocol import Matcher, Rank
from ruledex.engines.sharded import combine_matches, combine_top
from ruledex.errors import EventError
from ruledex.events.arrow.tables import is_arrow, read_events
from ruledex.events.batch import EventBatch
from ruledex.forks import cached_property
from ruledex.index.identities import RuleId
from ruledex.index.inputs import Event, Events, as_mapping, as_mappings, encode_events
from ruledex.index.live.delta import Delta, DeltaReader
from ruledex.index.live.overlay import LivePositions, Overlay, OverlayIdentities
from ruledex.index.matches import IndexMatches
from ruledex.index.state import BuiltState, Snapshot, require_position
from ruledex.language.plain import is_record
from ruledex.language.reference import Weights


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
    ) -> None:
        self.base = base
        self.removed = removed  # positions in the base, ascending
        self.alive = alive  # for each rule of the base 1, or 0 if it is removed; None if nothing is
        self.scores = scores  # of the base's rules; None if none has changed
        self.delta = delta

    @staticmethod
    def of(state: Snapshot) -> LiveState:
        """Return a live state as it is, and a built one as a live one without changes."""
        if isinstance(state, LiveState):
            return state
        return LiveState(state.base, np.zeros(0, np.int64), None, None, Delta.empty(state.dictionary.schema))

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
        with self.delta.reading() as delta:
            base, event = self.base, as_mapping(event)
            alive = None if self.alive is None else self.alive.array
            found = base.identities.of(base.engine.match(base.encoder.encode_one(event), alive).rule)
            added = delta.match_one(event) if len(self.delta) else None
            return sorted(found + added) if added else found  # ids are all of one type

    def match_batch(self, events: Events) -> IndexMatches:
        """Return the rules that are true of each of many events."""
        with self.delta.reading() as delta:
            events, positions = self._read_twice(events, delta), self.positions
            alive = None if self.alive is None else self.alive.array
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
            alive = None if self.alive is None else self.alive.array
            counts = self.base.engine.count(encode_events(self.base.encoder, events), alive)
            return counts + delta.count(events) if len(self.delta) else counts

    def top(self, events: Events, k: int, rank: Rank, weights: Iterable[Weights | None] | None) -> IndexMatches:
        """Return the best k rules of each of many events."""
        with self.delta.reading() as delta:
            events, positions = self._read_twice(events, delta), self.positions
            weights = None if weights is None else list(weights)
            alive = None if self.alive is None else self.alive.array
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
            return read_events(events, lambda: [self.base.dictionary, *delta.dictionaries()])
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
        """The dictionary of the base, whose schema is that of all."""
        return self.base.dictionary

    @property
    def engine(self) -> Matcher:
        """The engine of the base."""
        return self.base.engine

    @property
    def version(self) -> str | None:
        """The version on disk that the changes are made to."""
        return self.base.version

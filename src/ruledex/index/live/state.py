"""A version of an index and the changes since, as one index. Immutable: a change makes another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.dictionary.dictionary import Dictionary
from ruledex.engines.protocol import Matcher, Rank
from ruledex.engines.sharded import merged, merged_top
from ruledex.errors import EventError
from ruledex.events.arrow.tables import as_table, is_arrow
from ruledex.events.batch import EventBatch
from ruledex.forks import cached_property
from ruledex.index.identities import RuleId
from ruledex.index.inputs import (
    Event,
    Events,
    as_mapping,
    as_mappings,
    encode_events,
)
from ruledex.index.live.delta import Delta
from ruledex.index.live.overlay import Overlay, OverlayIdentities, Places
from ruledex.index.matches import IndexMatches
from ruledex.index.state import State, position_of
from ruledex.language.reference import Weights


class LiveState:
    """A base, what of it is gone and how its static scores have changed, and a delta of rules that have come.

    A rule that was replaced is gone from the base and lies in the delta under the same id. To ask it about events is an
    `OutdatedError` where it has been changed twice since; whoever has the newest may ask that.
    """

    def __init__(
        self,
        base: State,
        dead: NDArray[np.int64],
        alive: Overlay[np.uint8] | None,
        scores: Overlay[np.float64] | None,
        delta: Delta,
    ) -> None:
        self.base = base
        self.dead = dead  # positions, ascending
        self.alive = alive  # None where nothing is gone
        self.scores = scores  # None where no score of the base has changed
        self.delta = delta

    @staticmethod
    def of(base: State) -> LiveState:
        """A version without changes."""
        return LiveState(base, np.zeros(0, np.int64), None, None, Delta.empty(base.dictionary.schema))

    @cached_property
    def places(self) -> Places:
        """Where rules stand in the order of ids."""
        return Places(self.dead, self.delta.before, len(self.base.identities))

    @cached_property
    def identities(self) -> OverlayIdentities:
        """The ids of all rules, ascending; positions are places in their order."""
        return OverlayIdentities(self.base.identities, self.delta, self.places)

    # Matching.

    # What may be outdated is asked for before anything of the events is read, since they may come only once.

    def match(self, event: Event) -> list[RuleId]:
        """The ids of all rules that are true of an event, ascending."""
        with self.delta.reading() as delta:
            base, event = self.base, as_mapping(event)
            alive = None if self.alive is None else self.alive.array
            found = base.identities.of(base.engine.match(base.encoder.encode_one(event), alive).rule)
            come = delta.match_one(event) if len(self.delta) else None
            return sorted(found + come) if come else found  # ids are all of one type

    def match_batch(self, events: Events) -> IndexMatches:
        """The rules of many events."""
        with self.delta.reading() as delta:
            events, places = self._read(events), self.places
            alive = None if self.alive is None else self.alive.array
            found = self.base.engine.match(encode_events(self.base.encoder, events), alive)
            found = found._replace(rule=places.of_base(found.rule))
            if len(self.delta):
                come = delta.match(events)
                found = merged(found, come._replace(rule=places.of_delta[come.rule]))
            return IndexMatches(found, self.identities)

    def counts(self, events: Events) -> NDArray[np.int64]:
        """For each event how many rules are true of it."""
        with self.delta.reading() as delta:
            events = self._read(events)
            alive = None if self.alive is None else self.alive.array
            counts = self.base.engine.count(encode_events(self.base.encoder, events), alive)
            return counts + delta.count(events) if len(self.delta) else counts

    def top(self, events: Events, k: int, rank: Rank, weights: Iterable[Weights | None] | None) -> IndexMatches:
        """The best k rules of many events."""
        with self.delta.reading() as delta:
            events, places = self._read(events), self.places
            weights = None if weights is None else list(weights)
            alive = None if self.alive is None else self.alive.array
            scores = None if self.scores is None else self.scores.array
            found = self.base.engine.top(encode_events(self.base.encoder, events, weights), k, rank, alive, scores)
            found = found._replace(rule=places.of_base(found.rule))
            if len(self.delta):
                come = delta.top(events, k, rank, weights)
                found = merged_top(found, come._replace(rule=places.of_delta[come.rule]), k)
            return IndexMatches(found, self.identities)

    def _read(self, events: Events) -> Events:
        """Events that can be read twice, once for the base and once for the delta."""
        if isinstance(events, EventBatch):
            if len(self.delta):
                raise EventError(
                    "encoded events have the cells of one version: after rules were added, give the events"
                )
            return events
        if is_arrow(events):
            return as_table(events)
        # One event in place of several is refused where it is encoded.
        return events if isinstance(events, Mapping | str | bytes) else list(as_mappings(events))

    # Looking at it.

    def text(self, rule_id: RuleId) -> str:
        """The text of a rule."""
        number = self.delta.number(rule_id)
        if number is not None:
            return self.delta.text(number)
        return self.base.texts.text(self._base_position(rule_id))

    def score(self, rule_id: RuleId) -> float:
        """The static score of a rule."""
        number = self.delta.number(rule_id)
        if number is not None:
            return self.delta.static_score(number)
        position = self._base_position(rule_id)
        return self.base.static_score(position) if self.scores is None else float(self.scores.array[position])

    def _base_position(self, rule_id: RuleId) -> int:
        """The position in the base of a rule that is not in the delta."""
        position_of(self.identities, rule_id)
        return self.base.identities.position(rule_id)

    def rules(self) -> Iterator[tuple[RuleId, str]]:
        """All rules as (id, text), ascending by id."""
        delta, gone = self.delta, set(self.dead.tolist())
        before, ids = delta.before.tolist(), delta.ids.tolist()
        number = 0
        for position, rule in enumerate(self.base.rules()):
            while number < len(ids) and before[number] <= position:
                yield ids[number], delta.text(number)
                number += 1
            if position not in gone:
                yield rule
        for rest in range(number, len(ids)):
            yield ids[rest], delta.text(rest)

    def describe_changes(self) -> dict[str, Any]:
        """How many rules have come and gone, a replaced one both ways, and what holds those that came."""
        with self.delta.reading() as delta:
            return {"removed": len(self.dead), **delta.describe()}

    @property
    def dictionaries(self) -> list[Dictionary]:
        """Every operand that rules look at."""
        with self.delta.reading() as delta:
            return [self.base.dictionary, *delta.dictionaries()]

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary of the base, whose schema is that of all."""
        return self.base.dictionary

    @property
    def engine(self) -> Matcher:
        """What answers for the base."""
        return self.base.engine

    @property
    def version(self) -> str | None:
        """The version on disk that the changes are of."""
        return self.base.version


Snapshot: TypeAlias = State | LiveState  # what an index reads

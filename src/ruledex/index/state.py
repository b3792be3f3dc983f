"""Snapshots of an index, and the one that is built: everything that a version consists of, and its answers.

Snapshots are immutable, so that readers need no locks. live/state.py has the one with changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ruledex.dictionary.dictionary import Dictionary
from ruledex.engines.protocol import Engine, Matcher, Rank
from ruledex.engines.sharded import EngineShard, ShardedEngine
from ruledex.errors import RuledexError, quoted
from ruledex.events.mappings import EventEncoder
from ruledex.index.identities import Identities, RuleId
from ruledex.index.inputs import Event, Events, as_mapping, encode_events
from ruledex.index.matches import IndexMatches
from ruledex.index.texts import RuleTexts
from ruledex.language.reference import Weights
from ruledex.program.program import Program


class Shard(NamedTuple):
    """Some of the rules with their engine. All shards of an index have the cells of one dictionary."""

    program: Program
    engine: Engine
    rules: NDArray[np.int32] | None = None  # their positions in the index, ascending; None if the shard has all rules


class Snapshot(Protocol):
    """The state of an Index that answers calls: a version as it was built, or a version and the changes since."""

    @property
    def base(self) -> BuiltState:
        """The version without changes."""

    @property
    def is_changed(self) -> bool:
        """Whether there are changes since the version was built."""

    @property
    def identities(self) -> Identities:
        """The ids of all rules, ascending."""

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary of the base, whose schema holds for all rules."""

    @property
    def dictionaries(self) -> list[Dictionary]:
        """The dictionaries that together have every operand of the rules."""

    @property
    def engine(self) -> Matcher:
        """The engine of the base."""

    @property
    def version(self) -> str | None:
        """The version on disk; None if the index has not been saved."""

    def match(self, event: Event) -> list[RuleId]:
        """Return the ids of all rules that are true of an event, ascending."""

    def match_batch(self, events: Events) -> IndexMatches:
        """Return the rules that are true of each of many events."""

    def counts(self, events: Events) -> NDArray[np.int64]:
        """Return for each event how many rules are true of it."""

    def top(self, events: Events, k: int, rank: Rank, weights: Iterable[Weights | None] | None) -> IndexMatches:
        """Return the best k rules of each of many events."""

    def text(self, rule_id: RuleId) -> str:
        """Return the text of a rule."""

    def score(self, rule_id: RuleId) -> float:
        """Return the static score of a rule."""

    def rules(self) -> Iterator[tuple[RuleId, str]]:
        """Give all rules as (id, text), ascending by id."""

    def describe_changes(self) -> dict[str, Any]:
        """Return how many rules were added and removed."""


class BuiltState(NamedTuple):
    """The parts of an index as it was built or opened; `version` is None if it has not been saved."""

    shards: tuple[Shard, ...]
    dictionary: Dictionary
    encoder: EventEncoder
    engine: Matcher
    identities: Identities
    texts: RuleTexts
    version: str | None

    @property
    def is_changed(self) -> bool:
        """There are no changes."""
        return False

    @property
    def base(self) -> BuiltState:
        """The state itself."""
        return self

    # Matching.

    def match(self, event: Event) -> list[RuleId]:
        """Return the ids of all rules that are true of an event, ascending."""
        batch = self.encoder.encode_one(event if type(event) is dict else as_mapping(event))
        return self.identities.of(self.engine.match(batch).rule)

    def match_batch(self, events: Events) -> IndexMatches:
        """Return the rules that are true of each of many events."""
        return IndexMatches(self.engine.match(encode_events(self.encoder, events)), self.identities)

    def counts(self, events: Events) -> NDArray[np.int64]:
        """Return for each event how many rules are true of it."""
        return self.engine.count(encode_events(self.encoder, events))

    def top(self, events: Events, k: int, rank: Rank, weights: Iterable[Weights | None] | None) -> IndexMatches:
        """Return the best k rules of each of many events."""
        return IndexMatches(self.engine.top(encode_events(self.encoder, events, weights), k, rank), self.identities)

    # Looking at it.

    def text(self, rule_id: RuleId) -> str:
        """Return the text of a rule."""
        return self.texts.text(self.position(rule_id))

    def score(self, rule_id: RuleId) -> float:
        """Return the static score of a rule."""
        return self.static_score(self.position(rule_id))

    def rules(self) -> Iterator[tuple[RuleId, str]]:
        """Give all rules as (id, text), ascending by id."""
        return zip(self.identities, self.texts.each(), strict=True)

    def describe_changes(self) -> dict[str, Any]:
        """Return that there are none."""
        return {"added": 0, "removed": 0}

    @property
    def dictionaries(self) -> list[Dictionary]:
        """The one dictionary, which has every operand of the rules."""
        return [self.dictionary]

    def position(self, rule_id: RuleId) -> int:
        """Return a rule's position. Raises an error that a user can read if there is no such rule."""
        return require_position(self.identities, rule_id)

    def static_score(self, position: int) -> float:
        """Return the static score of the rule at a position."""
        for program, _, rules in self.shards:
            at = position if rules is None else int(np.searchsorted(rules, position))
            if rules is None or (at < len(rules) and rules[at] == position):
                return float(program.static_score[at]) if len(program.static_score) else 0.0
        raise IndexError(position)

    def static_scores(self) -> NDArray[np.float64]:
        """Return the static scores of all rules."""
        if len(self.shards) == 1 and self.shards[0].rules is None:
            return self.shards[0].program.static_scores()
        scores = np.zeros(len(self.identities))
        for program, _, rules in self.shards:
            scores[rules] = program.static_scores()
        return scores


def require_position(identities: Identities, rule_id: RuleId) -> int:
    """Return the position of an id. Raises an error that a user can read if there is no such rule."""
    try:
        return identities.position(rule_id)
    except KeyError:
        problem = f"there is no rule {quoted(rule_id)} in this index"
        raise RuledexError(problem + other_kind(identities, rule_id)) from None


def other_kind(identities: Identities, rule_id: object) -> str:
    """Return the end of a message about an unknown id: a hint if it is of another type than the ids of the index."""
    is_fit = type(rule_id) is int if identities.kind == "integer" else isinstance(rule_id, str)
    return "" if is_fit or not len(identities) else f"; the ids of this index are {identities.kind}s"


def matcher_of(shards: tuple[Shard, ...]) -> Matcher:
    """Return the engine of the one shard, or one that answers for several."""
    if len(shards) == 1 and shards[0].rules is None:
        return shards[0].engine
    parts = [EngineShard(shard.engine, shard.rules) for shard in shards if shard.rules is not None]
    assert len(parts) == len(shards)
    return ShardedEngine(parts)

"""Snapshots of an index: everything that a version consists of, and its answers.

Snapshots are immutable, so that readers need no locks. live/state.py has the one with changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.artifact.layout import ROW_GROUP
from ruledex.dictionary.dictionary import Dictionary
from ruledex.engines.auto import AutoEngine
from ruledex.engines.batch.engine import BatchEngine
from ruledex.engines.protocol import Alive, Engine, Matcher, Matches, OneEventMatcher, Rank
from ruledex.engines.sharded import EngineShard, ShardedEngine
from ruledex.errors import RuledexError, quoted
from ruledex.events.mappings import EventEncoder
from ruledex.forks import cached_property
from ruledex.index.few_rules import WordMatcher
from ruledex.index.identities import Id, Identities, RuleId
from ruledex.index.inputs import Event, Events, as_mapping, encode_events
from ruledex.index.tags import UNTAGGED, RuleTags
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema
from ruledex.program.program import Program
from ruledex.showing import html_table

_MOST_SHOWN: Final = 10  # events in a notebook, and ids of each


class IndexMatches(Generic[Id]):
    """The rules of each event: those of event `e` are `rule[offsets[e]:offsets[e + 1]]`.

    Matches ascend by id; of the top k the best comes first, and `scores` has the ranks. `position` has the rules'
    positions in the index, which cost nothing. `rule` has their ids, looked up at the first read: a NumPy array of
    int64, or an Arrow array of strings.

    >>> matches = ruledex.Index.build([(1, "a = 1"), (2, "a > 0")]).match_batch([{"a": 1}, {"a": 5}, {}])
    >>> matches
    IndexMatches(3 events, 3 matches)
    >>> list(matches)
    [[1, 2], [2], []]
    >>> matches.offsets, matches.rule
    (array([0, 2, 3, 3]), array([1, 2, 2]))
    """

    def __init__(self, matches: Matches, identities: Identities) -> None:
        self.offsets: NDArray[np.int64] = matches.offsets
        self.position: NDArray[np.int32] = matches.rule
        self.scores: NDArray[np.float64] | None = matches.scores
        self._identities = identities

    @cached_property
    def rule(self) -> NDArray[np.int64] | pa.LargeStringArray:
        """The ids of all matches, event by event."""
        return self._identities.take(self.position)

    def ids(self, begin: int, end: int) -> NDArray[np.int64] | pa.LargeStringArray:
        """Return the ids of the matches from `begin` to `end`, counted over all events."""
        return self._identities.take(self.position[begin:end])

    @property
    def n_events(self) -> int:
        """The number of events, including those without matches."""
        return len(self.offsets) - 1

    @property
    def n_matches(self) -> int:
        """The number of matches of all events."""
        return len(self.position)

    def __len__(self) -> int:
        return self.n_events

    def __repr__(self) -> str:
        return f"IndexMatches({self.n_events:,} events, {self.n_matches:,} matches)"

    def __iter__(self) -> Iterator[list[Id]]:
        """Give the ids of each event's rules."""
        return map(self.__getitem__, range(self.n_events))

    def __getitem__(self, event: int) -> list[Id]:
        """Return the ids of one event's rules."""
        if not -self.n_events <= event < self.n_events:
            raise IndexError(f"there are {self.n_events:,} events, so none at {event}")
        event %= self.n_events
        found = self.position[self.offsets[event] : self.offsets[event + 1]]
        return self._identities.of(found)  # type: ignore[return-value]  # of the type that the index has

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64] | pa.LargeStringArray]:
        """Return one entry per match: the event's index in the batch, and the rule's id."""
        return np.repeat(np.arange(self.n_events, dtype=np.int64), np.diff(self.offsets)), self.rule

    def to_arrow(self) -> pa.RecordBatch:
        """Return one row per event: the list `rules`, and the list `scores` if there are any."""
        columns = {"rules": pa.LargeListArray.from_arrays(self.offsets, self.rule)}
        if self.scores is not None:
            columns["scores"] = pa.LargeListArray.from_arrays(self.offsets, self.scores)
        return pa.RecordBatch.from_pydict(columns)

    def to_pandas(self) -> Any:
        """Return a pandas frame with one row per match: `event`, the event's index, `rule`, and `score` if ranked.

        >>> ruledex.Index.build([(7, "a = 1")]).match_batch([{"a": 1}, {"a": 1}]).to_pandas()
           event  rule
        0      0     7
        1      1     7
        """
        return self._matches_table().to_pandas()

    def to_polars(self) -> Any:
        """Return a polars frame with one row per match, with the columns of `to_pandas`.

        >>> ruledex.Index.build([(7, "a = 1")]).match_batch([{"a": 1}, {"a": 1}]).to_polars().rows()
        [(0, 7), (1, 7)]
        """
        try:
            import polars
        except ImportError:
            raise RuledexError("to_polars needs polars: pip install polars") from None
        return polars.from_arrow(self._matches_table())

    def _matches_table(self) -> pa.Table:
        event, rule = self.pairs()
        columns = {"event": event, "rule": rule}
        return pa.table(columns if self.scores is None else columns | {"score": self.scores})

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first events and rules."""
        rows = []
        for event in range(min(self.n_events, _MOST_SHOWN)):
            begin, end = self.offsets[event], self.offsets[event + 1]
            ids = ", ".join(map(str, self.ids(begin, min(end, begin + _MOST_SHOWN)).tolist()))
            rows.append((event, int(end - begin), ids + (", …" if end - begin > _MOST_SHOWN else "")))
        return html_table(repr(self), rows, ("event", "rules", "ids"))


class RuleTexts(Protocol):
    """Texts by position."""

    def text(self, position: int) -> str:
        """Return the text of one rule."""

    def each(self) -> Iterator[str]:
        """Give all texts in the order of positions."""

    def to_arrow(self) -> pa.Array:
        """Return all texts."""


class TextsInMemory:
    """Texts as an Arrow array."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    def text(self, position: int) -> str:
        """Return the text of one rule."""
        return str(self._texts[position].as_py())

    def each(self) -> Iterator[str]:
        """Give all texts in the order of positions, read in chunks."""
        for start in range(0, len(self._texts), ROW_GROUP):
            yield from self._texts[start : start + ROW_GROUP].to_pylist()

    def to_arrow(self) -> pa.Array:
        """Return all texts."""
        return self._texts


class RuleOriginals(Protocol):
    """Rules as their owners wrote them for other systems, by position."""

    def original(self, position: int) -> str | None:
        """Return the original of a rule, or None if it has none."""

    def originals_to_arrow(self) -> pa.Array | None:
        """Return the originals of all rules, or None if no rule has one."""


class OriginalsInMemory:
    """Originals as an Arrow array, or None if there are none."""

    def __init__(self, texts: pa.Array | None) -> None:
        self._texts = texts

    def original(self, position: int) -> str | None:
        """Return the original of a rule, or None if it has none."""
        return None if self._texts is None else self._texts[position].as_py()

    def originals_to_arrow(self) -> pa.Array | None:
        """Return the originals of all rules, or None if no rule has one."""
        return self._texts


NO_ORIGINALS: Final = OriginalsInMemory(None)


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
    def plain_match(self) -> Callable[[Event], list[RuleId]] | None:
        """What `match` does, if there are no functions of events, so that it needs nothing but the event; else None."""

    @property
    def may_use_now(self) -> bool:
        """Whether answers may depend on the time of the call."""

    @property
    def identities(self) -> Identities:
        """The ids of all rules, ascending."""

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary of the base. Its schema holds for all rules, except for definitions that changed since."""

    @property
    def schema(self) -> Schema:
        """The declared schema, with the definitions that hold now."""

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

    def tags_text(self, rule_id: RuleId) -> str | None:
        """Return the tags of a rule as canonical JSON, or None if it has none."""

    def original(self, rule_id: RuleId) -> str | None:
        """Return a rule as its owner wrote it for another system, as it is stored, or None."""

    def rules(self) -> Iterator[tuple[RuleId, str]]:
        """Give all rules as (id, text), ascending by id."""

    def describe_changes(self) -> dict[str, Any]:
        """Return how many rules were added and removed."""


class _BuiltParts(NamedTuple):
    shards: tuple[Shard, ...]
    dictionary: Dictionary
    encoder: EventEncoder
    engine: Matcher
    identities: Identities
    texts: RuleTexts
    version: str | None
    tags: RuleTags = UNTAGGED
    originals: RuleOriginals = NO_ORIGINALS


class BuiltState(_BuiltParts):
    """The parts of an index as it was built or opened; `version` is None if it has not been saved."""

    is_changed = False

    @property
    def base(self) -> BuiltState:
        """The state itself."""
        return self

    @property
    def may_use_now(self) -> bool:
        """Whether some rule asks for the time of the call."""
        return self.dictionary.uses_now

    # Matching.

    @cached_property
    def plain_match(self) -> Callable[[Event], list[RuleId]] | None:
        """What returns the ids of all rules that are true of an event, ascending; None if there are functions."""
        if self.dictionary.derived:
            return None
        engine = self.engine
        if isinstance(engine, AutoEngine) and (word := engine.word) is not None:
            return WordMatcher(word, self.encoder, self.identities).match
        return self._match

    def match(self, event: Event) -> list[RuleId]:
        """Return the ids of all rules that are true of an event, ascending."""
        return (self.plain_match or self._match)(event)

    def _match(self, event: Event) -> list[RuleId]:
        return self.identities.of(self.match_one(event if type(event) is dict else as_mapping(event)))

    def match_one(self, event: Mapping[str, Any], alive: Alive | None = None) -> NDArray[np.int32]:
        """Return the positions of all rules that are true of an event and alive, ascending."""
        engine = self.engine
        if not isinstance(engine, OneEventMatcher):
            return engine.match(self.encoder.encode_one(event), alive).rule
        found = engine.match_one(self.encoder.cells_of(event))
        return found if alive is None else found[alive.view(np.bool_)[found]]

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

    def tags_text(self, rule_id: RuleId) -> str | None:
        """Return the tags of a rule as canonical JSON, or None if it has none."""
        return self.tags.text(self.position(rule_id))

    def original(self, rule_id: RuleId) -> str | None:
        """Return a rule as its owner wrote it for another system, as it is stored, or None."""
        return self.originals.original(self.position(rule_id))

    def rules(self) -> Iterator[tuple[RuleId, str]]:
        """Give all rules as (id, text), ascending by id."""
        return zip(self.identities, self.texts.each(), strict=True)

    def describe_changes(self) -> dict[str, Any]:
        """Return that there are none."""
        return {"added": 0, "removed": 0}

    @property
    def schema(self) -> Schema:
        """The declared schema."""
        return self.dictionary.schema

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


def with_threads(state: BuiltState, threads: int) -> BuiltState:
    """Return the state for this many threads per call. Only the engines `batch` and `auto` use more than one."""
    if threads == 1:
        return state
    shards = []
    for shard in state.shards:
        engine: Any = shard.engine
        is_parallel = isinstance(engine, AutoEngine | BatchEngine)
        shards.append(shard._replace(engine=engine.with_threads(threads)) if is_parallel else shard)
    return state._replace(shards=tuple(shards), engine=matcher_of(tuple(shards)))

"""The questions that an index answers: which rules are true of events, why, and what it consists of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from itertools import count, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.scheduler import prepare_match
from ruledex.dictionary.merging import merge_dictionaries
from ruledex.engines.inputs import check_k
from ruledex.engines.protocol import OutdatedError, Rank
from ruledex.errors import RuledexError
from ruledex.explain import Explanation, Original, explain_text, original_of
from ruledex.index.describing import describe_snapshot, full_schema
from ruledex.index.identities import Id, RuleId, plain_id
from ruledex.index.inputs import Event, Events, as_mapping, check_rank, check_weights
from ruledex.index.live.home import Home
from ruledex.index.state import BuiltState, IndexMatches, Snapshot
from ruledex.index.tags import tags_of
from ruledex.language.clock import Now, asked_at
from ruledex.language.json_decimals import decimal_event, decimal_events
from ruledex.language.resolve import over_limit
from ruledex.language.schema import Schema
from ruledex.language.text import path_text
from ruledex.showing import html_table

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.index.filters import FilteredViews
    from ruledex.index.relaxed import Mode, RelaxedViews
    from ruledex.language.reference import Weights

Answer = TypeVar("Answer")
_MOST_SHOWN: Final = 10  # rules in a notebook


class _RuleFields(NamedTuple, Generic[Id]):
    id: Id
    text: str
    static_score: float


class Rule(_RuleFields[Id]):
    """A rule of an index: a tuple of its id, text and static score, with its `tags` beside them.

    `original` is the rule as its owner wrote it for another system, or None (docs/formats.md). All rules of an index at
    once come without it.
    """

    tags: Mapping[str, Any] = MappingProxyType({})
    original: Original | None = None

    def __new__(cls, id: Any, text: str, static_score: float, tags: Mapping[str, Any] | None = None) -> Self:  # noqa: A002
        """Return a rule."""
        made = super().__new__(cls, id, text, static_score)  # type: ignore[type-var]  # Self is one
        made.tags = {} if tags is None else tags
        return made

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other) is True and (not isinstance(other, Rule) or self.tags == other.tags)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        tags = f", tags={self.tags!r}" if self.tags else ""
        return f"Rule(id={self.id!r}, text={self.text!r}, static_score={self.static_score!r}{tags})"


class ClosedState:
    """The state of a closed index: every question is an error."""

    def __getattr__(self, name: str) -> Any:
        raise RuledexError("this index is closed")


def _match_as_array(state: Any, event: Mapping[str, Any]) -> NDArray[np.int64] | pa.LargeStringArray:
    """Return the ids of all rules that are true of an event, ascending, as an array."""
    if state.is_changed:
        return state.match_batch((event,)).rule
    return state.identities.take(state.match_one(event))


class IndexAnswers(Generic[Id]):
    """A snapshot of rules that answers. `Index` adds how it is made and changed.

    To a type checker, `Index[int]` has integer ids, and `Index` has ids of either type.
    """

    def __init__(self, state: Snapshot, home: Home | None) -> None:
        self._state = state
        self._home = home  # None if the index cannot be changed
        self._over_limit = 0  # how many functions of events a limit made unknown
        self._relaxed: RelaxedViews | None = None
        self._filtered: dict[str, FilteredViews] = {}  # by mode

    # Matching.

    @overload
    def match(
        self,
        event: Event,
        *,
        as_array: Literal[False] = False,
        where: str | None = None,
        decimals: bool = False,
        now: Now = None,
    ) -> list[Id]: ...

    @overload
    def match(
        self,
        event: Event,
        *,
        as_array: Literal[True],
        where: str | None = None,
        decimals: bool = False,
        now: Now = None,
    ) -> NDArray[np.int64] | pa.LargeStringArray: ...

    def match(
        self, event: Event, *, as_array: bool = False, where: str | None = None, decimals: bool = False, now: Now = None
    ) -> list[Id] | NDArray[np.int64] | pa.LargeStringArray:
        """Return the ids of all rules that are true of an event, ascending. An event is a mapping, or JSON as text.

        With `as_array` they are a NumPy array of integers, or an Arrow array of strings, which saves one object per id.
        `where` is a condition over the rules' tags: only the rules that it is true of are asked (docs/tags.md). It is
        the same in all methods that match. With `decimals`, the numbers of JSON text are read as decimals, exactly as
        they are written. `now` is what now() means in rules: a time or its text, or the clock if it is left out. Both
        hold for all methods that take events.

        >>> index = Index.build([(1, "country = 'IN'"), (2, "age >= 18")])
        >>> index.match({"country": "IN", "age": 20})
        [1, 2]
        >>> index.match('{"age": 20}', as_array=True)
        array([2])
        >>> Index.build([(1, "a + b = 0.3")]).match('{"a": 0.1, "b": 0.2}', decimals=True)
        [1]
        """
        if decimals:
            event = decimal_event(event)
        if as_array:
            found = as_mapping(event)
            return self._ask(lambda state: _match_as_array(self._view(state, where=where), found), now)
        if where is not None:
            return self._ask(lambda state: self._view(state, where=where).match(event), now)
        snapshot = self._state
        plain_match = snapshot.plain_match if now is None else None
        if plain_match is not None:  # the shortest way
            try:
                return plain_match(event)
            except OutdatedError:  # the index was changed twice meanwhile
                pass
        return self._ask(lambda state: state.match(event), now)

    def match_batch(
        self, events: Events, *, where: str | None = None, decimals: bool = False, now: Now = None
    ) -> IndexMatches[Id]:
        """Match many events: mappings, JSON texts, an Arrow table or batch, a pandas or polars frame.

        >>> index = Index.build([(1, "age >= 18"), (2, "country = 'IN'")])
        >>> matches = index.match_batch([{"age": 20, "country": "IN"}, {"age": 10}])
        >>> matches[0], matches[1]
        ([1, 2], [])
        """
        events = decimal_events(events) if decimals else events
        return self._ask_all(events, lambda state: self._view(state, where=where).match_batch(events), now)

    def count(
        self, events: Events, *, where: str | None = None, decimals: bool = False, now: Now = None
    ) -> NDArray[np.int64]:
        """Return for each event how many rules are true of it, without writing the matches.

        >>> index = Index.build([(1, "age >= 18"), (2, "country = 'IN'")])
        >>> index.count([{"age": 20, "country": "IN"}, {"age": 10}])
        array([2, 0])
        """
        events = decimal_events(events) if decimals else events
        return self._ask_all(events, lambda state: self._view(state, where=where).counts(events), now)

    def top(
        self,
        event: Event,
        k: int,
        rank: Rank = "sum",
        weights: Weights | None = None,
        mode: Mode = "exact",
        *,
        where: str | None = None,
        decimals: bool = False,
        now: Now = None,
    ) -> list[tuple[Id, float]]:
        """Return the best k rules of an event with their ranks, the best first, ties by id.

        `weights` belong to the event: one number per attribute, or one per value of it. In the mode "relaxed" not all
        conjuncts of a rule need to hold (docs/ranking.md); the first such call builds an engine for it.

        >>> index = Index.build([(1, "age >= 18", 0.2), (2, "country = 'IN'", 0.7)])
        >>> index.top({"age": 20, "country": "IN"}, 1)
        [(2, 1.7)]
        """
        weighed = None if weights is None else (weights,)
        event = decimal_event(event) if decimals else event
        found = self.top_batch((as_mapping(event),), k, rank, weighed, mode, where=where, now=now)
        assert found.scores is not None
        return list(zip(found[0], found.scores.tolist(), strict=True))

    def top_batch(
        self,
        events: Events,
        k: int,
        rank: Rank = "sum",
        weights: Iterable[Weights | None] | None = None,
        mode: Mode = "exact",
        *,
        where: str | None = None,
        decimals: bool = False,
        now: Now = None,
    ) -> IndexMatches[Id]:
        """Return the best k rules of each of many events; `weights` has one entry per event, `mode` is as in `top`.

        >>> index = Index.build([(1, "age >= 18", 0.2), (2, "country = 'IN'", 0.7)])
        >>> best = index.top_batch([{"age": 20, "country": "IN"}, {"age": 20}], 1)
        >>> best[0], best[1]
        ([2], [1])
        """
        k, rank, weights = check_k(k), check_rank(rank), check_weights(weights)
        events = decimal_events(events) if decimals else events
        return self._ask_all(events, lambda state: self._view(state, mode, where).top(events, k, rank, weights), now)

    def _view(self, state: Any, mode: Mode = "exact", where: str | None = None) -> Any:
        """Return what answers: the snapshot, or a view of it for a mode or a filter."""
        if mode != "exact":
            if self._relaxed is None:
                from ruledex.index.relaxed import RelaxedViews

                self._relaxed = RelaxedViews()
            state = self._relaxed.of(state, mode)
        if where is None:
            return state
        views = self._filtered.get(mode)
        if views is None:
            from ruledex.index.filters import FilteredViews

            views = self._filtered[mode] = FilteredViews()
        return views.of(state, where)

    def _ask_all(self, events: Events, question: Callable[[Any], Answer], now: Now) -> Answer:
        if isinstance(events, Sized):
            prepare_match(len(events), len(self))
        return self._ask(question, now)

    def _ask(self, question: Callable[[Any], Answer], now: Now = None) -> Answer:
        """Ask the current snapshot, and again if it was changed twice before it could answer."""
        n_before = over_limit.n
        while True:
            state = self._state
            try:
                if now is None and not state.may_use_now:
                    answer = question(state)
                else:
                    with asked_at(now, state.dictionary.schema.zone):
                        answer = question(state)
                break
            except OutdatedError:
                pass
        if over_limit.n != n_before:
            self._over_limit += over_limit.n - n_before  # two threads may lose a count: no answer depends on it
        return answer

    # Looking at it.

    def explain(self, rule_id: RuleId, event: Event, *, decimals: bool = False, now: Now = None) -> Explanation:
        """Explain clause by clause why a rule is true of an event or not, and which smallest change would flip it.

        >>> index = Index.build([(1, "age >= 18 AND country = 'IN'")])
        >>> print(index.explain(1, {"age": 20, "country": "DE"}))
        the rule is false of this event
        ✗ AND
        ├── ✓ age >= 18   age is 20
        └── ✗ country = 'IN'   country is 'DE'
        it would be true if this changed:
          → country is 'DE', needs 'IN'
        """
        state = self._state
        text = state.text(plain_id(rule_id))
        schema = state.schema
        event = decimal_event(event) if decimals else event
        with asked_at(now, schema.zone):
            return explain_text(text, as_mapping(event), schema, original_of(state.original(plain_id(rule_id))))

    def why_not(self, event: Event, rule_id: RuleId, *, decimals: bool = False, now: Now = None) -> Explanation | None:
        """Explain why a rule is not true of an event. Returns None if it is true.

        >>> index = Index.build([(1, "age >= 18")])
        >>> index.why_not({"age": 20}, 1) is None
        True
        >>> index.why_not({"age": 10}, 1).truth
        False
        """
        explanation = self.explain(rule_id, event, decimals=decimals, now=now)
        return None if explanation.truth else explanation

    def describe(self) -> dict[str, Any]:
        """Describe what the index consists of, in plain values for people and for JSON.

        >>> Index.build([(1, "age >= 18"), (2, "age >= 21")]).describe()["rules"]
        2
        """
        home = self._home
        kept = {} if home is None else home.describe()
        described = self._ask(lambda state: describe_snapshot(state) | {"changes": state.describe_changes() | kept})
        return described | {"over_limit": self._over_limit}

    def rules(self) -> Iterator[Rule[Id]]:
        """Give all rules with their static scores, ascending by id.

        >>> list(Index.build([(1, "a = 1"), (2, "a = 2", 0.5)]).rules())
        [Rule(id=1, text='a = 1', static_score=0.0), Rule(id=2, text='a = 2', static_score=0.5)]
        """
        state: Any = self._state
        if isinstance(self._state, BuiltState):
            each = zip(state.rules(), state.static_scores().tolist(), count(), strict=False)
            tags = state.tags.text
            return (Rule(rule_id, text, score, tags_of(tags(at))) for (rule_id, text), score, at in each)
        return (self._rule(state, rule_id, text) for rule_id, text in state.rules())

    def rule(self, rule_id: RuleId) -> Rule[Id]:
        """Return a rule by its id.

        >>> Index.build([(1, "age >= 18", 0.5)]).rule(1)
        Rule(id=1, text='age >= 18', static_score=0.5)
        """
        state, rule_id = self._state, plain_id(rule_id)
        found = self._rule(state, rule_id, state.text(rule_id))
        found.original = original_of(state.original(rule_id))
        return found

    def _rule(self, state: Snapshot, rule_id: Any, text: str) -> Rule[Id]:
        return Rule(rule_id, text, state.score(rule_id), tags_of(state.tags_text(rule_id)))

    @property
    def schema(self) -> Schema:
        """The declared types of attributes and, for the others, the types that the rules' constants imply.

        >>> Index.build([(1, "age >= 18")]).schema.to_mapping()["attributes"]
        {'age': {'type': 'double', 'single': False}}
        """
        dictionaries, declared = self._ask(lambda state: (state.dictionaries, state.schema))
        whole = dictionaries[0] if len(dictionaries) == 1 else merge_dictionaries(dictionaries)
        return full_schema(whole, declared)

    @property
    def definitions(self) -> dict[str, str]:
        """The texts of the named conditions that rules may use, by name.

        >>> Index.build([(1, "@adults AND country = 'IN'")], definitions={"adults": "age >= 18"}).definitions
        {'adults': 'age >= 18'}
        """
        return dict(self._state.schema.definitions)

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The attributes that rules test, each as its path into an event, sorted. The path of `*` has no steps.

        >>> Index.build([(1, "age >= 18 AND device.os = 'ios'")]).paths
        [('age',), ('device', 'os')]
        """
        return sorted(
            {path for dictionary in self._ask(lambda state: state.dictionaries) for path in dictionary.used_paths}
        )

    @property
    def ids(self) -> pa.Array:
        """The ids of all rules, ascending, which is the order of positions.

        >>> Index.build([(2, "a = 1"), (1, "a = 2")]).ids.to_pylist()
        [1, 2]
        """
        return self._state.identities.to_arrow()

    @property
    def id_kind(self) -> str:
        """The type of the rules' ids: "integer" or "string".

        >>> Index.build([("adults", "age >= 18")]).id_kind
        'string'
        """
        return self._state.identities.kind

    @property
    def uses_now(self) -> bool:
        """Whether some rule may ask for the time of the call.

        >>> Index.build([(1, "seen > now() - INTERVAL 1 DAY")]).uses_now
        True
        """
        return self._state.may_use_now

    @property
    def n_journaled(self) -> int:
        """How many changes the journal has since the version, as far as this index has read it.

        >>> index = Index.build([(1, "a = 1")])
        >>> _ = index.save("rules.index")
        >>> index.add([(2, "a = 2")]), index.n_journaled
        (1, 1)
        """
        home = self._home
        n_records: int = 0 if home is None else home.describe().get("journal_records", 0)
        return n_records

    @property
    def by_value(self) -> dict[str, int]:
        """How many values of each operand this process has encoded one by one, in Python, the most first.

        It has encoded all other values of events in columns column by column.

        >>> import pyarrow as pa
        >>> index = Index.build([(1, "md5(city) = '0'")])
        >>> index.match_batch(pa.table({"city": ["Rome", "Paris", "Rome"]})).n_matches
        0
        >>> index.by_value
        {'md5(city)': 3}
        """
        return self._ask(lambda state: state.base.encoder.by_value())

    @property
    def uses_zone(self) -> bool:
        """Whether some rule may depend on the time zone of the schema.

        >>> Index.build([(1, "hour(seen) >= 9")]).uses_zone, Index.build([(1, "age >= 18")]).uses_zone
        (True, False)
        """
        return any(self._ask(lambda state: [dictionary.uses_zone for dictionary in state.dictionaries]))

    @property
    def version(self) -> str | None:
        """The name of the version on disk; None if the index has not been saved.

        >>> Index.build([(1, "a = 1")]).version is None
        True
        """
        return self._state.version

    @property
    def engine(self) -> str:
        """The name of the engine.

        >>> Index.build([(1, "a = 1")], engine="sparse").engine
        'sparse'
        """
        return self._state.engine.name

    def __len__(self) -> int:
        return len(self._state.identities)

    def __iter__(self) -> Iterator[tuple[Id, str]]:
        """Give all rules as (id, text), ascending by id."""
        return self._state.rules()  # type: ignore[return-value]  # of the kind Id

    def __contains__(self, rule_id: object) -> bool:
        return self._state.identities.has(plain_id(rule_id))

    def __repr__(self) -> str:
        if isinstance(self._state, ClosedState):
            return "Index(closed)"
        return f"Index({len(self):,} rules, engine {self.engine!r})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        if isinstance(self._state, ClosedState):
            return "<p>Index(closed)</p>"
        rows: list[tuple[str, object]] = [("rules", len(self)), ("ids", f"{self.id_kind}s"), ("engine", self.engine)]
        rows += [("version", self.version or "not saved"), ("attributes", ", ".join(map(path_text, self.paths[:20])))]
        shown = islice(self.rules(), _MOST_SHOWN)
        rules = html_table("its first rules", shown, ("id", "rule", "static score"))
        return html_table("Index", rows) + rules

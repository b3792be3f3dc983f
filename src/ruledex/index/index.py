"""Index: what a user of ruledex holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.artifact import RootLike, current
from ruledex.encode.events import EventEncoder
from ruledex.engines.protocol import Rank, Statistics
from ruledex.errors import ArtifactError, BudgetError, RuledexError, RuleFault, RulesError
from ruledex.explain import Explanation, explain
from ruledex.index.events_in import Event, Events, as_mapping, encode_events
from ruledex.index.identities import RuleId, identities_of
from ruledex.index.matches import IndexMatches
from ruledex.index.program_of import Progress, build_program
from ruledex.index.rules_in import Rules, read_rules
from ruledex.index.state import Shard, State, matcher_of
from ruledex.index.storage import build_engine, open_state, save_state
from ruledex.index.summary import describe, full_schema
from ruledex.index.texts import TextsInMemory
from ruledex.language.parser import parse
from ruledex.language.schema import Schema

if TYPE_CHECKING:
    from ruledex.language.reference import Weights
    from ruledex.sources import Columns

OnError = Literal["raise", "skip"]


class Rule(NamedTuple):
    """A rule of an index."""

    id: RuleId
    text: str
    static_score: float


class Index:
    """Rules, ready to be matched. Made by `Index.build` and `Index.open`.

    Reading is safe from any number of threads. `refresh` replaces all that is read in one step: a call that is under
    way ends on the version that it began with.
    """

    def __init__(self, state: State, faults: list[RuleFault], root: RootLike | None, engine: str | None) -> None:
        self._state = state
        self._root = root
        self._engine = engine
        self.faults = faults

    # Making one.

    @staticmethod
    def build(
        rules: Rules,
        engine: str = "auto",
        stats: Statistics | Events | None = None,
        schema: Schema | None = None,
        on_error: OnError = "raise",
        *,
        columns: Columns | None = None,
        progress: Progress | None = None,
        engine_options: Mapping[str, Any] | None = None,
    ) -> Index:
        """An index of rules: (id, text) or (id, text, static score), mappings, a table or frame, or a file's path.

        Ids are integers or strings, of one type and each once. Rules that cannot be used are reported all together as a
        `RulesError`, or with `on_error="skip"` left out and kept in `faults`. `stats` is a sample of the events to
        come, or what is known of them already; it changes speed, never an answer. `engine_options` are the engine's
        own, as `{"overflow": "sparse"}` of those that convert rules to another form.
        """
        if on_error not in ("raise", "skip"):
            raise RuledexError(f"on_error is 'raise' or 'skip', not {on_error!r}")
        read = read_rules(rules) if columns is None else read_rules(rules, columns)
        schema = Schema() if schema is None else schema
        n_given = len(read.ids) + len(read.faults)
        program, dictionary, bad = build_program(read.texts, read.scores, schema, progress)
        faults = read.faults + [RuleFault(read.ids[at].as_py(), error, int(read.lines[at])) for at, error in bad]
        if faults and on_error == "raise":
            raise RulesError(sorted(faults, key=lambda fault: fault.line), n_given)
        if bad:
            read = read.without([at for at, _ in bad])
        encoder = EventEncoder(dictionary)
        statistics = _statistics(encoder, stats)
        try:
            built = build_engine(engine, program, statistics, engine_options)
        except BudgetError as error:
            raise error if error.position is None else error.of_rule(read.ids[error.position].as_py()) from None
        shards = (Shard(program, built),)
        state = State(
            shards,
            dictionary,
            encoder,
            matcher_of(shards),
            identities_of(read.ids),
            TextsInMemory(read.texts),
            None,
        )
        return Index(state, sorted(faults, key=lambda fault: fault.line), None, None)

    @staticmethod
    def open(root: RootLike, version: str | None = None, engine: str | None = None) -> Index:
        """The index at a path or URL, its current version unless one is given. Files are mapped, not read.

        The engine is the one that was saved; another one is built from the stored rules, which takes a while.
        """
        return Index(open_state(root, version, engine), [], root, engine)

    def save(self, root: RootLike) -> str:
        """Publish the index at a path or URL as its current version, in one atomic step; the version's name."""
        version = save_state(self._state, root)
        self._state = self._state._replace(version=version)
        self._root = root
        return version

    def refresh(self) -> bool:
        """Switch to the version that is current by now; whether that is another one.

        A version that cannot be opened is refused with an ArtifactError, and the index goes on with the one it has.
        """
        if self._root is None:
            raise RuledexError("this index has neither been saved nor opened, so there is nothing to refresh it from")
        if current(self._root) == self._state.version:
            return False
        try:
            self._state = open_state(self._root, None, self._engine)
        except ArtifactError as error:
            kept = f"this index stays at version {self._state.version}"
            raise ArtifactError(f"the newly published version is refused, {kept}: {error}") from error
        return True

    # Matching.

    def match(self, event: Event) -> list[RuleId]:
        """The ids of all rules that are true of an event, ascending. An event is a mapping, or JSON as text."""
        state = self._state
        batch = state.encoder.encode_one(event if type(event) is dict else as_mapping(event))
        return state.identities.of(state.engine.match(batch).rule)

    def match_batch(self, events: Events) -> IndexMatches:
        """The rules of many events: mappings, JSON texts, an Arrow table or batch, a pandas or polars frame."""
        state = self._state
        return IndexMatches(state.engine.match(encode_events(state.encoder, events)), state.identities)

    def count(self, events: Events) -> NDArray[np.int64]:
        """For each event how many rules are true of it; the matches themselves are never written."""
        state = self._state
        return state.engine.count(encode_events(state.encoder, events))

    def top(
        self, event: Event, k: int, rank: Rank = "sum", weights: Weights | None = None
    ) -> list[tuple[RuleId, float]]:
        """The best k rules of an event with their ranks, the best first, ties by id.

        `weights` are the event's own: a number for an attribute, or one for each of its values.
        """
        state = self._state
        batch = state.encoder.encode((as_mapping(event),), None if weights is None else (weights,))
        found = state.engine.top(batch, k, rank)
        assert found.scores is not None
        return list(zip(state.identities.of(found.rule), found.scores.tolist(), strict=True))

    def top_batch(
        self, events: Events, k: int, rank: Rank = "sum", weights: Iterable[Weights | None] | None = None
    ) -> IndexMatches:
        """The best k rules of many events; `weights` has one entry an event."""
        state = self._state
        batch = encode_events(state.encoder, events, weights)
        return IndexMatches(state.engine.top(batch, k, rank), state.identities)

    # Looking at it.

    def explain(self, rule_id: RuleId, event: Event) -> Explanation:
        """Why a rule is true of an event or is not, clause by clause, and the smallest change that would flip it."""
        state = self._state
        text = state.texts.text(state.position(rule_id))
        schema = state.dictionary.schema
        return explain(schema.bind(parse(text), text), text, as_mapping(event), schema)

    def why_not(self, event: Event, rule_id: RuleId) -> Explanation | None:
        """What keeps a rule from being true of an event; None where nothing does."""
        explanation = self.explain(rule_id, event)
        return None if explanation.truth else explanation

    def describe(self) -> dict[str, Any]:
        """What the index is made of, in plain values for people and for JSON."""
        return describe(self._state)

    def rule(self, rule_id: RuleId) -> Rule:
        """A rule by its id."""
        state = self._state
        position = state.position(rule_id)
        return Rule(rule_id, state.texts.text(position), state.static_score(position))

    @property
    def schema(self) -> Schema:
        """What is declared of the attributes and, for the others, what the rules' constants imply."""
        return full_schema(self._state.dictionary)

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The attributes that rules look at, each as its path into an event, sorted."""
        return self._state.dictionary.used_paths

    @property
    def id_kind(self) -> str:
        """Of which type the rules' ids are: "integer" or "string"."""
        return self._state.identities.kind

    @property
    def version(self) -> str | None:
        """The version on disk that this is; None for an index that has not been saved."""
        return self._state.version

    @property
    def engine(self) -> str:
        """The name of the engine that answers."""
        return self._state.engine.name

    def __len__(self) -> int:
        return len(self._state.identities)

    def __iter__(self) -> Iterator[tuple[RuleId, str]]:
        """All rules as (id, text), ascending by id."""
        state = self._state
        return zip(state.identities, state.texts.each(), strict=True)

    def __contains__(self, rule_id: object) -> bool:
        try:
            self._state.identities.position(rule_id)  # type: ignore[arg-type]  # whatever else it is, is not there
        except KeyError:
            return False
        return True

    def __repr__(self) -> str:
        return f"Index({len(self):,} rules, engine {self.engine!r})"


def _statistics(encoder: EventEncoder, stats: Statistics | Events | None) -> Statistics | None:
    """How often each cell is there in a sample of events."""
    if stats is None or isinstance(stats, Statistics):
        return stats
    batch = encode_events(encoder, stats)
    if batch.n_events == 0:
        return None
    return Statistics(np.bincount(batch.cells, minlength=encoder.dictionary.n_cells) / batch.n_events)

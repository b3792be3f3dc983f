"""Index: what a user of ruledex holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from ruledex.artifact import RootLike, current
from ruledex.dictionary.merging import merge_dictionaries
from ruledex.engines.atree.live import OutdatedError
from ruledex.engines.protocol import Rank
from ruledex.errors import (
    ArtifactError,
    BudgetError,
    RuledexError,
    RuleFault,
    RulesError,
    quoted,
)
from ruledex.explain import Explanation, explain
from ruledex.forks import ForkSafeLock
from ruledex.index.arguments import (
    checked_choice,
    checked_columns,
    checked_k,
    checked_rank,
    checked_weights,
)
from ruledex.index.build import Progress, build_program, folded, state_of_rules
from ruledex.index.identities import RuleId
from ruledex.index.inputs import Event, Events, Stats, as_mapping
from ruledex.index.live.changes import (
    given_ids,
    has,
    putting,
    removing,
    scoring,
)
from ruledex.index.live.home import Home, MemoryHome, Prepare
from ruledex.index.live.journal_home import JournalHome, open_live, save_over
from ruledex.index.live.state import LiveState, Snapshot
from ruledex.index.matches import IndexMatches
from ruledex.index.opening import open_state
from ruledex.index.relaxed import Mode, RelaxedViews
from ruledex.index.rules import RuleColumns, Rules, read_rules
from ruledex.index.state import State
from ruledex.index.storage import check_engine
from ruledex.index.summary import describe, full_schema
from ruledex.language.checked import checked_schema
from ruledex.language.parser import parse
from ruledex.language.resolve import over_limit
from ruledex.language.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.language.reference import Weights
    from ruledex.sources import Columns

OnError = Literal["raise", "skip"]
Answer = TypeVar("Answer")


class Rule(NamedTuple):
    """A rule of an index."""

    id: RuleId
    text: str
    static_score: float


class Index:
    """Rules, ready to be matched. Made by `Index.build` and `Index.open`.

    Reading and changing are safe from any number of threads, and readers wait for nobody: a change, and `refresh`,
    replace all that is read in one step, and a call that is under way ends on what it began with.
    """

    def __init__(
        self,
        state: Snapshot,
        faults: list[RuleFault],
        root: RootLike | None,
        engine: str | None,
        home: Home | None = None,
        trust: bool | None = None,
    ) -> None:
        self._state = state
        self._trust = trust
        self._root = root
        self._engine = engine
        self._home = home  # None where the index cannot be changed
        self._engine_options: Mapping[str, Any] | None = None
        self._writing = ForkSafeLock()  # by whoever replaces the state
        self._compacting = ForkSafeLock()  # taken before the other
        self._over_limit = 0  # functions of events that a limit made unknown
        self._relaxed = RelaxedViews()
        self.faults = faults

    # Making one.

    @staticmethod
    def build(
        rules: Rules,
        engine: str = "auto",
        stats: Stats | None = None,
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
        checked_choice("on_error", on_error, get_args(OnError))
        check_engine(engine, engine_options)
        schema = Schema() if schema is None else checked_schema(schema)
        if progress is not None and not callable(progress):
            raise RuledexError(
                f"progress is a function of how many rules are done and of how many, not {quoted(progress)}"
            )
        read = _read(rules, columns)
        n_given = len(read.ids) + len(read.faults)
        built = build_program(read.texts, read.scores, schema, progress)
        faults = read.faults + [
            RuleFault(read.ids[at].as_py(), error, int(read.lines[at])) for at, error in built.faults
        ]
        faults.sort(key=lambda fault: fault.line)
        if faults and on_error == "raise":
            raise RulesError(faults, n_given)
        if built.faults:
            # Once more: what a broken rule names besides would stay in the dictionary, and events be read for it.
            read = read.without([at for at, _ in built.faults])
            built = build_program(read.texts, read.scores, schema, progress)
        while True:
            try:
                state = state_of_rules(read, built, engine, stats, engine_options)
                break
            except BudgetError as error:
                over = error.each()
                if on_error == "raise" or not over:
                    raise
            faults += [RuleFault(read.ids[at].as_py(), fault, int(read.lines[at])) for at, fault in over]
            # What the others share may lie otherwise without these, so that more of them are over the budget.
            read = read.without([at for at, _ in over])
            built = build_program(read.texts, read.scores, schema, progress)
        faults.sort(key=lambda fault: fault.line)
        index = Index(state, faults, None, None, MemoryHome())
        index._engine_options = engine_options
        return index

    @staticmethod
    def open(
        root: RootLike, version: str | None = None, engine: str | None = None, *, trust: bool | None = None
    ) -> Index:
        """The index at a path or URL, its current version unless one is given. Files are mapped, not read.

        The engine is the one that was saved; another one is built from the stored rules, which takes a while. With
        `trust=False` only the rules themselves are taken, and compiled anew, once per host and content: whatever a
        stranger has written, an answer is what the rules say, or there is an ArtifactError. `trust=True` maps what is
        there. Unless given, an index is trusted that lies in a folder of this user's own (docs/index.md).
        """
        if engine is not None:
            check_engine(engine)
        if version is not None:
            return Index(open_state(root, version, engine, trust), [], root, engine, None, trust)
        state, home = open_live(root, engine, trust)
        return Index(state, [], root, engine, home, trust)

    def save(self, root: RootLike) -> str:
        """Publish the index at a path or URL as its current version, in one atomic step; the version's name.

        Its changes are folded in first, and what was changed at that place before is replaced too.
        """
        with self._compacting, self._writing:
            state, self._home = save_over(self._folded(self._state), root)
            self._state = state
            self._root = root
            assert state.version is not None
            return state.version

    def refresh(self) -> bool:
        """Switch to the version that is current by now, with all changes to it; whether there was something new.

        A version that cannot be opened is refused with an ArtifactError, and the index goes on with the one it has.
        In a process that was forked after the index was opened, this opens it anew, and it can be changed there.
        """
        if self._root is None:
            raise RuledexError("this index has neither been saved nor opened, so there is nothing to refresh it from")
        with self._writing:
            before, home = self._state, self._home
            try:
                if isinstance(home, JournalHome):
                    state = home.refreshed(before) if home.is_own else None
                else:
                    state = before if current(self._root) == before.version else None
                if state is None:
                    state, self._home = open_live(self._root, self._engine, self._trust)
            except ArtifactError as error:
                kept = f"this index stays at version {before.version}"
                raise ArtifactError(f"what has been published is refused, {kept}: {error}") from error
            self._state = state
            return state is not before

    # Changing.

    def add(self, rules: Rules, *, columns: Columns | None = None) -> int:
        """Add rules, in any form that `build` takes, whose ids are not there yet; how many.

        Rules that cannot be used are reported all together as a `RulesError`, and then nothing is changed. An index
        that was opened or saved has its changes on the disk when this returns; so with the other methods.
        """
        return self._put(_read(rules, columns), replace=False)

    def update(self, rules: Rules, *, columns: Columns | None = None) -> int:
        """Put other rules, with their static scores, in the place of those of the same ids, all at once; how many."""
        return self._put(_read(rules, columns), replace=True)

    def remove(self, ids: Iterable[RuleId]) -> int:
        """Remove rules; how many. Ids that are not there are reported all together, and then nothing is changed."""
        given = given_ids(ids)
        self._change(lambda state: removing(state, given))
        return len(given)

    def set_score(self, rule_id: RuleId, score: float) -> None:
        """Change a rule's static score."""
        self._change(lambda state: scoring(state, rule_id, score))

    def compact(self, stats: Stats | None = None, *, engine_options: Mapping[str, Any] | None = None) -> str | None:
        """Fold all changes into what is built anew, and publish it as the current version, in one atomic step.

        The version's name, None of an index that has not been saved. Nobody waits meanwhile, and what others change
        meanwhile stays. `stats` and `engine_options` are as in `build`; options are those of the build unless given.
        """
        with self._compacting:
            if engine_options is not None:
                self._engine_options = engine_options
            with self._writing:
                home = self._changeable()
                state = self._state = home.begin(self._state)
            staged = None
            try:
                if isinstance(state, LiveState) or not home.is_clean:
                    staged = home.stage(self._folded(state, stats))
                    with self._writing:
                        if self._home is not home:
                            raise ArtifactError(
                                "another version has been published, and this index refreshed, meanwhile"
                            )
                        self._state = home.finish(staged)
            finally:
                home.discard(staged)
        return self.version

    def _put(self, read: RuleColumns, *, replace: bool) -> int:
        self._change(lambda state: putting(state, read, replace=replace))
        return len(read.ids)

    def _change(self, prepare: Prepare) -> None:
        with self._writing:
            self._state = self._changeable().change(self._state, prepare)

    def _changeable(self) -> Home:
        if self._home is not None:
            return self._home
        how = f"it was opened from a URL, or at version {self.version} as that was published"
        raise RuledexError(f"this index cannot be changed: {how}; open a folder without a version")

    def _folded(self, state: Snapshot, stats: Stats | None = None) -> State:
        return folded(state, stats, self._engine_options) if isinstance(state, LiveState) else state

    # Matching.

    def match(self, event: Event) -> list[RuleId]:
        """The ids of all rules that are true of an event, ascending. An event is a mapping, or JSON as text."""
        return self._ask(lambda state: state.match(event))

    def match_batch(self, events: Events) -> IndexMatches:
        """The rules of many events: mappings, JSON texts, an Arrow table or batch, a pandas or polars frame."""
        return self._ask(lambda state: state.match_batch(events))

    def count(self, events: Events) -> NDArray[np.int64]:
        """For each event how many rules are true of it; the matches themselves are never written."""
        return self._ask(lambda state: state.counts(events))

    def top(
        self, event: Event, k: int, rank: Rank = "sum", weights: Weights | None = None, mode: Mode = "exact"
    ) -> list[tuple[RuleId, float]]:
        """The best k rules of an event with their ranks, the best first, ties by id.

        `weights` are the event's own: a number for an attribute, or one for each of its values. In the mode "relaxed"
        not all conjuncts of a rule need hold (docs/ranking.md); the first call makes what that needs.
        """
        found = self.top_batch((as_mapping(event),), k, rank, None if weights is None else (weights,), mode)
        assert found.scores is not None
        return list(zip(found[0], found.scores.tolist(), strict=True))

    def top_batch(
        self,
        events: Events,
        k: int,
        rank: Rank = "sum",
        weights: Iterable[Weights | None] | None = None,
        mode: Mode = "exact",
    ) -> IndexMatches:
        """The best k rules of many events; `weights` has one entry an event, and `mode` is as in `top`."""
        k, rank, weights = checked_k(k), checked_rank(rank), checked_weights(weights)
        return self._ask(lambda state: self._relaxed.of(state, mode).top(events, k, rank, weights))

    def _ask(self, question: Callable[[Snapshot], Answer]) -> Answer:
        """What the index answers now. A state that was read may have been changed twice before it could be asked."""
        n_before = over_limit.n
        while True:
            try:
                answer = question(self._state)
                break
            except OutdatedError:
                pass
        if over_limit.n != n_before:
            self._over_limit += over_limit.n - n_before  # two threads at once may lose one: no answer depends on it
        return answer

    # Looking at it.

    def explain(self, rule_id: RuleId, event: Event) -> Explanation:
        """Why a rule is true of an event or is not, clause by clause, and the smallest change that would flip it."""
        state = self._state
        text = state.text(rule_id)
        schema = state.dictionary.schema
        return explain(schema.bind(parse(text), text), text, as_mapping(event), schema)

    def why_not(self, event: Event, rule_id: RuleId) -> Explanation | None:
        """What keeps a rule from being true of an event; None where nothing does."""
        explanation = self.explain(rule_id, event)
        return None if explanation.truth else explanation

    def describe(self) -> dict[str, Any]:
        """What the index is made of, in plain values for people and for JSON."""
        home = self._home
        kept = {} if home is None else home.describe()
        described = self._ask(lambda state: _described(state) | {"changes": state.describe_changes() | kept})
        return described | {"over_limit": self._over_limit}

    def rule(self, rule_id: RuleId) -> Rule:
        """A rule by its id."""
        state = self._state
        return Rule(rule_id, state.text(rule_id), state.score(rule_id))

    @property
    def schema(self) -> Schema:
        """What is declared of the attributes and, for the others, what the rules' constants imply."""
        dictionaries = self._ask(lambda state: state.dictionaries)
        return full_schema(dictionaries[0] if len(dictionaries) == 1 else merge_dictionaries(dictionaries))

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The attributes that rules look at, each as its path into an event, sorted."""
        return sorted(
            {path for dictionary in self._ask(lambda state: state.dictionaries) for path in dictionary.used_paths}
        )

    @property
    def ids(self) -> pa.Array:
        """The ids of all rules in the order of positions, which is their own."""
        return self._state.identities.to_arrow()

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
        return self._state.rules()

    def __contains__(self, rule_id: object) -> bool:
        return has(self._state, rule_id)

    def __repr__(self) -> str:
        return f"Index({len(self):,} rules, engine {self.engine!r})"


def _described(state: Snapshot) -> dict[str, Any]:
    """What a state is made of, but for what has changed since it was built."""
    base = state.base if isinstance(state, LiveState) else state
    return describe(base) | {"rules": len(state.identities), "ids": state.identities.kind}


def _read(rules: Rules, columns: Columns | None) -> RuleColumns:
    return read_rules(rules, checked_columns(columns))

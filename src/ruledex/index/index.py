"""Index: build, match, change, save and open rules. What a user of ruledex holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from ruledex.artifact import RootLike, current, locate
from ruledex.compiled.scheduler import prepare_match
from ruledex.dictionary.merging import merge_dictionaries
from ruledex.engines.inputs import check_k
from ruledex.engines.protocol import OutdatedError, Rank
from ruledex.engines.registry import read_options
from ruledex.errors import ArtifactError, BudgetError, RuledexError, RuleFault, RulesError, quoted
from ruledex.explain import Explanation, explain
from ruledex.forks import ForkSafeLock
from ruledex.index.build import Progress, build_program, compact_state, state_of_rules
from ruledex.index.identities import RuleId, plain_id
from ruledex.index.inputs import (
    Event,
    Events,
    Stats,
    as_mapping,
    check_choice,
    check_columns,
    check_rank,
    check_weights,
)
from ruledex.index.live.changes import check_ids, put_rules, remove_rules, set_score
from ruledex.index.live.home import Home, JournalHome, MemoryHome, Prepare, open_live, save_over
from ruledex.index.opening import OpenOptions, open_state
from ruledex.index.rules import RuleColumns, Rules, read_rules
from ruledex.index.state import IndexMatches, Snapshot, describe_snapshot, full_schema, with_threads
from ruledex.language.checked import check_schema
from ruledex.language.parser import parse
from ruledex.language.resolve import over_limit
from ruledex.language.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.index.relaxed import Mode, RelaxedViews
    from ruledex.language.reference import Weights
    from ruledex.sources import Columns

OnError = Literal["raise", "skip"]
_AS_SAVED: Final = OpenOptions()
Answer = TypeVar("Answer")


class Rule(NamedTuple):
    """A rule of an index."""

    id: RuleId
    text: str
    static_score: float


class Index:
    """Rules, ready to be matched. Made by `Index.build` and `Index.open`.

    Any number of threads may read and change an index, and readers never wait: a change or a `refresh` replaces the
    snapshot in one step, and a call that is running ends on the snapshot that it began with.
    """

    def __init__(
        self,
        state: Snapshot,
        faults: list[RuleFault],
        root: RootLike | None = None,
        home: Home | None = None,
        options: OpenOptions = _AS_SAVED,
    ) -> None:
        self._state = state
        self._root = root
        self._options = options  # for a refresh
        self._home = home  # None if the index cannot be changed
        self._engine_options: Mapping[str, Any] | None = None
        self._writing = ForkSafeLock()  # held while the snapshot is replaced
        self._compacting = ForkSafeLock()  # always taken before the other
        self._over_limit = 0  # how many functions of events a limit made unknown
        self._relaxed: RelaxedViews | None = None
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
        """Build an index of rules: (id, text), (id, text, static score), mappings, a table or frame, or a file's path.

        Ids are integers or strings, all of one type, each given once. Every invalid rule is reported in one
        `RulesError`; with `on_error="skip"` invalid rules are left out and kept in `faults`. `stats` is a sample of
        the expected events, or statistics of them; it changes speed, never an answer. `engine_options` are those of the
        engine, such as `{"overflow": "sparse"}` for engines that convert rules to another form.
        """
        check_choice("on_error", on_error, get_args(OnError))
        read_options(engine, engine_options)
        schema = Schema() if schema is None else check_schema(schema)
        if progress is not None and not callable(progress):
            raise RuledexError(
                f"progress is a function of two numbers, the rules done and all rules, not {quoted(progress)}"
            )
        read = _read(rules, columns)
        n_given = len(read.ids) + len(read.faults)
        built = build_program(read.texts, read.scores, schema, progress)
        faults = read.faults + [read.fault(at, error) for at, error in built.faults]
        faults.sort(key=lambda fault: fault.line)
        if faults and on_error == "raise":
            raise RulesError(faults, n_given)
        if built.faults:
            # Build again: what an invalid rule names would stay in the dictionary, and events would be read for it.
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
            faults += [read.fault(at, fault) for at, fault in over]
            # Without these rules the others may share less, so that more of them are over the budget.
            read = read.without([at for at, _ in over])
            built = build_program(read.texts, read.scores, schema, progress)
        faults.sort(key=lambda fault: fault.line)
        index = Index(state, faults, None, MemoryHome())
        index._engine_options = engine_options
        return index

    @staticmethod
    def open(
        root: RootLike,
        version: str | None = None,
        engine: str | None = None,
        *,
        trust: bool | None = None,
        threads: int = 1,
    ) -> Index:
        """Open the index at a path or URL, at its current version unless one is given. Files are mapped, not read.

        The engine is the one that was saved; another engine is built from the stored rules, which takes a while. With
        `trust=False` only the rules are read, and compiled anew, once per host and content: whatever a stranger has
        written, an answer is what the rules say, or there is an ArtifactError. `trust=True` maps the files as they are.
        Unless given, an index is trusted if it is in a folder of this user's own (docs/using.md). `threads` share the
        work of a call that has many events, in the engines `auto` and `batch`.
        """
        options = OpenOptions(engine, trust, threads).check()
        if version is not None:
            return Index(open_state(locate(root), version, options), [], root, None, options)
        state, home = open_live(root, options)
        return Index(state, [], root, home, options)

    def save(self, root: RootLike) -> str:
        """Publish the index at a path or URL as the current version, in one atomic step. Returns the version's name.

        The index is compacted first. Changes that were made to the index at that path before are replaced too.
        """
        with self._compacting, self._writing:
            compacted = compact_state(self._state, None, self._engine_options)
            state, self._home = save_over(with_threads(compacted, self._options.threads), root)
            self._state = state
            self._root = root
            assert state.version is not None
            return state.version

    def refresh(self) -> bool:
        """Reload the current version with all changes to it. Returns True if anything changed.

        If the version cannot be opened, this raises an ArtifactError, and the index keeps the version that it has. In a
        process that was forked after the index was opened, this opens it again, so that it can be changed there.
        """
        if self._root is None:
            raise RuledexError("this index was neither saved nor opened, so there is nothing to refresh it from")
        with self._writing:
            before, home = self._state, self._home
            try:
                if isinstance(home, JournalHome):
                    state = home.refresh(before) if home.is_own else None
                else:
                    state = before if current(self._root) == before.version else None
                if state is None:
                    state, self._home = open_live(self._root, self._options)
            except ArtifactError as error:
                kept = f"this index stays at version {before.version}"
                raise ArtifactError(f"the published version cannot be used, {kept}: {error}") from error
            self._state = state
            return state is not before

    # Changing.

    def add(self, rules: Rules, *, columns: Columns | None = None) -> int:
        """Add rules with new ids, in any form that `build` accepts. Returns how many.

        Every invalid rule is reported in one `RulesError`, and then nothing is changed. If the index was opened or
        saved, the change is on disk when this returns. The same holds for all methods that change an index.
        """
        return self._put(_read(rules, columns), replace=False)

    def update(self, rules: Rules, *, columns: Columns | None = None) -> int:
        """Replace the rules of the same ids, and their static scores, in one step. Returns how many."""
        return self._put(_read(rules, columns), replace=True)

    def remove(self, ids: Iterable[RuleId]) -> int:
        """Remove rules. Returns how many. Every unknown id is reported in one error, and then nothing is changed."""
        given = check_ids(ids)
        self._change(lambda state: remove_rules(state, given))
        return len(given)

    def set_score(self, rule_id: RuleId, score: float) -> None:
        """Change a rule's static score."""
        self._change(lambda state: set_score(state, rule_id, score))

    def compact(self, stats: Stats | None = None, *, engine_options: Mapping[str, Any] | None = None) -> str | None:
        """Build a new version from base and delta, and publish it as the current one, in one atomic step.

        Returns the version's name, or None if the index has not been saved. Meanwhile nobody waits, and changes that
        others make are kept. `stats` and `engine_options` are as in `build`; the options are those of the build unless
        given.
        """
        with self._compacting:
            if engine_options is not None:
                self._engine_options = engine_options
            with self._writing:
                home = self._changeable()
                state = self._state = home.begin(self._state)
            staged = None
            try:
                if state.is_changed or not home.is_clean:
                    compacted = compact_state(state, stats, self._engine_options)
                    staged = home.stage(with_threads(compacted, self._options.threads))
                    with self._writing:
                        if self._home is not home:
                            raise ArtifactError("another version was published, and this index refreshed, meanwhile")
                        self._state = home.finish(staged)
            finally:
                home.discard(staged)
        return self.version

    def _put(self, read: RuleColumns, *, replace: bool) -> int:
        self._change(lambda state: put_rules(state, read, replace=replace))
        return len(read.ids)

    def _change(self, prepare: Prepare) -> None:
        with self._writing:
            self._state = self._changeable().change(self._state, prepare)

    def _changeable(self) -> Home:
        if self._home is not None:
            return self._home
        how = f"it was opened from a URL, or at the fixed version {self.version}"
        raise RuledexError(f"this index cannot be changed: {how}; open a local folder without a version")

    # Matching.

    def match(self, event: Event) -> list[RuleId]:
        """Return the ids of all rules that are true of an event, ascending. An event is a mapping, or JSON as text."""
        return self._ask(lambda state: state.match(event))

    def match_batch(self, events: Events) -> IndexMatches:
        """Match many events: mappings, JSON texts, an Arrow table or batch, a pandas or polars frame."""
        return self._ask_all(events, lambda state: state.match_batch(events))

    def count(self, events: Events) -> NDArray[np.int64]:
        """Return for each event how many rules are true of it, without writing the matches."""
        return self._ask_all(events, lambda state: state.counts(events))

    def top(
        self, event: Event, k: int, rank: Rank = "sum", weights: Weights | None = None, mode: Mode = "exact"
    ) -> list[tuple[RuleId, float]]:
        """Return the best k rules of an event with their ranks, the best first, ties by id.

        `weights` belong to the event: one number per attribute, or one per value of it. In the mode "relaxed" not all
        conjuncts of a rule need to hold (docs/ranking.md); the first such call builds an engine for it.
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
        """Return the best k rules of each of many events; `weights` has one entry per event, `mode` is as in `top`."""
        k, rank, weights = check_k(k), check_rank(rank), check_weights(weights)
        return self._ask_all(events, lambda state: self._view(state, mode).top(events, k, rank, weights))

    def _view(self, state: Snapshot, mode: Mode) -> Snapshot:
        if mode == "exact":
            return state
        if self._relaxed is None:
            from ruledex.index.relaxed import RelaxedViews

            self._relaxed = RelaxedViews()
        return self._relaxed.of(state, mode)

    def _ask_all(self, events: Events, question: Callable[[Snapshot], Answer]) -> Answer:
        if isinstance(events, Sized):
            prepare_match(len(events), len(self))
        return self._ask(question)

    def _ask(self, question: Callable[[Snapshot], Answer]) -> Answer:
        """Ask the current snapshot, and again if it was changed twice before it could answer."""
        n_before = over_limit.n
        while True:
            try:
                answer = question(self._state)
                break
            except OutdatedError:
                pass
        if over_limit.n != n_before:
            self._over_limit += over_limit.n - n_before  # two threads may lose a count: no answer depends on it
        return answer

    # Looking at it.

    def explain(self, rule_id: RuleId, event: Event) -> Explanation:
        """Explain clause by clause why a rule is true of an event or not, and which smallest change would flip it."""
        state = self._state
        text = state.text(plain_id(rule_id))
        schema = state.dictionary.schema
        return explain(schema.bind(parse(text), text), text, as_mapping(event), schema)

    def why_not(self, event: Event, rule_id: RuleId) -> Explanation | None:
        """Explain why a rule is not true of an event. Returns None if it is true."""
        explanation = self.explain(rule_id, event)
        return None if explanation.truth else explanation

    def describe(self) -> dict[str, Any]:
        """Describe what the index consists of, in plain values for people and for JSON."""
        home = self._home
        kept = {} if home is None else home.describe()
        described = self._ask(lambda state: describe_snapshot(state) | {"changes": state.describe_changes() | kept})
        return described | {"over_limit": self._over_limit}

    def rule(self, rule_id: RuleId) -> Rule:
        """Return a rule by its id."""
        state, rule_id = self._state, plain_id(rule_id)
        return Rule(rule_id, state.text(rule_id), state.score(rule_id))

    @property
    def schema(self) -> Schema:
        """The declared types of attributes and, for the others, the types that the rules' constants imply."""
        dictionaries = self._ask(lambda state: state.dictionaries)
        return full_schema(dictionaries[0] if len(dictionaries) == 1 else merge_dictionaries(dictionaries))

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The attributes that rules test, each as its path into an event, sorted."""
        return sorted(
            {path for dictionary in self._ask(lambda state: state.dictionaries) for path in dictionary.used_paths}
        )

    @property
    def ids(self) -> pa.Array:
        """The ids of all rules, ascending, which is the order of positions."""
        return self._state.identities.to_arrow()

    @property
    def id_kind(self) -> str:
        """The type of the rules' ids: "integer" or "string"."""
        return self._state.identities.kind

    @property
    def version(self) -> str | None:
        """The name of the version on disk; None if the index has not been saved."""
        return self._state.version

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return self._state.engine.name

    def __len__(self) -> int:
        return len(self._state.identities)

    def __iter__(self) -> Iterator[tuple[RuleId, str]]:
        """Give all rules as (id, text), ascending by id."""
        return self._state.rules()

    def __contains__(self, rule_id: object) -> bool:
        return self._state.identities.has(plain_id(rule_id))

    def __repr__(self) -> str:
        return f"Index({len(self):,} rules, engine {self.engine!r})"


def _read(rules: Rules, columns: Columns | None) -> RuleColumns:
    return read_rules(rules, check_columns(columns))

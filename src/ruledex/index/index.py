"""Index: build, match, change, save and open rules. What a user of ruledex holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, get_args, overload

from ruledex.artifact import RootLike, current_version, locate
from ruledex.engines.registry import read_engine_options
from ruledex.errors import ArtifactError, BudgetError, RuledexError, RuleFault, RulesError, quoted
from ruledex.forks import ForkSafeLock
from ruledex.index.answers import ClosedState
from ruledex.index.build import build_program, compact_state, state_of_rules
from ruledex.index.identities import Id, RuleId
from ruledex.index.inputs import Stats, check_choice
from ruledex.index.live.changes import (
    CheckedChange,
    check_ids,
    plain_rule_of,
    put_plain_rule,
    put_rules,
    remove_rules,
    set_score,
)
from ruledex.index.live.home import Home, JournalHome, MemoryHome, Prepare, open_live, save_over
from ruledex.index.live.waiting import WaitingChanges
from ruledex.index.merging import MergeableIndex
from ruledex.index.opening import OpenOptions, open_state
from ruledex.index.rules import Rules, read_given_rules, translate_rows, translate_rules
from ruledex.index.state import Snapshot, with_threads
from ruledex.language.definitions import check_definitions
from ruledex.language.schema import Schema, check_schema
from ruledex.program.builder import Progress

if TYPE_CHECKING:
    from ruledex.index.copies import PackedIndex
    from ruledex.sources import Columns

OnError = Literal["raise", "skip"]
_AS_SAVED: Final = OpenOptions()
GivenId = TypeVar("GivenId", int, str)


class Index(MergeableIndex[Id]):
    """Rules, ready to be matched. Made by `Index.build` and `Index.open`.

    Any number of threads may read and change an index, and readers never wait: a change or a `refresh` replaces the
    snapshot in one step, and a call that is running ends on the snapshot that it began with.

    >>> index = Index.build([("adults", "age >= 18"), ("india", "country = 'IN'")])
    >>> index.match({"age": 20, "country": "IN"})
    ['adults', 'india']
    """

    def __init__(
        self,
        state: Snapshot,
        faults: list[RuleFault],
        root: RootLike | None = None,
        home: Home | None = None,
        options: OpenOptions = _AS_SAVED,
    ) -> None:
        super().__init__(state, home)
        self._root = root
        self._options = options  # for a refresh
        self._engine_options: Mapping[str, Any] | None = None
        self._writing = ForkSafeLock(reentrant=True)  # held while the snapshot is replaced
        self._waiting = WaitingChanges(self._writing)
        self._compacting = ForkSafeLock()  # always taken before the other
        self._packed: tuple[Snapshot, PackedIndex] | None = None  # of the snapshot that was sent last
        self._folder: Any = None  # of an index that came as bytes; its files are mapped
        self.faults = faults

    # Making one.

    @overload
    @staticmethod
    def build(
        rules: Iterable[tuple[GivenId, str] | tuple[GivenId, str, float]],
        engine: str = "auto",
        stats: Stats | None = None,
        schema: Schema | None = None,
        on_error: OnError = "raise",
        *,
        columns: Columns | None = None,
        definitions: Mapping[str, str] | None = None,
        format: str | None = None,
        progress: Progress | None = None,
        engine_options: Mapping[str, Any] | None = None,
    ) -> Index[GivenId]: ...

    @overload
    @staticmethod
    def build(
        rules: Rules,
        engine: str = "auto",
        stats: Stats | None = None,
        schema: Schema | None = None,
        on_error: OnError = "raise",
        *,
        columns: Columns | None = None,
        definitions: Mapping[str, str] | None = None,
        format: str | None = None,
        progress: Progress | None = None,
        engine_options: Mapping[str, Any] | None = None,
    ) -> Index[Any]: ...

    @staticmethod
    def build(
        rules: Any,
        engine: str = "auto",
        stats: Stats | None = None,
        schema: Schema | None = None,
        on_error: OnError = "raise",
        *,
        columns: Columns | None = None,
        definitions: Mapping[str, str] | None = None,
        format: str | None = None,  # noqa: A002
        progress: Progress | None = None,
        engine_options: Mapping[str, Any] | None = None,
    ) -> Index[Any]:
        """Build an index of rules: (id, text), (id, text, static score), mappings, a table or frame, or a file's path.

        A rule may carry tags, as a fourth element or under the key `tags`; `where` filters by them (docs/tags.md).
        Ids are integers or strings, all of one type, each given once. Every invalid rule is reported in one
        `RulesError`; with `on_error="skip"` invalid rules are left out and kept in `faults`. `stats` is a sample of
        the expected events, or statistics of them; it changes speed, never an answer. `engine_options` are those of the
        engine, such as `{"overflow": "error"}` for engines that convert rules to another form. `definitions` are
        conditions that rules use by name, `{"adults": "age >= 18"}` as `@adults`, beside those of the schema. `format`
        says that the rules are those of another system, such as `"eventbridge"`, or `"auto"` if they show it; what
        `formats.read` returns is taken as it is (docs/formats.md).

        >>> index = Index.build([{"id": 1, "expr": "age >= 18"}, {"id": 2, "expr": "age <"}], on_error="skip")
        >>> len(index)
        1
        >>> index.faults[0].rule_id, index.faults[0].error.code
        (2, 'syntax')
        """
        check_choice("on_error", on_error, get_args(OnError))
        read_engine_options(engine, engine_options)
        schema = Schema() if schema is None else check_schema(schema)
        if progress is not None and not callable(progress):
            raise RuledexError(
                f"progress is a function of two numbers, the rules done and all rules, not {quoted(progress)}"
            )
        if (foreign := translate_rules(rules, format)) is not None:
            given = {} if definitions is None else check_definitions(definitions)
            rules, definitions = foreign.rows(), foreign.definitions | given
        read = read_given_rules(rules, columns)
        if definitions is not None:
            schema = schema.with_definitions(definitions)
        if read.definitions:
            schema = schema.with_definitions({name: row.text for name, row in read.definitions.items()})
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
        index: Index[Any] = Index(state, faults, None, MemoryHome())
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
    ) -> Index[Any]:
        """Open the index at a path or URL, at its current version unless one is given. Files are mapped, not read.

        The engine is the one that was saved; another engine is built from the stored rules, which takes a while. With
        `trust=False` only the rules are read, and compiled anew, once per host and content: whatever a stranger has
        written, an answer is what the rules say, or there is an ArtifactError. `trust=True` maps the files as they are.
        Unless given, an index is trusted if it is in a folder of this user's own (docs/using.md). `threads` share the
        work of a call that has many events, in the engines `auto` and `batch`.

        >>> _ = Index.build([(1, "age >= 18")]).save("rules.index")
        >>> Index.open("rules.index").match({"age": 20})
        [1]
        """
        options = OpenOptions(engine, trust, threads).check()
        if version is not None:
            return Index(open_state(locate(root), version, options), [], root, None, options)
        state, home = open_live(root, options)
        return Index(state, [], root, home, options)

    def save(self, root: RootLike) -> str:
        """Publish the index at a path or URL as the current version, in one atomic step. Returns the version's name.

        The index is compacted first. Changes that were made to the index at that path before are replaced too.

        >>> index = Index.build([(1, "age >= 18")])
        >>> index.save("rules.index") == index.version
        True
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

        >>> index = Index.build([(1, "age >= 18")])
        >>> _ = index.save("rules.index")
        >>> Index.open("rules.index").add([(2, "country = 'IN'")])  # in another process, say
        1
        >>> index.refresh(), len(index)
        (True, 2)
        """
        if self._root is None:
            raise RuledexError("this index was neither saved nor opened, so there is nothing to refresh it from")
        with self._writing:
            before, home = self._state, self._home
            try:
                if isinstance(home, JournalHome):
                    state = home.refresh(before) if home.is_own else None
                else:
                    state = before if current_version(self._root) == before.version else None
                if state is None:
                    state, self._home = open_live(self._root, self._options)
            except ArtifactError as error:
                kept = f"this index stays at version {before.version}"
                raise ArtifactError(f"the published version cannot be used, {kept}: {error}") from error
            self._state = state
            return state is not before

    def close(self) -> None:
        """Let go of files and memory. Any later question is an error. A `with` does this at its end.

        >>> with Index.build([(1, "a = 1")]) as index:
        ...     index.match({"a": 1})
        [1]
        """
        self._state = ClosedState()
        self._home = self._packed = self._folder = self._relaxed = None
        self._filtered = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Copies. A saved index travels as its path and version, another as its bytes.

    def __reduce__(self) -> tuple[Any, ...]:
        from ruledex.index.copies import pack_state, travelling_root

        state, root = self._state, self._root
        if root is not None and state.version is not None:
            by_path = (travelling_root(root), state.version, self._options, state.is_changed)
            return _open_copy, (*by_path, self.faults)
        if self._packed is None or self._packed[0] is not state:
            self._packed = state, pack_state(state, self._engine_options)
        return _unpack_copy, (self._packed[1], self._engine_options, self.faults)

    def __deepcopy__(self, memo: dict[int, Any]) -> Index[Id]:
        make, arguments = self.__reduce__()
        copied: Index[Id] = make(*arguments)
        return copied

    # Changing.

    def add(self, rules: Rules, *, columns: Columns | None = None, format: str | None = None) -> int:  # noqa: A002
        """Add rules with new ids, in any form that `build` accepts. Returns how many.

        Every invalid rule is reported in one `RulesError`, and then nothing is changed. If the index was opened or
        saved, the change is on disk when this returns. The same holds for all methods that change an index.

        >>> index = Index.build([(1, "a = 1")])
        >>> index.add([(2, "a > 0"), (3, "b = 1")])
        2
        >>> index.match({"a": 1})
        [1, 2]
        """
        return self._put(rules, columns, format, replace=False)

    def update(self, rules: Rules, *, columns: Columns | None = None, format: str | None = None) -> int:  # noqa: A002
        """Replace the rules of the same ids, and their static scores, in one step. Returns how many.

        A rule keeps its tags unless others are given; `{}` removes them.

        >>> index = Index.build([(1, "a = 1"), (2, "a = 2")])
        >>> index.update([(2, "a = 1")])
        1
        >>> index.match({"a": 1})
        [1, 2]
        """
        return self._put(rules, columns, format, replace=True)

    def upsert(self, rules: Rules, *, columns: Columns | None = None, format: str | None = None) -> int:  # noqa: A002
        """Replace the rules whose ids are known and add the others, in one step. Returns how many.

        >>> index = Index.build([(1, "a = 1"), (2, "a = 2")])
        >>> index.upsert([(2, "a > 1"), (3, "a > 2")])
        2
        >>> index.match({"a": 3})
        [2, 3]
        """
        return self._put(rules, columns, format, replace=None)

    def remove(self, ids: Iterable[RuleId]) -> int:
        """Remove rules. Returns how many. Every unknown id is reported in one error, and then nothing is changed.

        >>> index = Index.build([(1, "a = 1"), (2, "a > 0")])
        >>> index.remove([1])
        1
        >>> index.match({"a": 1})
        [2]
        """
        given = check_ids(ids)
        self._change(lambda state: remove_rules(state, given))
        return len(given)

    def set_score(self, rule_id: RuleId, score: float) -> None:
        """Change a rule's static score.

        >>> index = Index.build([(1, "a = 1", 0.5), (2, "a > 0", 0.7)])
        >>> index.set_score(1, 0.9)
        >>> index.top({"a": 1}, 1)
        [(1, 1.9)]
        """
        self._change(lambda state: set_score(state, rule_id, score))

    def define(self, name: str, text: str) -> int:
        """Give a name a condition, and change all rules that use the name, in one step. Returns how many it changed.

        A name that has a condition gets the new one instead. If a rule would become invalid, nothing is changed.

        >>> index = Index.build([(1, "@adults AND country = 'IN'")], definitions={"adults": "age >= 18"})
        >>> index.define("adults", "age >= 21")
        1
        >>> index.match({"age": 20, "country": "IN"})
        []
        """
        from ruledex.index.live.definitions import define

        users: list[int] = []

        def prepare(state: Snapshot) -> CheckedChange:
            checked = define(state, name, text)
            users.append(len(checked.change.put))
            return checked

        self._change(prepare)
        return users[-1]

    def undefine(self, name: str) -> None:
        """Remove a definition. If a rule or another definition uses it, this is an error that names the users.

        >>> index = Index.build([(1, "age >= 21")], definitions={"adults": "age >= 18"})
        >>> index.undefine("adults")
        >>> index.definitions
        {}
        """
        from ruledex.index.live.definitions import undefine

        self._change(lambda state: undefine(state, name))

    def compact(self, stats: Stats | None = None, *, engine_options: Mapping[str, Any] | None = None) -> str | None:
        """Build a new version from base and delta, and publish it as the current one, in one atomic step.

        Returns the version's name, or None if the index has not been saved. Meanwhile nobody waits, and changes that
        others make are kept. `stats` and `engine_options` are as in `build`; the options are those of the build unless
        given.

        >>> index = Index.build([(1, "a = 1")])
        >>> index.add([(2, "a = 2")])
        1
        >>> index.compact()
        >>> index.match({"a": 2})
        [2]
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

    def _put(self, rules: Rules, columns: Columns | None, format: str | None, *, replace: bool | None) -> int:  # noqa: A002
        plain = plain_rule_of(rules) if columns is None and format is None else None
        if plain is None:
            read = read_given_rules(translate_rows(rules, format), columns)
            self._change(lambda state: put_rules(state, read, replace=replace))
            return len(read.ids)

        def prepare(state: Snapshot) -> CheckedChange:
            checked = put_plain_rule(state, plain, replace=replace)
            return put_rules(state, read_given_rules(rules, columns), replace=replace) if checked is None else checked

        self._change(prepare)
        return 1

    def _change(self, prepare: Prepare) -> None:
        self._waiting.change(prepare, self._make_changes)

    def _make_changes(self, prepares: Sequence[Prepare]) -> Sequence[Exception | None]:
        """Replace the snapshot by one with changes. Returns for each why it was refused, or None."""
        self._state, refusals = self._changeable().change(self._state, prepares)
        return refusals

    def _changeable(self) -> Home:
        if self._home is not None:
            return self._home
        how = f"it was opened from a URL, or at the fixed version {self.version}"
        raise RuledexError(f"this index cannot be changed: {how}; open a local folder without a version")


def _open_copy(root: str, version: str, options: OpenOptions, is_changed: bool, faults: list[RuleFault]) -> Index[Any]:
    """Open the copy of a saved index: its version or, if it had been changed since, what is at its path now."""
    from ruledex.index.copies import reopen_state

    if not is_changed:
        return Index(reopen_state(root, version, options), faults, root, None, options)
    state, home = open_live(root, options)
    return Index(state, faults, root, home, options)


def _unpack_copy(packed: PackedIndex, options: Mapping[str, Any] | None, faults: list[RuleFault]) -> Index[Any]:
    """Open the copy of an index that was not saved."""
    from ruledex.index.copies import unpack_state

    state, folder = unpack_state(packed)
    index: Index[Any] = Index(state, faults, None, MemoryHome())
    index._engine_options, index._folder = options, folder
    return index

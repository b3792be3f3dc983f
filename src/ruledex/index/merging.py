"""Merges the rules of several indexes to one index, so that each rule means what it meant before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ruledex.errors import RuledexError, RulesError, SchemaError, quoted
from ruledex.index.build import all_rules, build_program, state_of_rules
from ruledex.index.checks import IndexChecks
from ruledex.index.identities import Id
from ruledex.index.inputs import Stats, check_choice
from ruledex.index.live.state import LiveState
from ruledex.index.rules import RuleColumns
from ruledex.index.state import BuiltState, Snapshot
from ruledex.language.definitions import shown_name
from ruledex.language.schema import AttributeType, Schema, check_schema, read_path

if TYPE_CHECKING:
    from ruledex.index.index import Index

OnConflict = Literal["raise", "first", "last"]
_MOST_NAMED: Final = 5
_ANYTHING: Final = AttributeType()  # the same as not to be declared


class MergeableIndex(IndexChecks[Id]):
    """An index that can be merged with others."""

    @staticmethod
    def merge(
        indexes: Iterable[Index[Any]],
        *,
        prefix: Sequence[str] | None = None,
        on_conflict: OnConflict = "raise",
        engine: str | None = None,
        stats: Stats | None = None,
        schema: Schema | None = None,
        engine_options: Mapping[str, Any] | None = None,
    ) -> Index[Any]:
        """Build one index of the rules of several, with their static scores, tags and definitions.

        An id that several indexes have is an error, unless `on_conflict` says which rule to keep, "first" or "last", or
        `prefix` has a text for each index that is put before its ids. The engine is that of the first index; `stats`
        and `engine_options` are as in `build`. Indexes that define a name differently, or declare an attribute that
        another one uses as undeclared, cannot be merged, as a rule would change its meaning. If a `schema` is given,
        all rules are read by it instead.

        >>> first = Index.build([(1, "@adults AND country = 'IN'")], definitions={"adults": "age >= 18"})
        >>> second = Index.build([(1, "age >= 21", 0.5)])
        >>> list(Index.merge([first, second], prefix=["a-", "b-"]))
        [('a-1', "@adults AND country = 'IN'"), ('b-1', 'age >= 21')]
        >>> Index.merge([first, second], on_conflict="last").rule(1)
        Rule(id=1, text='age >= 21', static_score=0.5)
        """
        from ruledex.index.index import Index
        from ruledex.index.live.home import MemoryHome

        given = _check_indexes(indexes)
        check_choice("on_conflict", on_conflict, get_args(OnConflict))
        prefixes = None if prefix is None else _check_prefixes(prefix, len(given))
        parts = [NamedPart(_name(index, number), index._state) for number, index in enumerate(given, 1)]
        if engine is None:
            engine = given[0].engine
            engine_options = given[0]._engine_options if engine_options is None else engine_options
        wanted = None if schema is None else check_schema(schema)
        state = merge_snapshots(parts, prefixes, on_conflict, engine, stats, wanted, engine_options)
        merged: Index[Any] = Index(state, [], None, MemoryHome())
        merged._engine_options = engine_options
        return merged


class NamedPart(NamedTuple):
    """One of the indexes that are merged, and what messages call it."""

    name: str
    state: Snapshot


def _check_indexes(indexes: Any) -> list[Any]:
    from ruledex.index.index import Index

    if isinstance(indexes, Index) or not isinstance(indexes, Iterable) or isinstance(indexes, str | bytes):
        raise RuledexError(f"merge takes a list of indexes, not {quoted(indexes)}")
    given = list(indexes)
    for each in given:
        if not isinstance(each, Index):
            raise RuledexError(f"merge takes a list of indexes, and this is none: {quoted(each)}")
    if not given:
        raise RuledexError("merge takes at least one index")
    return given


def _check_prefixes(prefix: Any, n_indexes: int) -> list[str]:
    is_fit = isinstance(prefix, list | tuple) and len(prefix) == n_indexes
    if not is_fit or not all(isinstance(text, str) and _is_unicode(text) for text in prefix):
        raise RuledexError(f"prefix is a list of {n_indexes} texts, one per index, not {quoted(prefix)}")
    return list(prefix)


def _is_unicode(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text


def _name(index: Any, number: int) -> str:
    return f"index {number}" if index._root is None else str(index._root)


def merge_snapshots(
    parts: list[NamedPart],
    prefixes: list[str] | None,
    on_conflict: OnConflict,
    engine: str,
    stats: Stats | None,
    schema: Schema | None,
    options: Mapping[str, Any] | None,
) -> BuiltState:
    """Build the rules of several snapshots as one state."""
    merged = _merged_schema(parts, schema)
    read = _merged_rules(parts, prefixes, on_conflict)
    built = build_program(read.texts, read.scores, merged)
    if built.faults:
        raise RulesError([read.fault(at, error) for at, error in built.faults], len(read.ids))
    return state_of_rules(read, built, engine, stats, options)


# The rules.


def _merged_rules(parts: list[NamedPart], prefixes: list[str] | None, on_conflict: OnConflict) -> RuleColumns:
    """Return the rules of all parts, ascending by id."""
    columns = [all_rules(LiveState.of(part.state)) for part in parts]
    if prefixes is not None:
        columns = [read._replace(ids=_prefixed(read.ids, text)) for read, text in zip(columns, prefixes, strict=True)]
    filled = [(part, read) for part, read in zip(parts, columns, strict=True) if len(read.ids)]
    for part, read in filled[1:]:
        if read.ids.type != filled[0][1].ids.type:
            kinds = f"the ids of {filled[0][0].name} and of {part.name} are not of one type"
            raise RuledexError(f"{kinds}: give a prefix for each index, so that all ids are strings")
    if not filled:
        return columns[0]
    number = np.repeat(np.arange(len(filled)), [len(read.ids) for _, read in filled])
    ids = pa.concat_arrays([read.ids for _, read in filled])
    # Ids of one index differ, so those of several are a run of equal ids here, in the order of the indexes.
    order = np.array(pc.sort_indices(pa.table({"id": ids, "at": number}), [("id", "ascending"), ("at", "ascending")]))
    ids = ids.take(pa.array(order))
    is_same = np.array(pc.equal(ids[:-1], ids[1:]), np.bool_)
    if is_same.any() and on_conflict == "raise":
        raise _conflict(ids, number[order], is_same, [part.name for part, _ in filled])
    is_kept = np.append(~is_same, True) if on_conflict == "last" else np.insert(~is_same, 0, True)
    rows = pa.array(order[is_kept])
    scores = np.concatenate([read.scores for _, read in filled])[order[is_kept]]
    return RuleColumns(
        ids=ids.filter(pa.array(is_kept)),
        texts=pa.concat_arrays([read.texts.cast(pa.large_string()) for _, read in filled]).take(rows),
        scores=scores,
        lines=np.zeros(len(scores), np.int64),
        faults=[],
        tags=_joined([read.tags for _, read in filled], number, rows),
        originals=_joined([read.originals for _, read in filled], number, rows),
    )


def _prefixed(ids: pa.Array, prefix: str) -> pa.Array:
    before, nothing = pa.scalar(prefix, pa.large_string()), pa.scalar("", pa.large_string())
    return pc.binary_join_element_wise(before, ids.cast(pa.large_string()), nothing)


def _joined(columns: list[pa.Array | None], number: Any, rows: pa.Array) -> pa.Array | None:
    """Return a column of all parts, some of which may lack it; None if all do."""
    if all(column is None for column in columns):
        return None
    lengths = np.bincount(number, minlength=len(columns)).tolist()
    filled = [
        pa.nulls(length, pa.large_string()) if column is None else column.cast(pa.large_string())
        for column, length in zip(columns, lengths, strict=True)
    ]
    return pa.concat_arrays(filled).take(rows)


def _conflict(ids: pa.Array, number: Any, is_same: Any, names: list[str]) -> RuledexError:
    at = np.flatnonzero(is_same)
    shown = [
        f"{quoted(ids[int(i)].as_py())} in {names[number[i]]} and {names[number[i + 1]]}" for i in at[:_MOST_NAMED]
    ]
    more = f" and {len(at) - _MOST_NAMED:,} more" if len(at) > _MOST_NAMED else ""
    advice = 'give a prefix for each index, or on_conflict="first" or "last"'
    return RuledexError(f"several indexes have rules of the same ids: {'; '.join(shown)}{more}; {advice}")


# The schema.


def _merged_schema(parts: list[NamedPart], schema: Schema | None) -> Schema:
    """Return a schema under which every rule means what it meant, or the given one, with all definitions."""
    definitions: dict[str, tuple[str, str]] = {}  # text and the name of an index, by name
    for part in parts:
        for name, text in part.state.schema.definitions.items():
            known, where = definitions.setdefault(name, (text, part.name))
            if known != text:
                both = f"`{known}` in {where} and `{text}` in {part.name}"
                raise SchemaError(f"{shown_name(name)} is defined as {both}: give one of them another name")
    texts = {name: text for name, (text, _) in definitions.items()}
    if schema is not None:
        return schema.with_definitions(texts)
    first = parts[0]
    attributes: dict[str, AttributeType] = {}
    for part in parts:
        if part.state.schema.time_zone != first.state.schema.time_zone:
            zones = f"{first.state.schema.time_zone} in {first.name} and {part.state.schema.time_zone} in {part.name}"
            raise SchemaError(f"the time zone is {zones}: give a schema for all rules")
        if part.state.schema.null_columns != first.state.schema.null_columns:
            raise SchemaError("nulls in columns are present in one index and absent in another: give a schema for all")
        attributes = {**part.state.schema.attributes, **attributes}
    for name, kind in attributes.items():
        for part in parts:
            own = part.state.schema.attributes.get(name, _ANYTHING)
            if own != kind and (name in part.state.schema.attributes or _uses(part.state, read_path(name))):
                other = next(p for p in parts if p.state.schema.attributes.get(name) == kind)
                both = f"{_described(kind)} in {other.name} and {_described(own)} in {part.name}"
                raise SchemaError(f"{name} is {both}: give a schema for all rules")
    return replace(first.state.schema, attributes=attributes, definitions={}).with_definitions(texts)


def _described(kind: AttributeType) -> str:
    if kind == _ANYTHING:
        return "not declared"
    return f"declared as {'single ' if kind.single else ''}{kind.type}"


def _uses(state: Snapshot, path: tuple[str, ...]) -> bool:
    """Return whether rules of a snapshot look at a path, at one above it, or at one below it."""
    used = {used for dictionary in state.dictionaries for used in dictionary.used_paths}
    return any(one and path[: len(one)] == one[: len(path)] for one in used)

"""The tags of rules: what users say about a rule rather than about events, such as its tenant or how long it is valid.

Tags are an event that describes the rule, so that a filter over them is a rule of the same language. They are kept as
canonical JSON, one text per rule, so that equal tags are equal texts and each distinct text is read once. What JSON
lacks is an object with one key, which may also be given so:

    {"$date": "2026-12-31"}    {"$timestamp": "2026-12-31T12:00:00+00:00"}    {"$decimal": "9.90"}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from ruledex import limits
from ruledex.errors import ArtifactError, InputError, RuleError, quoted
from ruledex.forks import cached_property
from ruledex.language.plain import is_record, plain, type_name
from ruledex.language.value import INT64_MAX, INT64_MIN

Tags: TypeAlias = dict[str, Any]

NO_TAGS: Final = "{}"
_DEEPEST: Final = 16  # levels of objects and lists
_WHAT: Final = "tags are a mapping of names to values, or JSON of one"


# One rule's tags.


def tags_text(given: Any) -> str | None:
    """Return given tags as canonical JSON, or None if none are given. Raises a RuleError if they are not valid."""
    if given is None:
        return None
    if isinstance(given, str | bytes):
        given = _parsed(given)
    try:
        text = orjson.dumps(json_tags(given), option=orjson.OPT_SORT_KEYS).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise RuleError(f"these tags cannot be written as JSON: {error}") from None
    most = limits.current().rule_characters
    if len(text) > most:
        raise RuleError(f"these tags have {len(text):,} characters, over the limit rule_characters of {most:,}")
    return text


def json_tags(given: Any) -> Tags:
    """Return tags as JSON has them, missing ones left out. Raises a RuleError if they are not valid."""
    if type(given) is not dict and not is_record(given):
        raise RuleError(f"{_WHAT}, not {quoted(given)}")
    found: Tags = _encoded(given, "", 0)
    return found


def read_json_tags(given: Mapping[str, Any]) -> Tags:
    """Return tags that are given as JSON has them, as `json_tags` writes them."""
    return {name: _decoded(value) for name, value in given.items()}


def tags_of(text: str | None) -> Tags:
    """Return the tags that a canonical text holds."""
    if text is None or text == NO_TAGS:
        return {}
    try:
        return read_json_tags(orjson.loads(text))
    except (ValueError, TypeError, AttributeError, InvalidOperation, RecursionError) as error:
        raise ArtifactError(f"the stored tags {quoted(text)} are damaged: {error}") from None


def _parsed(text: str | bytes) -> Any:
    try:
        return orjson.loads(text)
    except ValueError as error:
        raise RuleError(f"{_WHAT}; this is not JSON: {error}") from None


def _encoded(value: Any, path: str, depth: int) -> Any:
    """Return a value as JSON has it."""
    if type(value) is str or type(value) is bool or value is None:  # most are
        return value
    value = plain(value)
    if depth > _DEEPEST:
        raise RuleError(f"the tag {quoted(path)} is nested deeper than {_DEEPEST} levels")
    if isinstance(value, Mapping):
        if depth and len(value) == 1 and (typed := next(iter(value))) in _TYPED:
            return _encoded(_typed_value(typed, value[typed], path), path, depth)
        found = {}
        for name, inner in value.items():
            if not isinstance(name, str) or not name or name.startswith("$"):
                raise RuleError(f"the name of a tag is a text that does not begin with $, not {quoted(name)}")
            encoded = _encoded(inner, f"{path}.{name}" if path else name, depth + 1)
            if encoded is not None:  # as an attribute that is missing
                found[name] = encoded
        return found
    if isinstance(value, list | tuple):
        return [_encoded(inner, path, depth + 1) for inner in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if INT64_MIN <= value <= INT64_MAX:
            return value
        raise RuleError(f"the tag {quoted(path)} is an integer of more than 64 bits")
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            raise RuleError(f"the tag {quoted(path)} is {value}; a number is finite")
        return value if isinstance(value, float) else {"$decimal": str(value)}
    if isinstance(value, datetime):
        return {"$timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    kind = type_name(type(getattr(value, "value", value)))
    allowed = "a boolean, a number, a text, a date, a time, a list or a mapping of these"
    raise RuleError(f"the tag {quoted(path)} is of the type {kind}; a tag is {allowed}")


_TYPED: Final[dict[str, Callable[[str], Any]]] = {
    "$date": date.fromisoformat,
    "$timestamp": datetime.fromisoformat,
    "$decimal": Decimal,
}
_EXAMPLES: Final = {
    "$date": '{"$date": "2026-12-31"}',
    "$timestamp": '{"$timestamp": "2026-12-31T12:00:00Z"}',
    "$decimal": '{"$decimal": "9.90"}',
}


def _typed_value(name: str, given: Any, path: str) -> Any:
    """Return the value that an object such as `{"$date": "2026-12-31"}` stands for."""
    try:
        if isinstance(given, str):
            return _TYPED[name](given)
    except (ValueError, InvalidOperation):
        pass
    raise RuleError(f"the tag {quoted(path)} has the {name} {quoted(given)}; write {_EXAMPLES[name]}")


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value) == 1:
            ((name, inner),) = value.items()
            if name in _TYPED:
                return _TYPED[name](inner)
        return {name: _decoded(inner) for name, inner in value.items()}
    return [_decoded(inner) for inner in value] if isinstance(value, list) else value


# Columns of tags.


def tag_texts(given: Sequence[Any]) -> tuple[list[str | None], list[tuple[int, RuleError]]]:
    """Return tags as canonical JSON, and what is wrong with some of them, by row."""
    texts: list[str | None] = []
    faults: list[tuple[int, RuleError]] = []
    for row, tags in enumerate(given):
        try:
            texts.append(tags_text(tags))
        except RuleError as error:
            texts.append(None)
            faults.append((row, error))
    return texts, faults


def column_texts(column: pa.ChunkedArray, name: str) -> tuple[pa.Array, list[tuple[int, RuleError]]]:
    """Return a column of tags as canonical JSON, and what is wrong with some rows: structs, maps, or JSON as text."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.large_string()), []
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (is_text or pa.types.is_struct(kind) or pa.types.is_map(kind)):
        raise InputError(f"{name} holds {column.type}; {_WHAT}")
    if is_text:
        # Rules share their tags, so each distinct text is read once.
        encoded = column.combine_chunks().cast(pa.large_string()).dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        texts, bad = tag_texts(encoded.dictionary.to_pylist())
        if bad:
            errors = dict(bad)
            codes = encoded.indices.to_pylist()
            faults = [(row, errors[code]) for row, code in enumerate(codes) if code in errors]
        else:
            faults = []
        return pa.array(texts, pa.large_string()).take(encoded.indices), faults
    rows = column.to_pylist(maps_as_pydicts="lossy")
    found, faults = tag_texts(rows)
    return pa.array(found, pa.large_string()), faults


class TagSets:
    """The tags of rules by position: which of the distinct texts each rule has."""

    def __init__(self, codes: NDArray[np.int32] | None, texts: list[str]) -> None:
        self.codes = codes  # None if no rule has tags
        self.texts = texts

    @staticmethod
    def of(texts: pa.Array | None) -> TagSets:
        """Return the sets of canonical texts, null for rules without tags."""
        if texts is None or texts.null_count == len(texts):
            return TagSets(None, [])
        encoded = texts.fill_null(NO_TAGS).dictionary_encode()
        return TagSets(np.array(encoded.indices, np.int32), encoded.dictionary.to_pylist())

    @cached_property
    def rows(self) -> list[Tags]:
        """The distinct tags."""
        return [tags_of(text) for text in self.texts]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all tags."""
        return frozenset().union(*self.rows)

    @cached_property
    def _columns(self) -> dict[str, pa.Array | None]:
        return {}

    def table(self, names: Sequence[str]) -> pa.Table | None:
        """Return some of the tags as columns, or None if a tag has values of several types or none of a column's."""
        found = {name: self._column(name) for name in names}
        return None if None in found.values() else pa.table(found)

    def _column(self, name: str) -> pa.Array | None:
        if name not in self._columns:
            self._columns[name] = _column_of([row.get(name) for row in self.rows])
        return self._columns[name]


_COLUMN_TYPES: Final[dict[type, pa.DataType]] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.large_string(),
    date: pa.date32(),
}


def _column_of(values: list[Any]) -> pa.Array | None:
    """Return values of one type as a column, or None if there is no such column."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {datetime}:
        zoned = {value.tzinfo is not None for value in values if value is not None}
        return None if len(zoned) > 1 else pa.array(values, pa.timestamp("us", "UTC" if zoned == {True} else None))
    if len(kinds) > 1 or not kinds <= _COLUMN_TYPES.keys():
        return None
    return pa.array(values, _COLUMN_TYPES[kinds.pop()] if kinds else pa.null())


class RuleTags:
    """The tags of all rules of a version, read at the first question about them."""

    def __init__(self, read: Callable[[], pa.Array | None]) -> None:
        self._read = read

    @cached_property
    def sets(self) -> TagSets:
        """The distinct tags, and which of them each rule has."""
        return TagSets.of(self._read())

    def text(self, position: int) -> str | None:
        """Return the tags of a rule as canonical JSON, or None if it has none."""
        sets = self.sets
        found = None if sets.codes is None else sets.texts[sets.codes[position]]
        return None if found == NO_TAGS else found

    def to_arrow(self) -> pa.Array | None:
        """Return the tags of all rules as canonical JSON, null for rules without tags; None if no rule has any."""
        sets = self.sets
        if sets.codes is None:
            return None
        texts = pa.array([None if text == NO_TAGS else text for text in sets.texts], pa.large_string())
        return texts.take(pa.array(sets.codes))


def tags_in_memory(texts: pa.Array | None) -> RuleTags:
    """Return the tags of canonical texts, null for rules without tags."""
    return RuleTags(lambda: texts)


UNTAGGED: Final = tags_in_memory(None)

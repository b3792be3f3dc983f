"""Fields of an Elasticsearch index: what a mapping says of them, and which operands, constants and words they become.

The analyser of full-text queries makes words of a text. A word is a longest run of letters, marks, digits and
underscores, in lower case, as `str.lower` and Unicode's categories say. All other characters separate words.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from ruledex.errors import InputError, RuleSyntaxError, RuleTypeError, quoted
from ruledex.formats.conditions import number, string
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.tree import Attribute, Call, Expression, Operand, Rlike, Value
from ruledex.language.value import INT64_MAX, INT64_MIN
from ruledex.language.value_types import Network

_CHARACTER: Final = r"[\p{L}\p{M}\p{N}_]"
_OTHER: Final = r"[^\p{L}\p{M}\p{N}_]"
ONE: Final = "\ue001"  # the part of a pattern that stands for one character
_START: Final = f"(?:^|{_OTHER})"
_END: Final = f"(?:{_OTHER}|$)"


def words_of(text: str) -> list[str]:
    """Return the words of a text, in their order."""
    return ["".join(run) for is_word, run in groupby(text.lower(), _is_of_word) if is_word]


def _is_of_word(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LMN"


def has_word(operand: Operand, words: Iterable[str]) -> Expression:
    """Return that a text has one of some words."""
    given = list(words)
    return _found(operand, _START + (given[0] if len(given) == 1 else f"(?:{'|'.join(given)})") + _END)


def has_phrase(operand: Operand, words: list[str], is_prefix: bool = False) -> Expression:
    """Return that a text has words behind each other. Of a prefix, the last word is only a beginning."""
    return _found(operand, _START + f"{_OTHER}+".join(words) + ("" if is_prefix else _END))


def has_word_like(operand: Operand, pattern: list[str | None]) -> Expression:
    """Return that a text has a word of a pattern: texts, None for any characters, and ONE for one."""
    made = "".join(f"{_CHARACTER}*" if part is None else _CHARACTER if part == ONE else part for part in pattern)
    return _found(operand, _START + made + _END)


def _found(operand: Operand, pattern: str) -> Expression:
    return Rlike(Call("lower", (operand,)), pattern)


KINDS: Final = {
    **dict.fromkeys(("keyword", "constant_keyword", "wildcard", "flattened"), "keyword"),
    **dict.fromkeys(("text", "match_only_text", "search_as_you_type"), "text"),
    **dict.fromkeys(("long", "integer", "short", "byte", "unsigned_long"), "integer"),
    **dict.fromkeys(("double", "float", "half_float", "scaled_float"), "number"),
    **dict.fromkeys(("date", "date_nanos"), "date"),
    "boolean": "boolean",
    "ip": "ip",
    "nested": "nested",
    "object": "object",
    "version": "version",
}
_SUBFIELD: Final = "keyword"  # what dynamic mapping calls the exact form of a text
_ISO_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}.*)?", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class FieldTypes:
    """The types of fields by name, and the names of date formats. `kind` is one of the values of KINDS."""

    kinds: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any] | str | None) -> FieldTypes:
        """Read a mapping of names to types, a mapping as Elasticsearch shows it, or a file that has one of them."""
        found = cls()
        if given is None:
            return found
        if isinstance(given, str):
            try:
                given = orjson.loads(Path(given).read_bytes())
            except (OSError, ValueError) as error:
                raise InputError(f"{given}: {error}") from None
        if not isinstance(given, Mapping):
            raise InputError(f"a mapping is an object of names and types of fields, not {quoted(given)}")
        while "properties" not in given:  # within the name of the index and `mappings`
            inner = [part for part in given.values() if isinstance(part, Mapping)]
            if len(given) != 1 or not inner or not ({"mappings", "properties"} & {*given, *inner[0]}):
                break
            given = inner[0]
        for name, kind, about in _declared(given.get("properties", given), ""):
            if kind == "alias":
                found.aliases[name] = str(about.get("path"))
                continue
            if not isinstance(kind, str):
                raise InputError(f"the type of {quoted(name)} is a string, not {quoted(kind)}")
            found.kinds[name] = KINDS.get(kind, kind)
            if "format" in about:
                found.formats[name] = str(about["format"])
        return found

    def kind(self, name: str) -> str | None:
        """Return the kind of a field, or None if the mapping does not name it."""
        return self.kinds.get(name)

    def fields_of(self, name: str) -> list[tuple[str, ...]]:
        """Return the paths from an object to the fields in it, without those of nested objects."""
        start = f"{name}."
        nested = [f"{inner}." for inner, kind in self.kinds.items() if kind == "nested" and inner.startswith(start)]
        return [
            tuple(inner.removeprefix(start).split("."))
            for inner, kind in self.kinds.items()
            if inner.startswith(start)
            and "\0" not in inner
            and kind not in ("object", "nested")
            and not inner.startswith(tuple(nested))
        ]


def _declared(properties: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    if not isinstance(properties, Mapping):
        raise InputError(f"properties are an object of fields, not {quoted(properties)}")
    for name, about in properties.items():
        full = f"{prefix}{name}"
        if not isinstance(about, Mapping):
            yield full, about, {}
            continue
        yield full, about.get("type", "object"), about
        yield from _declared(about.get("properties", {}), f"{full}.")
        yield from _declared(about.get("fields", {}), f"{full}.\0")  # of the same value, so no step of the path


class Nested(NamedTuple):
    """The nested objects that a query is about: their path, and the variable that stands for one of them."""

    path: tuple[str, ...]
    variable: str


class Field(NamedTuple):
    """A field that a query names. `kind` is None if no mapping says it."""

    name: str
    operand: Attribute
    kind: str | None
    date_format: str | None


class NotVisibleError(RuleTypeError):
    """A query names a field that lies outside of the nested objects that it is about, or inside of others."""


def resolve_field(types: FieldTypes, name: Any, scope: Nested | None, place: Place) -> Field:
    """Return the field of a name. Raises NotVisibleError if Elasticsearch does not see it from here."""
    given = string(name, place, "the name of a field")
    given = types.aliases.get(given, given)
    if "*" in given:
        raise RuleSyntaxError(f"{place}: a name with a star stands for several fields, which cannot be said here")
    kind, path = types.kind(given), given.split(".")
    if not all(path):
        raise RuleSyntaxError(f"{place}: a name between two dots is empty")
    if kind is None and len(path) > 1:
        parent, _, last = given.rpartition(".")
        subfield = types.kind(f"{parent}.\0{last}")
        if subfield is not None or (last == _SUBFIELD and types.kind(parent) not in ("object", "nested")):
            kind, path = subfield or "keyword", path[:-1]
    start = scope.path if scope else ()
    if tuple(path[: len(start)]) != start:
        raise NotVisibleError(f"{place}: {given} is no field of the nested {'.'.join(start)}, and never matches there")
    for end in range(len(start) + 1, len(path) + 1):
        if types.kind(".".join(path[:end])) == "nested":
            outer = ".".join(path[:end])
            raise NotVisibleError(f"{place}: {given} matches only in a nested query of the path {outer}")
    steps = (scope.variable, *path[len(start) :]) if scope else tuple(path)
    return Field(given, Attribute(steps), kind, types.formats.get(given))


# Constants.


def field_constant(given: Any, found: Field, place: Place) -> Value | None:
    """Return a value of a query as a constant of the field's type, or None if the field never has such a value."""
    if given is None or isinstance(given, list | Mapping):
        raise RuleSyntaxError(f"{place}: a value is a string, a number or a boolean, not {json_text(given)}")
    match found.kind:
        case None:
            return given if isinstance(given, bool) else _plain(given, place)
        case "keyword" | "text" | "version":
            return string(_text(given), place, "a value")
        case "integer":
            return _whole(_number(given, place), place)
        case "number":
            return float(_number(given, place))
        case "boolean":
            if given in (True, "true") or given in (False, "false", ""):
                return given in (True, "true")
            raise RuleTypeError(f"{place}: {found.name} is true or false, not {json_text(given)}")
        case "ip":
            try:
                return Network(string(given, place, "an address"))
            except ValueError as error:
                raise RuleTypeError(f"{place}: {error}") from None
    raise RuleTypeError(f"{place}: {found.name} is of type {found.kind}, which cannot be compared here")


def _plain(given: Any, place: Place) -> Value:
    return string(given, place, "a value") if isinstance(given, str) else number(given, place, "a value")


def _text(given: Any) -> Any:
    return given if isinstance(given, str) else orjson.dumps(given).decode()


def _number(given: Any, place: Place) -> int | float:
    if isinstance(given, str):
        try:
            given = int(given) if _INTEGER.fullmatch(given) else float(given)
        except ValueError:
            raise RuleTypeError(f"{place}: {quoted(given)} is not a number, as the mapping says it is") from None
    return number(given, place, "a value")


def _whole(given: int | float, place: Place) -> int | None:
    if math.floor(given) != given:
        return None
    if not INT64_MIN <= given <= INT64_MAX:
        raise RuleTypeError(f"{place}: {given} is beyond 64 bits")
    return int(given)


def is_date(found: Field, values: list[Any], has_format: bool) -> bool:
    """Return whether a range is one of dates: by the mapping, or else by how its bounds are written."""
    if found.kind is not None:
        return found.kind == "date"
    texts = [value for value in values if isinstance(value, str)]
    looks_so = (text.startswith("now") or "||" in text or _ISO_DATE.fullmatch(text) for text in texts)
    return len(texts) == len(values) and (has_format or any(looks_so))

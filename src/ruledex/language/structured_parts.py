"""The small parts of structured rules: constants in both directions, places in a document, and fields of objects."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ruledex.errors import RuleError, RuleSyntaxError, RuleTypeError, did_you_mean, quoted
from ruledex.language import build
from ruledex.language.build import MAX_WEIGHT, Constant
from ruledex.language.scanner import read_number
from ruledex.language.time_syntax import interval_text, moment_text
from ruledex.language.tree import Value
from ruledex.language.value import INT64_MAX, INT64_MIN
from ruledex.language.value_types import Interval, MavenVersion, Moment, Network, Version

Json: TypeAlias = Any  # None, bool, int, float, str, or a list or dict of such
_Made = TypeVar("_Made")

_INFINITIES: Final = {"Infinity": math.inf, "-Infinity": -math.inf}
_DECIMAL: Final = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,17})?", re.ASCII)


class Place(NamedTuple):
    """Where a value is in the document, as a chain to the root. It is written out only for an error."""

    parent: Place | None = None
    step: str | int = "$"

    def __str__(self) -> str:
        steps = []
        place: Place | None = self
        while place is not None:
            steps.append(f"[{place.step}]" if isinstance(place.step, int) else f".{place.step}")
            place = place.parent
        return "".join(reversed(steps)).removeprefix(".")


def placed(place: Place, make: Callable[..., _Made], *arguments: object) -> _Made:
    """Return what a constructor makes of arguments. Constructors do not know JSON; this adds the path to errors."""
    try:
        return make(*arguments)
    except RuleError as error:
        raise type(error)(f"{place}: {error.message}", hint=error.hint) from None


# Constants.


def constant_out(value: Value) -> Json:
    """Return a constant as JSON: as it is if JSON has its type, else as an object that names the type."""
    match value:
        case bool() | int() | str():
            return value
        case Decimal():
            return {"decimal": str(value)}
        case float():
            return {"double": value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"}
        case datetime():
            return {"timestamp": value.isoformat(sep=" ")}
        case date():
            return {"date": value.isoformat()}
        case MavenVersion():
            return {"maven_version": value.text}
        case Version():
            return {"version": value.text}
        case Network():
            return {"network": value.text}
        case Interval():
            return {"interval": interval_text(value).removeprefix("INTERVAL ")}
        case Moment():
            return {"moment": moment_text(value)}


def constant_in(document: Json, place: Place) -> Constant:
    """Return the constant of a JSON value. null is NULL."""
    return Constant(_value(document, place), 1.0, False, 0)


def _value(document: Json, place: Place) -> Value | None:
    if document is None or isinstance(document, bool):
        return document
    if isinstance(document, str):
        return _text(document, place)
    if isinstance(document, int):
        if not INT64_MIN <= document <= INT64_MAX:
            raise RuleSyntaxError(f"{place}: this integer does not fit 64 bits", hint='write {"decimal": "…"}')
        return document
    if isinstance(document, float):
        hint = f'write {{"double": {document!r}}} or {{"decimal": "{document!r}"}}'
        raise RuleSyntaxError(f"{place}: a number with a fraction must name its type", hint=hint)
    if isinstance(document, Mapping) and len(document) == 1:
        ((kind, content),) = document.items()
        read = _TYPED.get(kind) if isinstance(kind, str) else None
        if read is not None:
            return read(content, Place(place, kind))
    kinds = ", ".join(_TYPED)
    raise RuleSyntaxError(
        f"{place}: this is not a constant: {json_text(document)}", hint=f"an object has one key: {kinds}"
    )


def _text(document: Json, place: Place) -> str:
    if not isinstance(document, str):
        raise RuleSyntaxError(f"{place}: expected a string, not {json_text(document)}")
    if not document.isascii():
        try:
            document.encode("utf-8")
        except UnicodeEncodeError:
            raise RuleSyntaxError(f"{place}: this string has half of a surrogate pair") from None
    return document


def _decimal(content: Json, place: Place) -> Decimal:
    match = _DECIMAL.fullmatch(_text(content, place))
    if match is None:
        raise RuleSyntaxError(f"{place}: {quoted(content)} is not a decimal such as 1.50")
    sign, digits, exponent = match.groups()
    number = placed(place, read_number, f"{digits}{exponent or ''}BD", "", 0)
    assert isinstance(number, Decimal)
    return number.copy_negate() if sign == "-" else number


def _double(content: Json, place: Place) -> float:
    if isinstance(content, str) and content in _INFINITIES:
        return _INFINITIES[content]
    if isinstance(content, bool) or not isinstance(content, int | float):
        raise RuleSyntaxError(f"{place}: a double is a number, not {json_text(content)}")
    try:
        number = float(content)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RuleSyntaxError(f"{place}: this number is not a finite double")
    return number


def _time(kind: str) -> Callable[[Json, Place], Value]:
    return lambda content, place: placed(place, build.time_literal, kind, _text(content, place), "", 0)


def _by(read: Callable[[str], Value]) -> Callable[[Json, Place], Value]:
    def typed(content: Json, place: Place) -> Value:
        try:
            return read(_text(content, place))
        except ValueError as error:
            raise RuleTypeError(f"{place}: {error}") from None

    return typed


def _time_item(text: str, kind: type[Interval | Moment], place: Place) -> Value:
    """Return an interval, or now plus or minus intervals, as they are written in rules."""
    item = placed(place, _read_item, text)
    value = getattr(item, "value", None)
    if not isinstance(value, kind) or getattr(item, "weighted", True):
        example = "now() - INTERVAL '1' DAY" if kind is Moment else "'1' DAY"
        raise RuleSyntaxError(f"{place}: {quoted(text)} is not {_NAMES[kind]}", hint=f"such as {example}")
    return value


def _read_item(text: str) -> object:
    from ruledex.language.parser import parse_item

    return parse_item(text)


_NAMES: Final = {Interval: "an interval", Moment: "a moment counted from now"}
_TYPED: Final[dict[str, Callable[[Json, Place], Value]]] = {
    "decimal": _decimal,
    "double": _double,
    "date": _time("DATE"),
    "timestamp": _time("TIMESTAMP"),
    "version": _by(Version),
    "maven_version": _by(MavenVersion),
    "network": _by(Network),
    "interval": lambda content, place: _time_item(f"INTERVAL {_text(content, place)}", Interval, place),
    "moment": lambda content, place: _time_item(_text(content, place), Moment, place),
}


# Fields of objects.


def check_fields(
    document: Mapping[str, Json],
    place: Place,
    required: Sequence[str],
    optional: Sequence[str] = (),
    also: Sequence[str] = ("op",),
) -> None:
    """Raise if a field is missing or not known."""
    known = (*also, *required, *optional)
    for name in document:
        if name not in known:
            hint = did_you_mean(name, known) if isinstance(name, str) else ""
            raise RuleSyntaxError(f"{place}: there is no field {json_text(name)} here", hint=hint)
    for name in required:
        if name not in document:
            raise RuleSyntaxError(f"{place}: the field {quoted(name)} is missing")


def read_list(document: Mapping[str, Json], name: str, place: Place, least: int) -> Sequence[Json]:
    """Return the list in a field. Raises if it has fewer items than `least`."""
    items = document[name]
    if not isinstance(items, list | tuple):
        raise RuleSyntaxError(f"{Place(place, name)}: expected a list, not {json_text(items)}")
    if len(items) < least:
        raise RuleSyntaxError(f"{Place(place, name)}: expected a list of at least {least}, not {len(items)}")
    return items


def flag_of(document: Mapping[str, Json], name: str, place: Place) -> bool:
    """Return the boolean in a field, or False if it is left out."""
    flag = document.get(name, False)
    if not isinstance(flag, bool):
        raise RuleSyntaxError(f"{Place(place, name)}: expected true or false, not {json_text(flag)}")
    return flag


def weight_in(given: Json, place: Place) -> float:
    """Return a weight. Raises if it exceeds the limits that weights have in text."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= MAX_WEIGHT:
        raise RuleSyntaxError(f"{place}: a weight is a number from 0 to {MAX_WEIGHT:g}, not {json_text(given)}")
    return float(given)


def json_text(document: object) -> str:
    """Return a JSON value as a short text for a message."""
    kind = {dict: "an object", list: "a list", tuple: "a list", type(None): "null"}.get(type(document))
    return kind or quoted(document)

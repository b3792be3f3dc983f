"""Values at the constants of a predicate, just beside them and between them, and values of other types.

An index cuts the values of an attribute into cells at the constants, so a mistake shows at an edge of a cell. For a
regular expression, texts that it matches are made from its parts, and RE2 confirms them.
"""

from __future__ import annotations

import ipaddress
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any, Final

from ruledex.language.pattern import has_match, is_like
from ruledex.language.reference import as_of_now
from ruledex.language.tree import (
    Between,
    Compare,
    CompareOperands,
    Exists,
    In,
    IsNull,
    Like,
    NullSafe,
    Predicate,
    Rlike,
    SetTest,
    Within,
)
from ruledex.language.value import INT64_MAX, INT64_MIN, Family, constant_family
from ruledex.language.value_types import Interval, MavenVersion, Network, Version

_TICK: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)
_V6_START: Final = 1 << 32
_MOST_LISTED: Final = 24  # constants of one list that are looked at
_FILLINGS: Final = ("", "x", "ab", "%_", "É")  # what a wildcard of a pattern may stand for

# Values that fit no constant of some family, or are no value at all. None of them makes an event unreadable.
ODD_VALUES: Final[tuple[Any, ...]] = (
    None,
    math.nan,
    [],
    [None],
    {},
    {"other": 1},
    True,
    0,
    -0.0,
    math.inf,
    INT64_MAX,
    INT64_MIN,
    2**53 + 1,
    Decimal("0.1"),
    "",
    "0",
    "true",
    "not a number",
    date(2024, 2, 29),
    [None, 1, "1", True],
    [[1], ["x"]],
)


def near_values(predicate: Predicate, zone: tzinfo, generator: Random) -> list[Any]:
    """Return values at, beside and between the constants of a predicate, for the operand that it tests."""
    predicate = as_of_now(predicate, zone)
    match predicate:
        case Compare(_, _, value) | NullSafe(_, value):
            return near_constants((value,))
        case Between(_, low, high):
            return near_constants((low, high))
        case In(_, values) | SetTest(_, _, values):
            some = values if len(values) <= _MOST_LISTED else tuple(generator.sample(values, _MOST_LISTED))
            near = near_constants(some)
            if isinstance(predicate, SetTest):
                near += [list(map(plain_constant, some)), list(map(plain_constant, some[:-1])), []]
                near.append([*map(plain_constant, some), *near[:1], near[len(near) // 2]])
            return near
        case Like(_, patterns, _, ignore_case):
            return like_texts(patterns, ignore_case, generator)
        case Rlike(_, pattern):
            found = matching_texts(pattern, generator)
            return [*found, *(text[:-1] for text in found), *(f"x{text}y" for text in found[:3]), ""]
        case Within() | IsNull() | CompareOperands() | Exists():
            return []
    raise AssertionError(predicate)


def near_constants(constants: Iterable[Any]) -> list[Any]:
    """Return each constant as a value of an event, its neighbours, and what is between two of them."""
    found: list[Any] = []
    for constant in constants:
        found.append(plain_constant(constant))
        found += _beside(constant)
    found += _between([value for value in constants if not isinstance(value, Interval)])
    return found


def plain_constant(constant: Any) -> Any:
    """Return the value of an event that equals a constant."""
    if isinstance(constant, Version | MavenVersion):
        return constant.text
    if isinstance(constant, Network):
        return _address(constant.first)
    return constant


def _beside(constant: Any) -> Iterator[Any]:
    if isinstance(constant, bool):
        yield not constant
    elif isinstance(constant, int | float | Decimal):
        yield from _beside_number(constant)
    elif isinstance(constant, str):
        yield from beside_text(constant)
    elif isinstance(constant, datetime):
        yield from (constant.isoformat(), constant.date())
        with suppress(OverflowError):
            yield from (constant - _TICK, constant + _TICK, constant - _DAY, constant + _DAY)
            yield constant.astimezone(UTC).isoformat()
    elif isinstance(constant, date):
        yield from (constant.isoformat(), datetime.combine(constant, time(0, 0, 0, 1)))
        with suppress(OverflowError):
            yield from (constant - _DAY, constant + _DAY, (constant + _DAY).isoformat())
    elif isinstance(constant, Version | MavenVersion):
        text = constant.text
        yield from (f"{text}.1", f"{text}-alpha", f"v{text}", text.partition("-")[0], f"{text}.0", "0.0.1", "999.9")
        head, dot, last = text.rpartition(".")
        if last.isdigit():
            yield from (f"{head}{dot}{int(last) + 1}", f"{head}{dot}{max(int(last) - 1, 0)}")
    elif isinstance(constant, Network):
        for place in (constant.last, constant.first - 1, constant.last + 1, (constant.first + constant.last) // 2):
            if place >= 0:
                yield _address(place)


def _beside_number(constant: Any) -> Iterator[Any]:
    for step in (1, -1):
        yield constant + step if abs(constant) < INT64_MAX else constant
    try:
        double = float(constant)
    except OverflowError:
        return
    yield from (double, math.nextafter(double, math.inf), math.nextafter(double, -math.inf), double + 0.5, -double)
    if isinstance(constant, Decimal) and abs(constant) < 10**18:
        yield from (constant + Decimal("0.001"), constant - Decimal("0.001"), int(constant))
    elif isinstance(constant, int):
        yield Decimal(constant)
    elif math.isfinite(constant) and constant == int(constant):
        yield int(constant)


def beside_text(text: str) -> Iterator[str]:
    """Yield texts that differ a little from one: in length, in case, and in the last character."""
    yield from (text[:-1], f"{text}a", f"{text}\0", f" {text} ", text.upper(), text.lower(), text.swapcase())
    if text and 0 < ord(text[-1]) < 0xD7FF:
        yield from (text[:-1] + chr(ord(text[-1]) - 1), text[:-1] + chr(ord(text[-1]) + 1))


def _between(constants: list[Any]) -> Iterator[Any]:
    for low, high in pairwise(constants):
        if isinstance(low, bool) or isinstance(high, bool):
            continue
        if isinstance(low, int | Decimal) and isinstance(high, int | Decimal):
            yield (low + high) // 2
        elif isinstance(low, float) and isinstance(high, float):
            yield low / 2 + high / 2
        elif isinstance(low, str) and isinstance(high, str):
            yield low + high
        elif type(low) is type(high) and isinstance(low, date):
            with suppress(TypeError, OverflowError):  # one may name a zone and the other not
                yield low + (high - low) / 2


def _address(place: int) -> str:
    if place >= _V6_START:
        return str(ipaddress.IPv6Address(min(place - _V6_START, 2**128 - 1)))
    return str(ipaddress.IPv4Address(place))


def like_texts(patterns: tuple[str, ...], ignore_case: bool, generator: Random) -> list[Any]:
    """Return texts that are LIKE some of the patterns, and texts that are nearly so."""
    some = patterns if len(patterns) <= _MOST_LISTED else tuple(generator.sample(patterns, _MOST_LISTED))
    found: list[Any] = []
    for pattern in some:
        for filling in _FILLINGS:
            text = _filled(pattern, filling)
            found += [text, text.swapcase()] if ignore_case else [text]
        text = _filled(pattern, "")
        found += beside_text(text)
    found.append("".join(_filled(pattern, "") for pattern in some))  # of LIKE ALL ('%a%', '%b%')
    return [text for text in found if is_like(text, some[0], ignore_case)] + found


def _filled(pattern: str, filling: str) -> str:
    parts, characters = [], iter(pattern)
    for character in characters:
        if character == "\\":
            parts.append(next(characters, ""))
        elif character == "%":
            parts.append(filling)
        else:
            parts.append((filling or "q")[0] if character == "_" else character)
    return "".join(parts)


_SOME: Final[dict[Family, tuple[Any, ...]]] = {
    Family.BOOLEAN: (True, False),
    Family.NUMBER: (0, 1, -1, 2, 7, 0.5, 100, -3.25, 10**6, Decimal("12.5")),
    Family.STRING: ("", "a", "abc", "Abc", "x y", "0", "12", "2024-02-29", "true", "1.2.3", "10.0.0.1"),
    Family.TIME: (
        date(2024, 2, 29),
        datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        "2023-06-01T12:30:15Z",
    ),
}


def some_values(family: Family | None) -> list[Any]:
    """Return a few values of a family, where no constant says which are of interest."""
    if family in _SOME:
        return list(_SOME[family])
    if family in (Family.VERSION, Family.MAVEN):
        return ["1.0", "1.2.3", "2.0-beta"]
    if family is Family.ADDRESS:
        return ["10.0.0.1", "192.168.1.1", "::1"]
    return [value for values in _SOME.values() for value in values[:3]]


def fitting_family(predicate: Predicate) -> Family | None:
    """Return the family of a predicate's constants, or None if any value is as good as another."""
    family = constant_family(predicate)
    return None if family is Family.ANY else family


_LONGEST_REPEAT: Final = 3  # more than the least number of times
_TRIES: Final = 12
_SAMPLE: Final = "aZ5_ -é"
# What RE2 writes in another way than Python.
_RESPELLED: Final = (
    ("\\z", "\\Z"),
    ("[:alpha:]", "a-zA-Z"),
    ("[:digit:]", "0-9"),
    ("[:alnum:]", "a-zA-Z0-9"),
    ("[:space:]", "\\s"),
    ("[:upper:]", "A-Z"),
    ("[:lower:]", "a-z"),
    ("[:word:]", "\\w"),
    ("\\pL", "[a-zA-Z]"),
    ("\\p{L}", "[a-zA-Z]"),
    ("\\pN", "[0-9]"),
    ("\\p{N}", "[0-9]"),
)
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": "07",
    "CATEGORY_NOT_DIGIT": "a-",
    "CATEGORY_SPACE": " \t",
    "CATEGORY_NOT_SPACE": "a0",
    "CATEGORY_WORD": "a_9",
    "CATEGORY_NOT_WORD": "- ",
}


def matching_texts(regex: str, generator: Random) -> list[str]:
    """Return some texts in which a regular expression of RE2 has a match; none if it is not understood here."""
    respelled = regex
    for of_re2, of_python in _RESPELLED:
        respelled = respelled.replace(of_re2, of_python)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a syntax that Python may give another meaning one day
            parsed = _parse(respelled)
        drawn = [_text(parsed, generator) for _ in range(_TRIES)]
    except (re.error, ValueError, OverflowError, RecursionError, ImportError):
        drawn = [regex, re.sub(r"[\\^$.*+?()\[\]{}|]", "", regex)]
    return [text for text in dict.fromkeys(drawn) if has_match(text, regex)]


def _parse(regex: str) -> Any:
    from re import _parser  # type: ignore[attr-defined]  # the only parser of its kind that Python brings

    return _parser.parse(regex)


def _text(parsed: Any, generator: Random) -> str:
    parts = []
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL":
            parts.append(chr(argument))
        elif name == "NOT_LITERAL":
            parts.append(next(c for c in _SAMPLE if ord(c) != argument))
        elif name == "ANY":
            parts.append(generator.choice(_SAMPLE))
        elif name == "IN":
            parts.append(_one_of(argument, generator))
        elif name == "BRANCH":
            parts.append(_text(generator.choice(argument[1]), generator))
        elif name == "SUBPATTERN":
            parts.append(_text(argument[-1], generator))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, repeated = argument
            n_times = generator.randint(least, max(least, min(most, least + _LONGEST_REPEAT)))
            parts += [_text(repeated, generator) for _ in range(n_times)]
        elif name != "AT":  # an anchor needs no character; RE2 tells later whether its place is right
            raise ValueError(name)
    return "".join(parts)


def _one_of(choices: Any, generator: Random) -> str:
    is_negated = str(choices[0][0]) == "NEGATE"
    if is_negated:
        kept = [c for c in _SAMPLE + "xQ3#/\n" if not any(_has(choice, c) for choice in choices[1:])]
        return generator.choice(kept) if kept else "\x01"
    operation, argument = generator.choice(choices)
    name = str(operation)
    if name == "RANGE":
        return chr(generator.randint(*argument))
    return generator.choice(_CATEGORIES[str(argument)]) if name == "CATEGORY" else chr(argument)


def _has(choice: Any, character: str) -> bool:
    operation, argument = choice
    name = str(operation)
    if name == "RANGE":
        return bool(argument[0] <= ord(character) <= argument[1])
    if name == "CATEGORY":
        pattern = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[str(argument).rpartition("_")[2]]
        return (re.match(pattern, character) is not None) != ("_NOT_" in str(argument))
    return bool(argument == ord(character))

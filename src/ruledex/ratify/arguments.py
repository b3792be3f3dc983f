"""Which values of attributes may give a function the results that are wanted of it.

Nothing here needs to be right: each value is tried, and the reference evaluator says what it gives. What is missed is
only a truth that no generated event shows.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from random import Random
from typing import Any, Final, TypeAlias

from ruledex.language.any_text import is_any_text
from ruledex.language.functions.arrays import FIELD, PLACE
from ruledex.language.functions.registry import function_of
from ruledex.language.tree import Attribute, Call, Exists, Operand
from ruledex.language.value import Family
from ruledex.language.value_types import Interval
from ruledex.ratify.near_values import beside_text, matching_texts, some_values

Path: TypeAlias = tuple[str, ...]
Pools: TypeAlias = dict[Path, list[Any]]  # the values to try for each attribute
Elements: TypeAlias = Callable[[Exists], list[Any]]
Inverse: TypeAlias = "Callable[[WantedResults], Iterator[Any]]"

_LONGEST: Final = 300  # characters of a text, or elements of an array
SOME_FIELDS: Final[tuple[Path, ...]] = (("note",), ("detail", "text"))  # where `*` may find a text
_MOST: Final = 40  # values for one attribute


def argument_pools(operand: Operand, wanted: list[Any], elements: Elements, generator: Random) -> Pools:
    """Return values for the attributes of an operand, some of which may give it one of the wanted values.

    `elements` returns elements of which the condition of a filter() is true, and others.
    """
    pools: Pools = {}
    _collect(operand, wanted, pools, elements, generator)
    return {path: _drawn(values, generator) for path, values in pools.items()}


def _drawn(values: list[Any], generator: Random) -> list[Any]:
    distinct = list({repr(value): value for value in values}.values())
    return distinct if len(distinct) <= _MOST else distinct[: _MOST // 2] + generator.sample(distinct, _MOST // 2)


def _collect(operand: Operand, wanted: list[Any], pools: Pools, elements: Elements, generator: Random) -> None:
    if isinstance(operand, Attribute):
        pools.setdefault(operand.path, []).extend(wanted)
        return
    if is_any_text(operand):
        for path in SOME_FIELDS:
            pools.setdefault(path, []).extend(wanted)
        return
    function = function_of(operand)
    for place, argument in enumerate(operand.arguments):
        if isinstance(argument, Exists):
            pools.setdefault(argument.operand.path, []).extend(_filtered(elements(argument), wanted))
        if not isinstance(argument, Attribute | Call):
            continue
        family = function.parameter_at(place).family
        found = list(_inverse(operand, place, wanted))
        if not function.raw and operand.function not in _EXACT:
            found += some_values(None if family is Family.ANY else family)
        if operand.function in _SCATTERED:
            found = [f"user-{generator.randint(0, 10**6)}" for _ in range(_MOST // 2)]
            found += [generator.randint(-(10**6), 10**6) for _ in range(_MOST // 2)]
        _collect(argument, found, pools, elements, generator)


def _filtered(elements: list[Any], wanted: list[Any]) -> Iterator[Any]:
    """Yield arrays for filter(): some of the elements, with what is wanted of the result written into them."""
    yield from ([], elements, elements[:1], elements * 2)
    for element in elements:
        for result in wanted:
            for one in result if isinstance(result, list) else [result]:
                is_both = isinstance(one, dict) and isinstance(element, dict)
                yield [{**element, **one} if is_both else element if one is None else one]


def _inverse(call: Call, place: int, wanted: list[Any]) -> Iterator[Any]:
    inverse = _INVERSES.get(call.function)
    if inverse is not None:
        yield from inverse(WantedResults(call, place, wanted))
    else:
        yield from wanted


@dataclass(frozen=True, slots=True)
class WantedResults:
    """A call, the place of one of its arguments, and the results that this argument should lead to."""

    call: Call
    place: int
    values: list[Any]

    def numbers(self) -> Iterator[Any]:
        """Yield the finite numbers among the results."""
        return finite_numbers(self.values)

    def texts(self) -> Iterator[str]:
        """Yield the texts among the results."""
        return (value for value in self.values if isinstance(value, str))

    def times(self) -> Iterator[date]:
        """Yield the dates and times among the results."""
        return (value for value in self.values if isinstance(value, date))

    def constant(self, place: int, default: Any) -> Any:
        """Return the constant argument at a place, or the default if there is none."""
        found = self.call.arguments[place] if place < len(self.call.arguments) else default
        return default if isinstance(found, Attribute | Call | Exists) else found


def finite_numbers(values: list[Any]) -> Iterator[Any]:
    """Yield the finite numbers among some values."""
    for value in values:
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and math.isfinite(value):
            yield value


# Numbers.


def _of_arithmetic(asked: WantedResults) -> Iterator[Any]:
    other = asked.constant(1 - asked.place, 2)
    for value in asked.numbers():
        with suppress(ArithmeticError, InvalidOperation, TypeError, ValueError):
            yield _UNDONE[asked.call.function, asked.place](value, other)
    yield from asked.numbers()


_UNDONE: Final[dict[tuple[str, int], Callable[[Any, Any], Any]]] = {
    ("+", 0): lambda value, other: value - other,
    ("+", 1): lambda value, other: value - other,
    ("-", 0): lambda value, other: value + other,
    ("-", 1): lambda value, other: other - value,
    ("*", 0): lambda value, other: value / other,
    ("*", 1): lambda value, other: value / other,
    ("/", 0): lambda value, other: value * other,
    ("/", 1): lambda value, other: other / value,
    ("div", 0): lambda value, other: value * other,
    ("div", 1): lambda value, other: other / value,
    ("pow", 0): lambda value, other: math.pow(value, 1 / other),
    ("pow", 1): lambda value, other: math.log(value, other),
}


def _of_remainder(asked: WantedResults) -> Iterator[Any]:
    divisor = asked.constant(1, 4) if asked.place == 0 else 0
    for value in asked.numbers():
        for times in (0, 1, -1, 7):
            with suppress(ArithmeticError, TypeError):
                yield value + times * divisor
    yield from range(-5, 6)


def _of_rounding(asked: WantedResults) -> Iterator[Any]:
    for value in asked.numbers():
        with suppress(ArithmeticError, TypeError):
            yield from (value, -value, float(value) + 0.5, float(value) - 0.5, float(value) + 0.25)


def _of_curves(asked: WantedResults) -> Iterator[Any]:
    for value in asked.numbers():
        for curve in (lambda x: x * x, math.log, math.exp, lambda x: 10.0**x):
            with suppress(ArithmeticError, ValueError, TypeError):
                yield curve(float(value))
    yield from asked.numbers()


# Texts.


def _of_case(asked: WantedResults) -> Iterator[Any]:
    for text in asked.texts():
        yield from (text, text.swapcase(), text.title(), f"  {text}  ", f"{text} ", f" {text}")


def _of_length(asked: WantedResults) -> Iterator[Any]:
    for value in asked.numbers():
        if 0 <= value <= _LONGEST:
            yield "x" * int(value)


def _of_substring(asked: WantedResults) -> Iterator[Any]:
    start = asked.constant(1, 1)
    for text in asked.texts():
        if isinstance(start, int) and 0 <= start <= _LONGEST:
            yield from ("x" * max(start - 1, 0) + text, "x" * max(start - 1, 0) + text + "yz")
        elif isinstance(start, int) and start >= -_LONGEST:
            yield "xy" + text + "z" * max(-start - len(text), 0)


def _of_split(asked: WantedResults) -> Iterator[Any]:
    separator, part = asked.constant(1, "."), asked.constant(2, 1)
    for text in asked.texts():
        before = part - 1 if isinstance(part, int) and 0 < part <= _LONGEST else 0
        yield from (separator.join(["x"] * before + [text]), separator.join(["x"] * before + [text, "y"]))


def _of_concatenation(asked: WantedResults) -> Iterator[Any]:
    before = "".join(map(str, (a for a in asked.call.arguments[: asked.place] if isinstance(a, str))))
    after = "".join(map(str, (a for a in asked.call.arguments[asked.place + 1 :] if isinstance(a, str))))
    for text in asked.texts():
        rest = text.removeprefix(before).removesuffix(after)
        if after and after in rest:
            yield rest[: rest.index(after)]
        elif before and before in rest:
            yield rest[rest.rindex(before) + len(before) :]
        yield from (rest, text[: len(text) // 2], text[len(text) // 2 :], text)


def _of_searching(asked: WantedResults) -> Iterator[Any]:
    for constant in (argument for argument in asked.call.arguments if isinstance(argument, str)):
        bare = constant.replace("%", "").replace("_", "x")
        yield from (bare, f"x{bare}", f"{bare}x", f"xx{bare}yy", bare.swapcase())
        yield from beside_text(bare)
        for value in asked.numbers():
            if 1 <= value <= _LONGEST:
                yield "-" * (int(value) - 1) + bare
    yield from asked.texts()


def _of_pad(asked: WantedResults) -> Iterator[Any]:
    filling = asked.constant(2, " ")
    for text in asked.texts():
        yield from (text, text.strip(str(filling)), text.lstrip(str(filling)), f"{text}z")


def _of_replacement(asked: WantedResults) -> Iterator[Any]:
    old, new = asked.constant(1, ""), asked.constant(2, "")
    for text in asked.texts():
        yield from (text, text.replace(new, old) if new else f"{old}{text}", f"{text}{old}")


def _of_bits(asked: WantedResults) -> Iterator[Any]:
    for text in asked.texts():
        with suppress(ValueError):
            yield int(text, 2)


def _of_cast(asked: WantedResults) -> Iterator[Any]:
    for value in asked.values:
        yield value
        if isinstance(value, int | float | Decimal | bool):
            yield from (str(value), str(value).lower(), f" {value} ")
        elif isinstance(value, date):
            yield from (value.isoformat(), value.isoformat()[:10])
        elif isinstance(value, str):
            for read in (int, float, Decimal):
                with suppress(ValueError, ArithmeticError):
                    yield read(value)
    yield from ("yes", "no", "t", "abc", 1, 0)


def _of_groups(asked: WantedResults) -> Iterator[Any]:
    regex = asked.constant(1, "")
    yield from matching_texts(regex, Random(0))
    for text in asked.texts():
        written = text.replace("\\", "\\\\")  # in a replacement, a backslash is an escape
        yield from (text, _GROUP.sub(written, regex, count=1), _GROUP.sub(written, regex))


_GROUP: Final = re.compile(r"\((?!\?)[^()]*\)")


def _of_buckets(asked: WantedResults) -> Iterator[Any]:
    ends = list(finite_numbers(list(asked.call.arguments[1:3])))
    if len(ends) == 2:
        yield from (ends[0] + (ends[1] - ends[0]) * step / 20 for step in range(-1, 22))


# Times.


def _of_part(asked: WantedResults) -> Iterator[Any]:
    start = datetime(2024, 2, 29, 13, 45, 30, 250_000, UTC)
    for value in asked.numbers():
        number = int(value)
        for part in ("year", "month", "day", "hour", "minute", "second"):
            with suppress(ValueError, OverflowError):
                yield start.replace(**{part: number})  # type: ignore[arg-type]
        if 0 < number <= 366:
            yield start.replace(month=1, day=1) + timedelta(days=number - 1)
            yield start.replace(month=1, day=4) + timedelta(weeks=number % 53 - 1)
        if 0 < number <= 4:
            yield start.replace(month=number * 3, day=1)
    yield from (start + timedelta(days=day) for day in range(7))


def _of_shift(asked: WantedResults) -> Iterator[Any]:
    step = next((argument for argument in asked.call.arguments if isinstance(argument, int | Interval)), 1)
    days = step if isinstance(step, int) else step.months * 30 + step.microseconds / 86_400_000_000
    days = days * 30 if asked.call.function == "add_months" else days
    for value in asked.times():
        for sign in (1, -1):
            with suppress(OverflowError, TypeError):
                yield value + timedelta(days=sign * days)
        yield value


def _of_truncation(asked: WantedResults) -> Iterator[Any]:
    for value in asked.times():
        yield from (value, value.isoformat())
        for hours in (1, 23, 24, 24 * 7, 24 * 31):
            with suppress(OverflowError):
                yield value + timedelta(hours=hours)


def _of_written(asked: WantedResults) -> Iterator[Any]:
    """Of a text that is read as a time by a pattern."""
    pattern = asked.constant(1, "yyyy-MM-dd HH:mm:ss")
    for letters, code in _WRITTEN:
        pattern = pattern.replace(letters, code)
    for value in asked.times():
        at = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)
        with suppress(ValueError, OverflowError):
            yield (at if at.tzinfo else at.replace(tzinfo=UTC)).strftime(pattern)
    yield from _of_cast(asked)


_WRITTEN: Final = (
    ("yyyy", "%Y"),
    ("MMM", "%b"),
    ("MM", "%m"),
    ("dd", "%d"),
    ("HH", "%H"),
    ("mm", "%M"),
    ("ss", "%S"),
    ("SSS", "000"),
    ("Z", "%z"),
    ("'", ""),
)


def _of_difference(asked: WantedResults) -> Iterator[Any]:
    base = datetime(2024, 3, 1, tzinfo=UTC)
    yield base
    for value in asked.numbers():
        with suppress(OverflowError):
            yield base + timedelta(days=float(value) if asked.place == 0 else -float(value))


def _of_count(asked: WantedResults) -> Iterator[Any]:
    """Of a time that is a number of seconds, or of parts of one, since 1970; and the other way round."""
    unit = {"seconds": 1, "millis": 1_000, "micros": 1_000_000}[asked.call.function.rpartition("_")[2]]
    for value in asked.numbers():
        with suppress(OverflowError, ValueError):
            yield datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=float(value) / unit)
    for moment in asked.times():
        at = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
        with suppress(OverflowError, ValueError, OSError):
            yield int(at.timestamp()) * unit


# Arrays.


def _of_size(asked: WantedResults) -> Iterator[Any]:
    for value in asked.numbers():
        if 0 <= value <= _LONGEST:
            yield list(range(int(value)))
            yield [None, *range(int(value))]


def _of_elements(asked: WantedResults) -> Iterator[Any]:
    for value in asked.values:
        yield from (value, [value], [value, value])


def _of_place(asked: WantedResults) -> Iterator[Any]:
    at = asked.constant(1, 0)
    before = max(at - (asked.call.function == "element_at"), 0) if isinstance(at, int) else 0
    for value in asked.values:
        if before <= _LONGEST:
            yield from ([None] * before + [value], [value] * (before + 1), [value])


def _of_field(asked: WantedResults) -> Iterator[Any]:
    name = asked.constant(1, "x")
    yield from ({name: value} for value in asked.values)


def _of_overlap(_: WantedResults) -> Iterator[Any]:
    yield from ([1, 2], [2, "a"], ["a"], [3], [None, 4], [])


def _of_whole(asked: WantedResults) -> Iterator[Any]:
    for text in asked.texts():
        with suppress(ValueError):
            yield json.loads(text)


def _of_presence(_: WantedResults) -> Iterator[Any]:
    yield from (1, "a", None, [], [None], {}, True, 1.5, date(2024, 2, 29))


_SCATTERED: Final = frozenset(("hash", "xxhash64", "crc32", "md5", "sha1", "sha2"))
_EXACT: Final = frozenset(("size", "array_min", "array_max", "coalesce", "whole", "greatest", "least"))
_INVERSES: Final[dict[str, Inverse]] = {
    **dict.fromkeys(("+", "-", "*", "/", "div", "pow"), _of_arithmetic),
    **dict.fromkeys(("%", "pmod"), _of_remainder),
    **dict.fromkeys(("negative", "abs", "round", "floor", "ceil", "sign"), _of_rounding),
    **dict.fromkeys(("sqrt", "exp", "ln", "log10"), _of_curves),
    **dict.fromkeys(("lower", "upper", "trim", "ltrim", "rtrim", "collate", "collate_like"), _of_case),
    "length": _of_length,
    "substring": _of_substring,
    "split_part": _of_split,
    "concat": _of_concatenation,
    **dict.fromkeys(("contains", "startswith", "endswith", "like", "ilike", "instr"), _of_searching),
    **dict.fromkeys(("lpad", "rpad"), _of_pad),
    "replace": _of_replacement,
    "bin": _of_bits,
    **dict.fromkeys(("cast_int", "cast_bigint", "cast_double", "cast_decimal", "cast_string"), _of_cast),
    **dict.fromkeys(("cast_boolean", "cast_date", "cast_timestamp"), _of_cast),
    **dict.fromkeys(("to_date", "to_timestamp"), _of_written),
    "regexp_extract": _of_groups,
    "width_bucket": _of_buckets,
    **dict.fromkeys(("year", "quarter", "month", "weekofyear", "dayofyear", "day", "dayofweek"), _of_part),
    **dict.fromkeys(("hour", "minute", "second", "date_part"), _of_part),
    **dict.fromkeys(("add_interval", "date_add", "date_sub", "add_months"), _of_shift),
    **dict.fromkeys(("date", "date_trunc", "trunc"), _of_truncation),
    "date_diff": _of_difference,
    **dict.fromkeys(("timestamp_seconds", "timestamp_millis", "timestamp_micros"), _of_count),
    **dict.fromkeys(("unix_seconds", "unix_millis", "unix_micros"), _of_count),
    **dict.fromkeys(("size", "array_size"), _of_size),
    **dict.fromkeys(("array_min", "array_max"), _of_elements),
    **dict.fromkeys(("element_at", PLACE), _of_place),
    FIELD: _of_field,
    "arrays_overlap": _of_overlap,
    "whole": _of_whole,
    **dict.fromkeys(("present", "typeof"), _of_presence),
}

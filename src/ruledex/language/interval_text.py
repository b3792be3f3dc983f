"""Reads and writes intervals: `INTERVAL 7 DAYS`, `INTERVAL '1' DAY`, `INTERVAL '1 02:30:00' DAY TO SECOND`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from ruledex.errors import RuleSyntaxError, did_you_mean
from ruledex.language.scanner import SKIP
from ruledex.language.value_types import MICROSECONDS_PER_DAY, Interval, Moment

_SECOND: Final = 1_000_000
_HOUR: Final = 3600 * _SECOND
_MONTHS: Final = {"year": 12, "month": 1}
_MICROSECONDS: Final = {
    "week": 7 * MICROSECONDS_PER_DAY,
    "day": MICROSECONDS_PER_DAY,
    "hour": _HOUR,
    "minute": 60 * _SECOND,
    "second": _SECOND,
    "millisecond": 1000,
    "microsecond": 1,
}
_UNITS: Final = (*_MONTHS, *_MICROSECONDS)
_OF_DAYS: Final = ("week", "day")
_LONGEST: Final = 10_000 * 366 * MICROSECONDS_PER_DAY  # all times lie within years 1 to 9999

_NUMBER: Final = r"[0-9]{1,19}+(?:\.[0-9]{0,19}+)?+"
_UNIT: Final = r"[^\W\d]\w*+"
# What may follow INTERVAL: a text without a unit, two units, or parts of a number and a unit each. An attribute may
# have the name `interval`, so that a number needs a unit behind it.
_TEXT_ALONE: Final = re.compile(rf"{SKIP}'([^'\\]*+)'(?!{SKIP}{_UNIT})", re.DOTALL)
_TWO_UNITS: Final = re.compile(rf"{SKIP}([+-]?){SKIP}'([^'\\]*+)'{SKIP}({_UNIT}){SKIP}TO\b{SKIP}({_UNIT})", re.I | re.S)
_PART: Final = re.compile(
    rf"{SKIP}([+-]?+){SKIP}(?:({_NUMBER})(?!\w)|'\s*+([+-]?+)\s*+({_NUMBER})\s*+'){SKIP}({_UNIT})", re.DOTALL
)
_PART_OF_TEXT: Final = re.compile(rf"\s*+([+-]?+)\s*+({_NUMBER})()()\s*+({_UNIT})\s*+")
_AFTER: Final = frozenset(
    ("AND", "OR", "XOR", "XNOR", "NOT", "IN", "BETWEEN", "IS", "LIKE", "ILIKE", "RLIKE", "REGEXP")
)

# The forms with two units, by the first and the last: how the text looks.
_SIGNED: Final = r"\s*([+-]?)"
_CLOCK: Final = {
    ("day", "hour"): r"(?P<day>\d+)\s+(?P<hour>\d{1,2})",
    ("day", "minute"): r"(?P<day>\d+)\s+(?P<hour>\d{1,2}):(?P<minute>\d{1,2})",
    ("day", "second"): r"(?P<day>\d+)\s+(?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2}(?:\.\d{1,9})?)",
    ("hour", "minute"): r"(?P<hour>\d+):(?P<minute>\d{1,2})",
    ("hour", "second"): r"(?P<hour>\d+):(?P<minute>\d{1,2}):(?P<second>\d{1,2}(?:\.\d{1,9})?)",
    ("minute", "second"): r"(?P<minute>\d+):(?P<second>\d{1,2}(?:\.\d{1,9})?)",
    ("year", "month"): r"(?P<year>\d+)-(?P<month>\d{1,2})",
}
_MOST: Final = {"hour": 23, "minute": 59, "second": 59, "month": 11}


def read_interval(text: str, position: int, start: int) -> tuple[Interval, int] | None:
    """Return the interval whose word INTERVAL ends at a position, and where it ends; None if this is not an interval.

    `start` is where it begins, for messages.
    """
    if (match := _TWO_UNITS.match(text, position)) is not None:
        return _between_units(match, text, start), match.end()
    if (match := _TEXT_ALONE.match(text, position)) is not None:
        parts, end = [], 0
        content = match[1].strip().removeprefix("interval ").removeprefix("INTERVAL ")
        while end < len(content) and (part := _PART_OF_TEXT.match(content, end)) is not None:
            parts.append(part)
            end = part.end()
        if not parts or end < len(content):
            raise RuleSyntaxError("this is not an interval", text, start, "write INTERVAL '7' DAY or INTERVAL 7 DAYS")
        return _joined(parts, text, start), match.end()
    parts = []
    while (part := _PART.match(text, position)) is not None:
        if part[5].upper() in _AFTER or (parts and _unit(part[5]) is None):
            break
        parts.append(part)
        position = part.end()
    return (_joined(parts, text, start), position) if parts else None


def _unit(word: str) -> str | None:
    unit = word.lower()
    return unit if unit in _UNITS else unit[:-1] if unit[-1:] == "s" and unit[:-1] in _UNITS else None


def _joined(parts: list[re.Match[str]], text: str, start: int) -> Interval:
    months, microseconds, units = 0, Decimal(0), set()
    for part in parts:
        sign, bare, inner_sign, quoted, word = part.groups()
        unit = _unit(word)
        if unit is None:
            hint = did_you_mean(word, (*_UNITS, *(f"{unit}s" for unit in _UNITS)))
            raise RuleSyntaxError(f"there is no unit {word}", text, start, hint or f"the units are {', '.join(_UNITS)}")
        number = Decimal(bare or quoted)
        if number != number.to_integral_value() and unit != "second":
            raise RuleSyntaxError(f"only seconds have a fraction, not {word}", text, start)
        signed = -number if (sign == "-") != (inner_sign == "-") else number
        units.add(unit)
        if unit in _MONTHS:
            months += int(signed) * _MONTHS[unit]
        else:
            microseconds += signed * _MICROSECONDS[unit]
    if units & set(_MONTHS) and units - set(_MONTHS):
        hint = "add one after the other: x + INTERVAL 1 MONTH + INTERVAL 2 DAYS"
        raise RuleSyntaxError("an interval has years and months, or days and less, not both", text, start, hint)
    is_days = units <= set(_OF_DAYS)
    return _checked(Interval(months, int(microseconds), is_days), text, start)


def _between_units(match: re.Match[str], text: str, start: int) -> Interval:
    sign, content, *words = match.groups()
    units = _unit(words[0]) or "", _unit(words[1]) or ""
    form = _CLOCK.get(units)
    if form is None:
        known = ", ".join(f"{first} to {last}" for first, last in _CLOCK)
        raise RuleSyntaxError(f"no interval goes from {words[0]} to {words[1]}", text, start, f"there are {known}")
    found = re.fullmatch(rf"{_SIGNED}{form}\s*", content, re.ASCII)
    parts = {} if found is None else {unit: Decimal(number) for unit, number in found.groupdict().items()}
    if found is None or any(number >= _MOST.get(unit, number) + 1 for unit, number in list(parts.items())[1:]):
        example = {"year": "1-2", "day": "1 02:30:00", "hour": "02:30:00"}.get(units[0], "30:00")
        raise RuleSyntaxError(
            f"this is not an interval from {units[0]} to {units[1]}", text, start, f"such as '{example}'"
        )
    is_negative = (sign == "-") != (found[1] == "-")
    months = sum(int(number) * _MONTHS[unit] for unit, number in parts.items() if unit in _MONTHS)
    microseconds = int(sum(number * _MICROSECONDS[unit] for unit, number in parts.items() if unit in _MICROSECONDS))
    made = Interval(months, microseconds)
    return _checked(made.negated() if is_negative else made, text, start)


def _checked(interval: Interval, text: str, start: int) -> Interval:
    if abs(interval.microseconds) > _LONGEST or abs(interval.months) > 120_000:
        raise RuleSyntaxError("an interval is at most 10,000 years long", text, start)
    return interval


def interval_text(interval: Interval) -> str:
    """Return an interval as text."""
    return f"INTERVAL '{_amount(interval)[0]}' {_amount(interval)[1]}"


def _amount(interval: Interval) -> tuple[str, str]:
    months, microseconds, is_days = interval.months, interval.microseconds, interval.is_days
    if months or (not microseconds and not is_days):
        return (str(months // 12), "YEAR") if months and months % 12 == 0 else (str(months), "MONTH")
    if is_days:
        return str(microseconds // MICROSECONDS_PER_DAY), "DAY"
    for unit in ("hour", "minute"):
        if microseconds % _MICROSECONDS[unit] == 0:
            return str(microseconds // _MICROSECONDS[unit]), unit.upper()
    seconds = f"{Decimal(microseconds) / _SECOND:f}"
    return (seconds.rstrip("0").rstrip(".") if "." in seconds else seconds), "SECOND"


def moment_text(moment: Moment) -> str:
    """Return a moment as text: now, and the intervals that are added to it."""
    start = "current_date()" if moment.is_date else "current_timestamp()"
    return "".join([start, *map(added_text, moment.steps())])


def added_text(interval: Interval) -> str:
    """Return what is written behind a time to add an interval to it."""
    is_negative = interval.months < 0 or interval.microseconds < 0
    return f" {'-' if is_negative else '+'} {interval_text(interval.negated() if is_negative else interval)}"

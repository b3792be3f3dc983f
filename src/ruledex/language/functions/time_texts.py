"""Reads texts as dates and times, as Spark's cast does, or by one of Spark's datetime patterns.

A cast takes more forms than ISO 8601 has:

    2024   2024-1   2024-01-05   2024-01-05T…
    2024-01-05 10   2024-01-05 1:2   2024-01-05 10:30:15.123456 America/New_York

A year has four digits here, as in Python, and a time without a date, which Spark reads as one of today, is none.

Datetime patterns are those of Java's DateTimeFormatter. The letters that files and logs use are covered. Java reads
digits greedily and gives no digit back, so a field without a fixed width that touches another number hardly ever reads
what its writer meant. Such patterns, and all others that are not covered, are refused when the rule is parsed. No
pattern is read differently from Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal
from zoneinfo import ZoneInfo

from ruledex.errors import quoted

# What Spark trims from a text before it reads it.
BLANKS: Final = "".join(map(chr, range(33))) + "\x7f"
_DATE: Final = r"\+?(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
_DAY: Final = re.compile(_DATE + r"(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_MOMENT: Final = re.compile(
    _DATE + r"(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?\s?(\S.*)?)?)?)?)?)?", re.ASCII
)
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", re.ASCII)
_REGION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{2,40}", re.ASCII)
_MOST_SECONDS: Final = 18 * 3600  # of an offset, in Java


def read_day(text: str) -> date | None:
    """Return the day that a text names; what follows it after a blank or a T does not count."""
    match = _DAY.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None


def read_time_text(text: str) -> datetime | None:
    """Return the time that a text names, naive if it names no zone. A day stands for its midnight."""
    match = _MOMENT.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone_name = match.groups()
    zone = None if zone_name is None else read_zone(zone_name.strip())
    if zone is None and zone_name is not None:
        return None
    try:
        return datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "")[:6].ljust(6, "0")),
            tzinfo=zone,
        )
    except ValueError:
        return None


@lru_cache(maxsize=256)
def read_zone(name: str) -> tzinfo | None:
    """Return the zone that an offset or a region names, or None."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if (match := _OFFSET.fullmatch(name)) is not None:
        sign, hours, minutes, seconds = match.groups()
        total = int(hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
        if total > _MOST_SECONDS or int(minutes or 0) > 59 or int(seconds or 0) > 59:
            return None
        return timezone(timedelta(seconds=-total if sign == "-" else total))
    if _REGION.fullmatch(name) is None:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such zone, in whatever way
        return None


# Spark reads names of months in English, whatever the machine's language.
_HALVES = ("January February March April May June", "July August September October November December")
MONTHS = tuple(name for half in _HALVES for name in half.split())
OFFSET_LIMIT_MINUTES = 18 * 60


@dataclass(frozen=True, slots=True)
class _Field:
    """A run of one letter: what it sets, the expression of its text, and how that becomes a number."""

    sets: str
    expression: str
    read: Callable[[str], int] = int
    digits: Literal["no", "fixed", "free"] = "no"  # how many of them: none, so many, or as many as there are


def _month(text: str) -> int:
    return next(number for number, name in enumerate(MONTHS, 1) if name[:3].lower() == text[:3].lower())


def _offset_minutes(text: str) -> int:
    """Return the minutes east of Greenwich of `Z`, `+01`, `+0130` or `+01:30`."""
    if text in "zZ":
        return 0
    digits = text[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    return -minutes if text[0] == "-" else minutes


def _fraction(text: str) -> int:
    """Return the microseconds, with finer digits cut off."""
    return int(text[:6].ljust(6, "0"))


_HOURS, _MINUTES = r"[+-]\d\d", r"[0-5]\d"
_TWO, _FREE = r"\d\d", r"\d{1,19}+"

_FIELDS: dict[str, _Field] = {
    "yyyy": _Field("year", r"\d{4}", digits="fixed"),
    "yy": _Field("year", _TWO, lambda text: 2000 + int(text), digits="fixed"),
    "MMMM": _Field("month", "|".join(MONTHS), _month),
    "MMM": _Field("month", "|".join(name[:3] for name in MONTHS), _month),
    "a": _Field("afternoon", "AM|PM", lambda text: int(text.upper() == "PM")),
    "X": _Field("offset", rf"Z|{_HOURS}(?:{_MINUTES})?+", _offset_minutes),
    "XX": _Field("offset", rf"Z|{_HOURS}{_MINUTES}", _offset_minutes),
    "XXX": _Field("offset", rf"Z|{_HOURS}:{_MINUTES}", _offset_minutes),
    **{"Z" * width: _Field("offset", rf"{_HOURS}{_MINUTES}", _offset_minutes) for width in (1, 2, 3)},
    **{"S" * width: _Field("microsecond", rf"\d{{1,{width}}}+", _fraction, digits="free") for width in range(1, 10)},
}
for _letter, _sets in {"M": "month", "d": "day", "H": "hour", "h": "clock", "m": "minute", "s": "second"}.items():
    _FIELDS[_letter] = _Field(_sets, _FREE, digits="free")
    _FIELDS[_letter * 2] = _Field(_sets, _TWO, digits="fixed")

_TOKEN = re.compile(
    r"'(?P<quoted>(?:[^'0-9]|'')*)'|(?P<letters>(?P<one>[A-Za-z])(?P=one)*)|(?P<sign>[^'\[\]{}#0-9])", re.ASCII
)


class PatternRefusedError(ValueError):
    """A pattern is not covered; the message says which part."""


def _tokens(pattern: str) -> Iterator[_Field | str]:
    """Return the fields of a pattern and the texts between them."""
    position = 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        if match is None:
            raise PatternRefusedError(f"cannot use {quoted(pattern[position])} in the time pattern {quoted(pattern)}")
        position = match.end()
        if match["letters"]:
            field = _FIELDS.get(match["letters"])
            if field is None:
                unknown = f"cannot use {quoted(match['letters'])} in the time pattern {quoted(pattern)}"
                raise PatternRefusedError(f"{unknown}; there are {', '.join(_FIELDS)}")
            yield field
        else:
            # Two quotes are one, inside of quotes and outside of them.
            yield match["sign"] or match["quoted"].replace("''", "'") or "'"


@dataclass(frozen=True, slots=True)
class DatetimePattern:
    """A compiled pattern: one group of `expression` per field."""

    expression: re.Pattern[str]
    fields: tuple[_Field, ...]

    def read(self, text: str, zone: tzinfo) -> datetime | None:
        """Return the time that a text names, or None if it names none. A text without a zone is in the given zone.

        The result is in the given zone. Fields that the pattern leaves out are those of the first moment of 1970.
        """
        match = self.expression.fullmatch(text)
        if match is None:
            return None
        found = {field.sets: field.read(part) for field, part in zip(self.fields, match.groups(), strict=True)}
        clock, afternoon, offset = found.pop("clock", None), found.pop("afternoon", 0), found.pop("offset", None)
        if clock is not None:
            if not 1 <= clock <= 12:
                return None
            found["hour"] = clock % 12 + 12 * afternoon
        if offset is not None and abs(offset) > OFFSET_LIMIT_MINUTES:
            return None
        own_zone = zone if offset is None else timezone(timedelta(minutes=offset))
        try:
            moment = datetime(**({"year": 1970, "month": 1, "day": 1} | found), tzinfo=own_zone)
            # Through UTC, so that an hour that the clock skips becomes the one after it.
            return moment.astimezone(UTC).astimezone(zone)
        except (ValueError, OverflowError):
            return None


@lru_cache(maxsize=1024)  # of patterns of at most `time_pattern_characters`, each some 50 bytes per character
def compile_pattern(pattern: str) -> DatetimePattern:
    """Return the compiled pattern. Raises PatternRefusedError if it is not covered."""
    tokens = list(_tokens(pattern))
    fields = tuple(token for token in tokens if isinstance(token, _Field))
    for before, after in pairwise(tokens):
        if isinstance(before, _Field) and isinstance(after, _Field):
            widths = {before.digits, after.digits}
            if "free" in widths and "no" not in widths:
                raise PatternRefusedError(f"the time pattern {quoted(pattern)} needs a sign between two of its numbers")
    sets = [field.sets for field in fields]
    if not fields or len(set(sets)) < len(sets):
        raise PatternRefusedError(f"the time pattern {quoted(pattern)} must name fields, each once")
    if ("clock" in sets) != ("afternoon" in sets) or ("clock" in sets and "hour" in sets):
        raise PatternRefusedError(f"the time pattern {quoted(pattern)} needs either H, or h together with a")
    parts = (f"({token.expression})" if isinstance(token, _Field) else re.escape(token) for token in tokens)
    return DatetimePattern(re.compile("".join(parts), re.ASCII | re.IGNORECASE), fields)

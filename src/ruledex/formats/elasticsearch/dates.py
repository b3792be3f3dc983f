"""Reads dates of Elasticsearch's range queries: formats, time zones and date math such as `now-1d/d`.

A bound that is rounded up (`gt` and `lte`) is the last moment of its unit. It is said here as the first moment after
the unit, with `>=` for `>` and `<` for `<=`.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from ruledex.errors import RuleSyntaxError, quoted
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Call, Operand, Value
from ruledex.language.value_types import MICROSECONDS_PER_DAY, Interval, Moment

DEFAULT_FORMATS: Final = "strict_date_optional_time||epoch_millis"
_NOW: Final = Call("current_timestamp", ())
_ROUNDED_OPS: Final = {">": ">=", "<=": "<"}
_STEP: Final = re.compile(r"([+-])(\d*)([yMwdhHms])|/([yMwdhHms])", re.ASCII)
_OFFSET: Final = re.compile(r"([+-])(\d{2}):?(\d{2})?", re.ASCII)
_MONTHS: Final = {"y": 12, "M": 1}
_LENGTHS: Final = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "H": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
}
_UNITS: Final = {
    "y": "YEAR",
    "M": "MONTH",
    "w": "WEEK",
    "d": "DAY",
    "h": "HOUR",
    "H": "HOUR",
    "m": "MINUTE",
    "s": "SECOND",
}
_MILLISECOND: Final = timedelta(milliseconds=1)

_ZONE: Final = r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?"
_TIME: Final = r"(?:T(?P<HH>\d{2})(?::(?P<mm>\d{2})(?::(?P<ss>\d{2})(?:[.,](?P<S>\d{1,9}))?)?)?" + _ZONE + ")?"
_NAMED: Final = {
    "date_optional_time": r"(?P<yyyy>\d{4,})(?:-(?P<MM>\d{1,2})(?:-(?P<dd>\d{1,2})" + _TIME + ")?)?",
    "strict_date_optional_time": r"(?P<yyyy>\d{4})(?:-(?P<MM>\d{2})(?:-(?P<dd>\d{2})" + _TIME + ")?)?",
    "basic_date": r"(?P<yyyy>\d{4})(?P<MM>\d{2})(?P<dd>\d{2})",
    "date": r"(?P<yyyy>\d{4})-(?P<MM>\d{2})-(?P<dd>\d{2})",
    "year": r"(?P<yyyy>\d{4})",
    "year_month": r"(?P<yyyy>\d{4})-(?P<MM>\d{2})",
}
_NAMED["strict_date"] = _NAMED["date"]
_NAMED["strict_date_optional_time_nanos"] = _NAMED["strict_date_optional_time"]
_NAMED["strict_year"], _NAMED["strict_year_month"] = _NAMED["year"], _NAMED["year_month"]
_LETTERS: Final = {
    "yyyy": r"(?P<yyyy>\d{4})",
    "uuuu": r"(?P<yyyy>\d{4})",
    "MM": r"(?P<MM>\d{2})",
    "dd": r"(?P<dd>\d{2})",
    "HH": r"(?P<HH>\d{2})",
    "mm": r"(?P<mm>\d{2})",
    "ss": r"(?P<ss>\d{2})",
    "M": r"(?P<MM>\d{1,2})",
    "d": r"(?P<dd>\d{1,2})",
    "H": r"(?P<HH>\d{1,2})",
    "Z": r"(?P<zone>[+-]\d{4})",
    "XXX": r"(?P<zone>Z|[+-]\d{2}:\d{2})",
    "X": r"(?P<zone>Z|[+-]\d{2}(?:\d{2})?)",
}


class DateBound(NamedTuple):
    """One end of a range: `op` with a constant, which may be a moment counted from now, or with a function of now."""

    op: str
    limit: Value | Operand


class _Read(NamedTuple):
    """A date as it was written, and the length of what it left out: `2024-01-05` is a day."""

    start: datetime
    left_out: timedelta


class DateReader:
    """Reads the dates of one field. `formats` is as Elasticsearch has it: names or patterns between `||`."""

    def __init__(self, formats: str, zone: str | None, place: Place) -> None:
        self._place = place
        self._zone = _zone(zone, place)
        self._forms: list[tuple[str, re.Pattern[str] | None]] = []
        for name in formats.split("||"):
            is_epoch = name in ("epoch_millis", "epoch_second")
            self._forms.append((name, None if is_epoch else _pattern(name, Place(place, "format"))))

    @property
    def is_utc(self) -> bool:
        """Whether times without a zone are in UTC."""
        return self._zone == UTC

    def bound(self, op: str, given: str | int | float, place: Place) -> DateBound:
        """Return what a comparison with a date means."""
        rounds_up = op in _ROUNDED_OPS
        text = str(given)
        if text.startswith("now"):
            return self._counted(op, self._steps(text[3:], place), rounds_up)
        date_text, sign, math = text.partition("||")
        read = self._read(date_text, place)
        try:
            if not sign:
                return self._rounded(op, read.start, read.left_out) if rounds_up else self._exact(op, read.start)
            return self._moved(op, read.start, self._steps(math, place), rounds_up)
        except (OverflowError, ValueError):
            raise RuleSyntaxError(f"{place}: {quoted(text)} leads to a year that no date has") from None

    def _rounded(self, op: str, start: datetime, length: timedelta) -> DateBound:
        return self._exact(_ROUNDED_OPS[op] if length else op, start + length)

    @staticmethod
    def _exact(op: str, time: datetime) -> DateBound:
        return DateBound(op, time.astimezone(UTC))

    # Constants.

    def _moved(self, op: str, start: datetime, steps: list[_Step], rounds_up: bool) -> DateBound:
        time = start.astimezone(self._zone)
        for i, step in enumerate(steps):
            if not step.is_rounding:
                time = _added(time, step.unit, step.n_units)
                continue
            time = _truncated(time, step.unit)
            if rounds_up and i == len(steps) - 1:
                return self._exact(_ROUNDED_OPS[op], _added(time, step.unit, 1))
            if rounds_up:
                time = _added(time, step.unit, 1) - _MILLISECOND
        return self._exact(op, time)

    # The time of the call.

    @staticmethod
    def _counted(op: str, steps: list[_Step], rounds_up: bool) -> DateBound:
        if not steps:
            return DateBound(op, Moment())
        if len(steps) == 1 and not steps[0].is_rounding:
            interval = steps[0].interval(steps[0].n_units)
            return DateBound(op, Moment(interval.months, interval.microseconds))
        operand: Operand = _NOW
        for i, step in enumerate(steps):
            if not step.is_rounding:
                operand = Call("add_interval", (operand, step.interval(step.n_units)))
                continue
            operand = Call("date_trunc", (_UNITS[step.unit], operand))
            if rounds_up:
                operand = Call("add_interval", (operand, step.interval(1)))
                if i == len(steps) - 1:
                    return DateBound(_ROUNDED_OPS[op], operand)
                operand = Call("add_interval", (operand, Interval(microseconds=-1000)))
        return DateBound(op, operand)

    @staticmethod
    def _steps(math: str, place: Place) -> list[_Step]:
        steps, at = [], 0
        while at < len(math):
            found = _STEP.match(math, at)
            if found is None:
                message = f"{quoted(math[at:])} is not date math: write +1d, -2M or /d"
                raise RuleSyntaxError(f"{place}: {message}")
            sign, digits, unit, rounding = found.groups()
            if len(digits or "") > 6:
                raise RuleSyntaxError(f"{place}: {digits} is too far from any date")
            count = int(digits or 1) * (-1 if sign == "-" else 1)
            steps.append(_Step(rounding, 0, True) if rounding else _Step(unit, count, False))
            at = found.end()
        return [step for step in steps if step.is_rounding or step.n_units]

    # Reading.

    def _read(self, text: str, place: Place) -> _Read:
        for name, pattern in self._forms:
            try:
                if pattern is None:
                    scale = 1000 if name == "epoch_second" else 1
                    if re.fullmatch(r"-?\d{1,14}", text, re.ASCII):
                        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(text) * scale)
                        return _Read(start, timedelta())
                elif found := pattern.fullmatch(text):
                    return self._date(found.groupdict())
            except (ValueError, OverflowError) as error:
                raise RuleSyntaxError(f"{place}: {quoted(text)} is not a date: {error}") from None
        names = " or ".join(name for name, _ in self._forms)
        raise RuleSyntaxError(f"{place}: {quoted(text)} is not a date of the format {names}")

    def _date(self, parts: dict[str, str | None]) -> _Read:
        fraction = (parts.get("S") or "").ljust(9, "0")
        zone = parts.get("zone")
        start = datetime(
            int(parts["yyyy"] or 0),
            int(parts.get("MM") or 1),
            int(parts.get("dd") or 1),
            int(parts.get("HH") or 0),
            int(parts.get("mm") or 0),
            int(parts.get("ss") or 0),
            int(fraction[:6]),
            tzinfo=_offset(zone) if zone else self._zone,
        )
        left_out = timedelta()
        for name, length in (("S", "s"), ("ss", "m"), ("mm", "h"), ("HH", "d")):
            if not parts.get(name):
                left_out = _LENGTHS[length]
        return _Read(start, left_out)


class _Step(NamedTuple):
    """One step of date math: some units are added, or the time is rounded to a unit."""

    unit: str
    n_units: int
    is_rounding: bool

    def interval(self, count: int) -> Interval:
        """Return so many units as an interval."""
        if self.unit in _MONTHS:
            return Interval(months=count * _MONTHS[self.unit])
        microseconds = round(_LENGTHS[self.unit] / timedelta(microseconds=1)) * count
        return Interval(microseconds=microseconds, is_days=microseconds % MICROSECONDS_PER_DAY == 0)


def _added(time: datetime, unit: str, count: int) -> datetime:
    if unit in _MONTHS:
        month = time.year * 12 + time.month - 1 + count * _MONTHS[unit]
        year, month = month // 12, month % 12 + 1
        return time.replace(year=year, month=month, day=min(time.day, calendar.monthrange(year, month)[1]))
    if unit in ("w", "d"):
        return time + _LENGTHS[unit] * count  # of the local calendar
    return (time.astimezone(UTC) + _LENGTHS[unit] * count).astimezone(time.tzinfo)


def _truncated(time: datetime, unit: str) -> datetime:
    match unit:
        case "s":
            return time.replace(microsecond=0)
        case "m":
            return time.replace(second=0, microsecond=0)
        case "h" | "H":
            return time.replace(minute=0, second=0, microsecond=0)
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "w":
            return midnight - timedelta(days=time.weekday())
        case "M":
            return midnight.replace(day=1)
        case "y":
            return midnight.replace(month=1, day=1)
    return midnight


def _offset(text: str) -> tzinfo:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return UTC
    length = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-length if found[1] == "-" else length) if length else UTC


def _zone(name: str | None, place: Place) -> tzinfo:
    if name is None or name in ("Z", "UTC", "GMT"):
        return UTC
    try:
        return _offset(name) if _OFFSET.fullmatch(name) else ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise RuleSyntaxError(f"{Place(place, 'time_zone')}: there is no time zone {quoted(name)}") from None


def _pattern(name: str, place: Place) -> re.Pattern[str]:
    if name in _NAMED:
        return re.compile(_NAMED[name], re.ASCII)
    made, taken = "", set[str]()
    for quote, letters, other in _parts(name):
        if not letters:
            made += re.escape(quote or other)
            continue
        piece = (
            rf"(?P<S>\d{{{len(letters)}}})" if set(letters) == {"S"} and len(letters) < 10 else _LETTERS.get(letters)
        )
        group = re.search(r"<(\w+)>", piece or "")
        if piece is None or group is None or group[1] in taken:
            raise RuleSyntaxError(f"{place}: the date format {quoted(name)} is not known here")
        taken.add(group[1])
        made += piece
    if "yyyy" not in taken:
        raise RuleSyntaxError(f"{place}: the date format {quoted(name)} has no year that can be read (yyyy or uuuu)")
    return re.compile(made, re.ASCII)


def _parts(name: str) -> list[tuple[str, str, str]]:
    """Return the pieces of a date pattern: quoted texts, runs of one letter, and other characters."""
    found = re.finditer(r"'([^']*)'|(([A-Za-z])\3*)|([^A-Za-z'])", name)
    return [(m[1] or ("'" if m[0] == "''" else ""), m[2] or "", m[4] or "") for m in found]

"""Functions of dates and times as Spark has them: parts, the time of the call, arithmetic, and times since 1970.

Times are given in the zone of the index, so their parts are those of its clock.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from typing import Final, TypeAlias

from ruledex import limits
from ruledex.errors import did_you_mean, quoted
from ruledex.language import clock
from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.functions.time_texts import PatternRefusedError, compile_pattern
from ruledex.language.value import Family, instant, localize
from ruledex.language.value_types import Interval


def day_of(moment: date) -> date:
    """Return the day of a time, or the date itself."""
    return moment.date() if isinstance(moment, datetime) else moment


def _clock(part: str) -> Callable[[date], int]:
    """Return a function that gives a part of the clock. A date stands for its midnight."""
    return lambda moment: getattr(moment, part, 0)


def date_diff(end: date, start: date) -> int:
    """Return the days from one date to another. Times of day do not count."""
    return (day_of(end) - day_of(start)).days


def _to_timestamp(text: str, pattern: str, *, zone: tzinfo) -> datetime | None:
    """Return the time that a string names in the form of a pattern, or None."""
    return compile_pattern(pattern).read(text, zone)


def _to_date(text: str, pattern: str, *, zone: tzinfo) -> date | None:
    """Return the day, in the zone, of the time that a string names in the form of a pattern, or None."""
    moment = _to_timestamp(text, pattern, zone=zone)
    return None if moment is None else moment.date()


def _check_pattern(constants: Constants) -> str | None:
    pattern = constants[1]
    if not isinstance(pattern, str):
        return "a time pattern must be a string"
    most = limits.current().time_pattern_characters
    if len(pattern) > most:
        return f"the time pattern has {len(pattern):,} characters, over the limit time_pattern_characters of {most:,}"
    try:
        compile_pattern(pattern)
    except PatternRefusedError as error:
        return str(error)
    return None


_ISO_DATE = "yyyy-MM-dd"
_TIME = Parameter("x", Family.TIME)
_TEXT = Parameter("x", Family.STRING)


def _part(name: str, call: Callable[[date], int], summary: str, example: str) -> Function:
    return Function(
        name=name,
        parameters=(_TIME,),
        result=Family.NUMBER,
        call=call,
        summary=summary,
        example=example,
        spark=f"{name}({{0}})",
    )


Number: TypeAlias = int | Decimal | float

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = -62_135_596_800_000_000  # microseconds: the years 1 to 9999
_LAST: Final = 253_402_300_799_999_999


# The time of the call.


def current_timestamp(*, zone: tzinfo) -> datetime:
    """Return the time of the call, in the zone."""
    return clock.local_now(zone)


def current_date(*, zone: tzinfo) -> date:
    """Return the day of the call, in the zone."""
    return clock.local_now(zone).date()


# Arithmetic.


def _add_interval(start: date, interval: Interval, *, zone: tzinfo) -> date | None:
    """Return a date or time plus an interval, or None beyond the years 1 to 9999."""
    return clock.add_interval(start, interval, zone)


def date_add(start: date, days: Number) -> date | None:
    """Return the day so many days later; None for a number that is not an integer of 32 bits."""
    return clock.add_days(day_of(start), days) if _is_int(days) else None  # type: ignore[arg-type]


def date_sub(start: date, days: Number) -> date | None:
    """Return the day so many days earlier; None for a number that is not an integer of 32 bits."""
    return clock.add_days(day_of(start), -days) if _is_int(days) else None  # type: ignore[arg-type]


def _add_months(start: date, months: Number) -> date | None:
    """Return the same day of another month, or its last day; None for a number that is not an integer of 32 bits."""
    return clock.add_months(day_of(start), months) if _is_int(months) else None  # type: ignore[arg-type]


def _is_int(number: Number) -> bool:
    return isinstance(number, int) and -(2**31) <= number < 2**31


# Times since 1970.


def timestamp_seconds(seconds: Number, *, zone: tzinfo) -> datetime | None:
    """Return the time so many seconds after 1970 in UTC; None for a decimal finer than microseconds."""
    if isinstance(seconds, float):
        # Cut off as in Java; a double beyond 64 bits is no time either.
        return _time(int(seconds * 1_000_000), zone) if abs(seconds) < 1e12 else None
    if isinstance(seconds, int):
        return _time(seconds * 1_000_000, zone)
    if not seconds.is_finite() or abs(seconds.adjusted()) > 40:
        return _time(0, zone) if seconds == 0 else None
    scaled = seconds.scaleb(6)
    return _time(int(scaled), zone) if scaled == scaled.to_integral_value() else None


def _times(factor: int) -> Callable[..., datetime | None]:
    def call(number: Number, *, zone: tzinfo) -> datetime | None:
        return _time(number * factor, zone) if isinstance(number, int) else None

    return call


def _time(microseconds: int, zone: tzinfo) -> datetime | None:
    if not _FIRST <= microseconds <= _LAST:
        return None
    return localize(_EPOCH + timedelta(microseconds=microseconds), zone)


def _since(unit: int) -> Callable[..., int]:
    def call(moment: date, *, zone: tzinfo) -> int:
        return instant(moment, zone) // unit

    return call


# Parts.

_UNITS: Final = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
    **dict.fromkeys(("day", "dd"), "day"),
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "millisecond": "millisecond",
    "microsecond": "microsecond",
}
_DATE_UNITS: Final = ("year", "quarter", "month", "week")
_SIZES: Final = {
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}


def date_trunc(unit: str, moment: date, *, zone: tzinfo) -> datetime | None:
    """Return the time at which the unit of a time begins: its year, …, day, hour, …"""
    named = _UNITS[unit.lower()]
    size = _SIZES.get(named)
    if size is None:
        day = day_of(moment)
        return _midnight(day if named == "day" else _first_day(named, day), zone)
    found = instant(moment, zone)
    local = moment if isinstance(moment, datetime) else _midnight(moment, zone)
    if not _FIRST <= found <= _LAST:
        return local if local.time() == time() else None  # in UTC, it lies beyond what Python can represent
    offset = (local.utcoffset() or timedelta(0)) // timedelta(microseconds=1)
    return _time((found + offset) // size * size - offset, zone)


def _midnight(day: date, zone: tzinfo) -> datetime:
    """Return the first moment of a day. For the first and last day of all, UTC may be beyond the years 1 to 9999."""
    return _time(instant(day, zone), zone) or datetime(day.year, day.month, day.day, tzinfo=zone)


def trunc(moment: date, unit: str) -> date:
    """Return the day on which the year, quarter, month or week of a day begins."""
    return _first_day(_UNITS[unit.lower()], day_of(moment))


def _first_day(unit: str, day: date) -> date:
    if unit == "week":
        return date.fromordinal(max(day.toordinal() - day.weekday(), date.min.toordinal()))
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1, "month": day.month}[unit]
    return date(day.year, month, 1)


def _check_unit(place: int, units: tuple[str, ...]) -> Callable[[Constants], str | None]:
    def check(constants: Constants) -> str | None:
        unit = constants[place]
        if isinstance(unit, str) and _UNITS.get(unit.lower()) in units:
            return None
        hint = did_you_mean(unit, units) if isinstance(unit, str) else ""
        return f"the unit is one of {', '.join(units)}, not {quoted(unit)}{hint and f'; {hint}'}"

    return check


# What date_part and extract call the parts that are functions, and those that only they have.
FUNCTION_OF_PART: Final = {
    **dict.fromkeys(("year", "y", "years", "yr", "yrs"), "year"),
    **dict.fromkeys(("quarter", "qtr"), "quarter"),
    **dict.fromkeys(("month", "mon", "mons", "months"), "month"),
    **dict.fromkeys(("week", "w", "weeks"), "weekofyear"),
    **dict.fromkeys(("day", "d", "days"), "day"),
    **dict.fromkeys(("dayofweek", "dow"), "dayofweek"),
    "doy": "dayofyear",
    **dict.fromkeys(("hour", "h", "hours", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "m", "min", "mins", "minutes"), "minute"),
}
PARTS: Final[dict[str, Callable[[date], int | Decimal]]] = {
    "second": lambda x: Decimal(getattr(x, "second", 0)) + Decimal(getattr(x, "microsecond", 0)).scaleb(-6),
    "yearofweek": lambda x: x.isocalendar().year,
    "dayofweek_iso": lambda x: x.isoweekday(),
}
PART_NAMES: Final = {
    **dict.fromkeys(("second", "s", "sec", "seconds", "secs"), "second"),
    "yearofweek": "yearofweek",
    **dict.fromkeys(("dayofweek_iso", "dow_iso"), "dayofweek_iso"),
}


def date_part(part: str, moment: date) -> int | Decimal:
    """Return the part of a time that has no function of its own: its second with the fraction, and so on."""
    return PARTS[PART_NAMES[part.lower()]](moment)


def _check_part(constants: Constants) -> str | None:
    part = constants[0]
    if isinstance(part, str) and part.lower() in PART_NAMES:
        return None
    known = (*FUNCTION_OF_PART, *PART_NAMES)
    hint = did_you_mean(part, known) if isinstance(part, str) else ""
    shown = "year, quarter, month, week, day, dayofweek, doy, hour, minute, second, yearofweek, dayofweek_iso"
    return f"the part is one of {shown}, not {quoted(part)}{hint and f'; {hint}'}"


_DAYS = Parameter("days", Family.NUMBER)
_WITHIN_YEARS = "if({{0}} >= {first} and {{0}} < {end}, {name}({{0}}), null)"


def _since_1970(name: str, call: Callable[..., datetime | None], unit: int, what: str, example: str) -> Function:
    first, end = _FIRST // unit, (_LAST + 1) // unit
    return Function(
        name=name,
        parameters=(Parameter("x", Family.NUMBER),),
        result=Family.TIME,
        call=call,
        summary=f"The time so many {what} after the beginning of 1970 in UTC; unknown beyond the years 1 to 9999.",
        example=example,
        spark=_WITHIN_YEARS.format(first=first, end=end, name=name),
        zoned=True,
    )


def _unix(name: str, unit: int, what: str, example: str) -> Function:
    return Function(
        name=name,
        parameters=(_TIME,),
        result=Family.NUMBER,
        call=_since(unit),
        summary=f"The whole {what} since the beginning of 1970 in UTC; a date stands for its midnight.",
        example=example,
        spark=f"{name}(cast({{0}} as timestamp))",
        zoned=True,
    )


FUNCTIONS: tuple[Function, ...] = (
    _part("year", lambda x: x.year, "The year.", "year(birthday) < 2000"),
    _part("quarter", lambda x: (x.month + 2) // 3, "The quarter of the year, from 1 to 4.", "quarter(ordered) = 4"),
    _part("month", lambda x: x.month, "The month, from 1 to 12.", "month(birthday) = 12"),
    _part("weekofyear", lambda x: x.isocalendar().week, "The week of ISO 8601, from 1 to 53.", "weekofyear(due) = 27"),
    _part("dayofyear", lambda x: x.timetuple().tm_yday, "The day of the year, from 1 to 366.", "dayofyear(due) <= 31"),
    _part("day", lambda x: x.day, "The day of the month, from 1 to 31.", "day(due) = 1"),
    _part(
        "dayofweek",
        lambda x: x.isoweekday() % 7 + 1,
        "The day of the week: 1 is Sunday, 7 is Saturday.",
        "dayofweek(seen) IN (1, 7)",
    ),
    _part("hour", _clock("hour"), "The hour, from 0 to 23; 0 for a date.", "hour(seen) BETWEEN 9 AND 17"),
    _part("minute", _clock("minute"), "The minute, from 0 to 59; 0 for a date.", "minute(seen) < 15"),
    _part("second", _clock("second"), "The whole second, from 0 to 59; 0 for a date.", "second(seen) = 0"),
    Function(
        name="date",
        parameters=(_TIME,),
        result=Family.TIME,
        call=day_of,
        summary="The day of a time.",
        example="date(seen) = DATE '2024-02-29'",
        spark="cast({0} as date)",
    ),
    Function(
        name="date_diff",
        parameters=(_TIME, Parameter("start", Family.TIME)),
        result=Family.NUMBER,
        call=date_diff,
        summary="The number of days since a start; times of day do not count.",
        example="date_diff(renewal, DATE '2024-01-01') >= 30",
        spark="datediff({0}, {1})",
    ),
    Function(
        name="to_timestamp",
        parameters=(_TEXT, Parameter("pattern", Family.STRING, literal=True)),
        result=Family.TIME,
        call=_to_timestamp,
        summary="The time that a string names in the form of one of Spark's datetime patterns; unknown if it has "
        "another form. A string without a zone is in the zone of the index.",
        example="to_timestamp(at, 'dd/MMM/yyyy:HH:mm:ss Z') > TIMESTAMP '2024-01-01 00:00:00'",
        spark="try_to_timestamp({0}, {1})",
        zoned=True,
        check=_check_pattern,
    ),
    Function(
        name="to_date",
        parameters=(_TEXT, Parameter("pattern", Family.STRING, literal=True, default=_ISO_DATE)),
        result=Family.TIME,
        call=_to_date,
        summary="The day that a string names in the form of one of Spark's datetime patterns; unknown if it has "
        "another form.",
        example="to_date(born, 'dd.MM.yyyy') < DATE '2000-01-01'",
        spark="cast(try_to_timestamp({0}, {1}) as date)",
        zoned=True,
        check=_check_pattern,
    ),
    Function(
        name="current_timestamp",
        parameters=(),
        result=Family.TIME,
        call=current_timestamp,
        summary="The time of the call, `now=` of `match` and its kin, or else of the clock: one for all events of a "
        "batch.",
        example="hour(current_timestamp()) BETWEEN 9 AND 17 AND current_timestamp() > DATE '2024-12-31'",
        spark="current_timestamp()",
        zoned=True,
    ),
    Function(
        name="current_date",
        parameters=(),
        result=Family.TIME,
        call=current_date,
        summary="The day of the call in the zone of the index.",
        example="current_date() < DATE '2024-12-31'",
        spark="current_date()",
        zoned=True,
    ),
    Function(
        name="add_interval",
        parameters=(_TIME, Parameter("interval", Family.INTERVAL, literal=True)),
        result=Family.TIME,
        call=_add_interval,
        summary="The time plus an interval, also written `x + INTERVAL 1 DAY`. Months and days are added to the local "
        "time in the zone of the index.",
        example="created + INTERVAL 30 DAYS < closed",
        spark="({0} + {1})",
        zoned=True,
    ),
    Function(
        name="date_add",
        parameters=(_TIME, _DAYS),
        result=Family.TIME,
        call=date_add,
        summary="The day so many days after the day of a time; unknown beyond the years 1 to 9999.",
        example="date_add(shipped, 14) < returned",
        spark="if({1} between -3650000 and 3650000, date_add({0}, cast({1} as int)), null)",
    ),
    Function(
        name="date_sub",
        parameters=(_TIME, _DAYS),
        result=Family.TIME,
        call=date_sub,
        summary="The day so many days before the day of a time; unknown beyond the years 1 to 9999.",
        example="date_sub(due, 3) <= paid",
        spark="if({1} between -3650000 and 3650000, date_sub({0}, cast({1} as int)), null)",
    ),
    Function(
        name="add_months",
        parameters=(_TIME, Parameter("months", Family.NUMBER)),
        result=Family.TIME,
        call=_add_months,
        summary="The same day of another month, or its last day if it has fewer; unknown beyond the years 1 to 9999.",
        example="add_months(hired, 6) < promoted",
        spark="if({1} between -120000 and 120000, add_months({0}, cast({1} as int)), null)",
    ),
    _since_1970("timestamp_seconds", timestamp_seconds, 1_000_000, "seconds", "timestamp_seconds(at) > seen"),
    _since_1970("timestamp_millis", _times(1000), 1000, "milliseconds", "timestamp_millis(at) > seen"),
    _since_1970("timestamp_micros", _times(1), 1, "microseconds", "timestamp_micros(at) > seen"),
    _unix("unix_seconds", 1_000_000, "seconds", "unix_seconds(seen) > 1700000000"),
    _unix("unix_millis", 1000, "milliseconds", "unix_millis(seen) > 1700000000000"),
    _unix("unix_micros", 1, "microseconds", "unix_micros(seen) > 1700000000000000"),
    Function(
        name="date_trunc",
        parameters=(Parameter("unit", Family.STRING, literal=True), _TIME),
        result=Family.TIME,
        call=date_trunc,
        summary="The time at which the year, quarter, month, week, day, hour, minute, second, millisecond or "
        "microsecond of a time begins.",
        example="date_trunc('month', seen) = TIMESTAMP '2024-02-01 00:00:00'",
        spark="date_trunc({0}, {1})",
        zoned=True,
        check=_check_unit(0, tuple(dict.fromkeys(_UNITS.values()))),
    ),
    Function(
        name="trunc",
        parameters=(_TIME, Parameter("unit", Family.STRING, literal=True)),
        result=Family.TIME,
        call=trunc,
        summary="The day on which the year, quarter, month or week of a day begins.",
        example="trunc(seen, 'month') = DATE '2024-02-01'",
        spark="trunc({0}, {1})",
        check=_check_unit(1, _DATE_UNITS),
    ),
    Function(
        name="date_part",
        parameters=(Parameter("field", Family.STRING, literal=True), _TIME),
        result=Family.NUMBER,
        call=date_part,
        summary="A part of a time by its name, also written `extract(second FROM x)`: year, quarter, month, week, day, "
        "dayofweek, doy, hour and minute are the functions of these names; second has a fraction; yearofweek is the "
        "year of ISO 8601; dayofweek_iso counts from Monday, 1.",
        example="date_part('second', seen) < 0.5",
        spark="date_part({0}, {1})",
        check=_check_part,
    ),
)

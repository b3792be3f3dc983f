"""Functions of dates and times. Times are given in the zone of the index, so their parts are those of its clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, tzinfo

from ruledex import limits
from ruledex.language.functions.datetime_pattern import PatternRefusedError, compile_pattern
from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.value import Family


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
)

"""Where a time lies among moments counted from now: an integer, so that a thousand moments cost one search.

`ts > now() - INTERVAL 3 DAYS` is `place(ts) > -6 days` for a function whose order is that of times: it is 2x at the
moment `now() + x`, and an odd number between two moments. The rewrites turn comparisons with moments into comparisons
of this function with integers (rewrite/literals.py), and what indexes integers indexes those. No cell depends on now.

Such a function exists for moments whose order never changes. But now plus 30 days may be before or after now plus a
month, and where the clock is moved, now plus two days may be before or after now plus a day and 23 hours and a half. So
moments have *forms*, inside of which the order is strict, whatever now is:

    months             now plus months
    time               months, then any microseconds, in a zone that never moves its clock
    +am, +pm, -am, -pm months, then days and a rest below (am) or from (pm) twelve hours, by sign; and just the months
    date months        today plus months
    days               today plus months, then days

In a zone that once skipped a whole day, two days begin at one moment, and one form has the even days, another the odd
ones. The months that come first are a parameter of the function, as is the form.
"""

from __future__ import annotations

from datetime import date, datetime, timezone, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Final

from ruledex.language import clock
from ruledex.language.clock import BEYOND
from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.value import Family, compare, instant
from ruledex.language.value_types import MICROSECONDS_PER_DAY, Moment

_HALF: Final = MICROSECONDS_PER_DAY // 2
_PARITY: Final = (" even", " odd")
_SAMPLED: Final = range(1840, 2101)  # years
_LARGE_MOVE: Final = 6 * 3600  # seconds; all others are of three hours or less
_WITH_PARITY: Final = ("+am", "+pm", "-am", "-pm", "days")
FORMS: Final = frozenset(
    ("months", "time", "date months", *(form + parity for form in _WITH_PARITY for parity in ("", *_PARITY)))
)


def place_moment(moment: Moment, zone: tzinfo) -> tuple[int, str, int]:
    """Return the months and the form of the function for a moment, and the value of the function at it."""
    months, microseconds = moment.months, moment.microseconds
    if moment.is_date:
        if not microseconds and months:
            return 0, "date months", 2 * months
        days = microseconds // MICROSECONDS_PER_DAY
        return months, "days" + _parity(days, zone), 2 * days
    if not microseconds and months:
        return 0, "months", 2 * months
    if _is_fixed(zone):
        return months, "time", 2 * microseconds
    days, rest = divmod(abs(microseconds), MICROSECONDS_PER_DAY)
    form = ("-" if microseconds < 0 else "+") + ("am" if rest < _HALF else "pm")
    return months, form + _parity(days, zone), 2 * microseconds


def has_start(form: str) -> bool:
    """Return whether a form has the moment that it counts from too, at 0."""
    return not form.endswith(_PARITY[1])


def _parity(days: int, zone: tzinfo) -> str:
    return _PARITY[days % 2] if _skips_a_day(zone) else ""


@lru_cache(maxsize=64)
def _is_fixed(zone: tzinfo) -> bool:
    return isinstance(zone, timezone) or str(zone).partition("/")[0] in ("UTC", "GMT", "Etc")


@lru_cache(maxsize=64)
def _skips_a_day(zone: tzinfo) -> bool:
    """Return whether the zone ever moved its clock forward by hours, across the line where dates change."""
    offsets = [datetime(year, 1, 1, tzinfo=zone).utcoffset() for year in _SAMPLED]
    seconds = [0.0 if offset is None else offset.total_seconds() for offset in offsets]
    return any(after - before >= _LARGE_MOVE for before, after in pairwise(seconds))


# The function.


def moment_place(value: date, months: int, form: str, *, zone: tzinfo) -> int:
    """Return where a date or time lies among the moments of a form."""
    form, _, parity = form.partition(" ") if not form.startswith("date") else (form, "", "")
    if form == "days":
        return _among_days(value, months, parity, zone)
    if form == "date months":
        return _among_months_of_dates(value, zone)
    found = instant(value, zone)
    if form == "months":
        return _among_months(value, found, zone)
    start = clock.instant_after(months, 0, zone)
    if abs(start) == BEYOND:
        return -BEYOND if start > 0 else BEYOND
    if form == "time":
        return 2 * (found - start)
    sign = -1 if form[0] == "-" else 1
    ahead = sign * (found - start)
    if ahead < 0:
        return -sign
    if ahead == 0 and parity != "odd":
        return 0
    return sign * _ahead(found, months, sign, 0 if form[1:] == "am" else _HALF, parity, ahead, zone)


def _ahead(found: int, months: int, sign: int, low: int, parity: str, ahead: int, zone: tzinfo) -> int:
    """Return the place of a time, seen from the start in the direction of the sign.

    Looks for the last day of the form whose first moment, `low` after its beginning, is not after the time.
    """
    days = ahead // MICROSECONDS_PER_DAY + 1  # a day of the calendar may be shorter
    step = 1
    if parity:
        days, step = days + 1 + (days % 2 == (parity == "odd")), 2
    while days >= 0:
        rest = sign * (found - clock.instant_after(months, sign * days, zone))
        if rest >= low:
            last = low + _HALF - 1
            is_moment = rest <= last
            return 2 * (days * MICROSECONDS_PER_DAY + (rest if is_moment else last)) + (not is_moment)
        days -= step
    return 1  # before the first moment of the form


def _among_months(value: date, found: int, zone: tzinfo) -> int:
    months = _months_from(clock.local_now(zone), value) + 1
    while clock.instant_after(months, 0, zone) > found:
        months -= 1
    return 2 * months + (clock.instant_after(months, 0, zone) != found)


def _months_from(start: date, end: date) -> int:
    return (end.year - start.year) * 12 + end.month - start.month


def _among_months_of_dates(value: date, zone: tzinfo) -> int:
    today = clock.local_now(zone).date()
    months = _months_from(today, value) + 1
    while (order := _order(today, months, value, zone)) > 0:
        months -= 1
    return 2 * months + (order != 0)


def _order(today: date, months: int, value: date, zone: tzinfo) -> int:
    day = clock.add_months(today, months)
    if day is None:  # beyond the years 1 to 9999
        return 1 if months > 0 else -1
    return compare(day, value, zone)


def _among_days(value: date, months: int, parity: str, zone: tzinfo) -> int:
    start = clock.add_months(clock.local_now(zone).date(), months)
    if start is None:
        return -BEYOND if months > 0 else BEYOND
    day = value.toordinal()
    if not isinstance(value, datetime):
        return 2 * (day - start.toordinal())
    found = instant(value, zone)
    while _beginning(day + 1, zone) <= found:  # the clock went back over midnight
        day += 1
    begins = _beginning(day, zone) == found
    if begins and parity and (day - start.toordinal()) % 2 != (parity == "odd") and _beginning(day - 1, zone) == found:
        day -= 1
    return 2 * (day - start.toordinal()) + (not begins)


def _beginning(day: int, zone: tzinfo) -> int:
    if not date.min.toordinal() <= day <= date.max.toordinal():
        return BEYOND if day > 0 else -BEYOND
    return instant(date.fromordinal(day), zone)


def is_between(value: date, low: date, high: date, *, zone: tzinfo) -> bool:
    """Return whether a time lies between two others, or is one of them."""
    return compare(value, low, zone) >= 0 and compare(value, high, zone) <= 0


_TIME = Parameter("x", Family.TIME)

# Only rewrites make these. They have names, since a stored index keeps its operands as texts.
FUNCTIONS: tuple[Function, ...] = (
    Function(
        name="moment_place",
        parameters=(
            _TIME,
            Parameter("months", Family.NUMBER, literal=True),
            Parameter("form", Family.STRING, literal=True),
        ),
        result=Family.NUMBER,
        call=moment_place,
        summary="Where a time lies among moments of one form that are counted from now.",
        example="moment_place(seen, 0, 'time') > 0",
        spark=None,
        zoned=True,
        check=lambda constants: None if constants[2] in FORMS else "there is no such form of moments",
    ),
    Function(
        name="is_between",
        parameters=(_TIME, Parameter("low", Family.TIME), Parameter("high", Family.TIME)),
        result=Family.BOOLEAN,
        call=is_between,
        summary="Whether a time lies between two others, or is one of them.",
        example="is_between(seen, current_timestamp(), DATE '2024-12-31')",
        spark="({0} between {1} and {2})",
        zoned=True,
    ),
)

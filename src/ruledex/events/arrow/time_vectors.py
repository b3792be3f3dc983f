"""Parts of dates and times as vectors, by the clock of the index's zone, as language/functions/calendar.py has them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.events.arrow.clocks import MICROSECONDS_PER_DAY, unsafe_moments, wall_of_utc
from ruledex.events.arrow.number_vectors import integer_vector
from ruledex.events.arrow.vectors import NOTHING, TIMES, Of, UnvectoredError, Vector, either
from ruledex.language import clock
from ruledex.language.clock import BEYOND

_HOUR, _MINUTE, _SECOND = 3_600_000_000, 60_000_000, 1_000_000
Integers: TypeAlias = NDArray[np.int64]


class Clock:
    """The times of one batch by the clock of a zone. Converts each vector once."""

    def __init__(self, zone: tzinfo) -> None:
        self.zone = zone
        self._walls: dict[int, tuple[Vector, Integers, Integers]] = {}

    def days(self, vector: Vector) -> Integers:
        """Return the days since 1970 of dates and times."""
        return vector.values if vector.of is Of.DAY else self._split(vector)[0]

    def times_of_day(self, vector: Vector) -> Integers:
        """Return the microseconds since midnight; 0 for dates."""
        return np.zeros_like(vector.values) if vector.of is Of.DAY else self._split(vector)[1]

    def _split(self, vector: Vector) -> tuple[Integers, Integers]:
        known = self._walls.get(id(vector.values))
        if known is None:
            walls = wall_of_utc(np.atleast_1d(vector.values), self.zone)
            days = walls // MICROSECONDS_PER_DAY
            # The vector is kept, so that no other can have the same id.
            known = self._walls[id(vector.values)] = (vector, days, walls - days * MICROSECONDS_PER_DAY)
        return known[1], known[2]


def _part(compute: Callable[[Clock, Vector], Any]) -> Callable[[Clock, Vector], Vector]:
    def call(clock: Clock, vector: Vector) -> Vector:
        if vector.of is Of.TEXT:  # it may name a time
            raise UnvectoredError
        if vector.of not in TIMES:
            return NOTHING
        return integer_vector(compute(clock, vector), vector)

    return call


def months_of_days(days: Integers) -> Integers:
    """Return the months since 1970 of days."""
    found: Integers = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return found


def _first_days(numbers: Integers, unit: str) -> Integers:
    found: Integers = numbers.astype(f"datetime64[{unit}]").astype("datetime64[D]").astype(np.int64)
    return found


def _years(days: Integers) -> Integers:
    found: Integers = days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64)
    return found


def _week(days: Integers) -> Integers:
    """Return the week of ISO 8601: that of the Thursday between Monday and Sunday."""
    thursdays = days - (days + 3) % 7 + 3
    return (thursdays - _first_days(_years(thursdays), "Y")) // 7 + 1


def _day_of_month(days: Integers) -> Integers:
    return days - _first_days(months_of_days(days), "M") + 1


def day_vector(clock: Clock, vector: Vector) -> Vector:
    """Return the day of a time."""
    if vector.of is Of.TEXT:
        raise UnvectoredError
    return vector._replace(of=Of.DAY, values=clock.days(vector)) if vector.of in TIMES else NOTHING


def _date_diff(clock: Clock, end: Vector, start: Vector) -> Vector:
    if Of.TEXT in (end.of, start.of):
        raise UnvectoredError
    if end.of not in TIMES or start.of not in TIMES:
        return NOTHING
    return integer_vector(clock.days(end) - clock.days(start), end, start)


FUNCTIONS: Final[dict[str, Callable[..., Vector]]] = {
    "year": _part(lambda clock, x: _years(clock.days(x)) + 1970),
    "quarter": _part(lambda clock, x: months_of_days(clock.days(x)) % 12 // 3 + 1),
    "month": _part(lambda clock, x: months_of_days(clock.days(x)) % 12 + 1),
    "weekofyear": _part(lambda clock, x: _week(clock.days(x))),
    "dayofyear": _part(lambda clock, x: clock.days(x) - _first_days(_years(clock.days(x)), "Y") + 1),
    "day": _part(lambda clock, x: _day_of_month(clock.days(x))),
    "dayofweek": _part(lambda clock, x: (clock.days(x) + 4) % 7 + 1),
    "hour": _part(lambda clock, x: clock.times_of_day(x) // _HOUR),
    "minute": _part(lambda clock, x: clock.times_of_day(x) // _MINUTE % 60),
    "second": _part(lambda clock, x: clock.times_of_day(x) // _SECOND % 60),
    "date": day_vector,
    "cast_date": day_vector,
    "date_diff": _date_diff,
}


_HALF: Final = MICROSECONDS_PER_DAY // 2


def moment_place_vector(given: Clock, vector: Vector, months: Vector, form: Vector) -> Vector:
    """Return where times lie among the moments of a form. Dates, and forms of dates, are left to one by one."""
    name, _, parity = str(form.values).partition(" ")
    start = clock.instant_after(int(months.values), 0, given.zone)
    if vector.of is not Of.MOMENT or name in ("days", "date") or abs(start) == BEYOND:
        raise UnvectoredError
    without = either(vector.missing, vector.odd)
    times = np.atleast_1d(vector.values if without is None else np.where(without, start, vector.values))
    if name == "time":
        return integer_vector(2 * (times - start), vector)
    if unsafe_moments(times) is not None:
        raise UnvectoredError
    if name == "months":
        return integer_vector(_among_months(given, vector._replace(values=times)), vector)
    sign = -1 if name[0] == "-" else 1
    ahead = sign * (times - start)
    places = np.where(ahead < 0, -sign, 0)
    rest = np.flatnonzero((ahead > 0) | ((ahead == 0) & (parity == "odd")))
    low = 0 if name[1:] == "am" else _HALF

    def moment(days: int) -> int:
        return clock.instant_after(int(months.values), sign * days, given.zone)

    places[rest] = sign * _ahead(sign * times[rest], lambda days: sign * moment(days), low, parity, ahead[rest])
    return integer_vector(places, vector)


def _among_months(given: Clock, vector: Vector) -> Integers:
    now = clock.local_now(given.zone)
    months = months_of_days(given.days(vector)) - ((now.year - 1970) * 12 + now.month - 1) + 1
    while True:
        moments = _moments(months, lambda number: clock.instant_after(number, 0, given.zone))
        is_late = moments > vector.values
        if not is_late.any():
            places: Integers = 2 * months + (moments != vector.values)
            return places
        months = months - is_late


def _ahead(times: Integers, moment: Callable[[int], int], low: int, parity: str, ahead: Integers) -> Integers:
    """Return the places of times, which increase in the direction in which days are counted."""
    days = ahead // MICROSECONDS_PER_DAY + 1  # a day of the calendar may be shorter
    step = 1
    if parity:
        days, step = days + 1 + (days % 2 == int(parity == "odd")), 2
    places = np.ones_like(days)  # before the first moment of the form
    left, last = np.arange(len(days)), low + _HALF - 1
    while len(left):
        rest = times[left] - _moments(days[left], moment)
        is_found = rest >= low
        at, rest = left[is_found], rest[is_found]
        places[at] = 2 * (days[at] * MICROSECONDS_PER_DAY + np.minimum(rest, last)) + (rest > last)
        left = left[~is_found]
        days[left] -= step
        left = left[days[left] >= 0]
    return places


def _moments(numbers: Integers, moment: Callable[[int], int]) -> Integers:
    distinct, codes = np.unique(numbers, return_inverse=True)
    moments: NDArray[np.int64] = np.array([moment(number) for number in distinct.tolist()], np.int64)
    return moments[codes]

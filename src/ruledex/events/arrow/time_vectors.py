"""Parts of dates and times as vectors, by the clock of the index's zone, as language/functions/calendar.py has them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.events.arrow.clocks import MICROSECONDS_PER_DAY, wall_of_utc
from ruledex.events.arrow.number_vectors import integer_vector
from ruledex.events.arrow.vectors import NOTHING, TIMES, Of, UnvectoredError, Vector

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

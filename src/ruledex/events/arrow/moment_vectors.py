"""Where times lie among moments that are counted from now, as vectors, as language/functions/moment_places.py has one.

The moments are asked for once per number of months or days, of which the times of a batch have few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ruledex.events.arrow.clocks import MICROSECONDS_PER_DAY, unsafe_moments
from ruledex.events.arrow.number_vectors import integer_vector
from ruledex.events.arrow.time_vectors import Clock, Integers, months_of_days
from ruledex.events.arrow.vectors import Of, UnvectoredError, Vector, either
from ruledex.language import clock
from ruledex.language.clock import BEYOND

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

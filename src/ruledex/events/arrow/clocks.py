"""Convert many times between UTC and a zone's clock at once, as `localize` and `instant` (language/value.py) do one.

The distance of a clock from UTC changes in steps. They are found by looking at each day of the years that the times lie
in, once per process. No zone has ever changed its clock twice within three days.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)
FIRST_MOMENT: Final = (datetime.min - _EPOCH) // _MICROSECOND
LAST_MOMENT: Final = (datetime.max - _EPOCH) // _MICROSECOND
MICROSECONDS_PER_DAY: Final = 86_400_000_000
_FIRST_SAFE: Final = FIRST_MOMENT + 2 * MICROSECONDS_PER_DAY
_LAST_SAFE: Final = LAST_MOMENT - 2 * MICROSECONDS_PER_DAY
_BITS: Final = 45  # of the microseconds of one span, about a year


def unsafe_moments(moments: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Return which times are so near to the ends of Python's calendar that a zone may lead beyond; None if none is."""
    is_unsafe = (moments < _FIRST_SAFE) | (moments > _LAST_SAFE)
    return is_unsafe if is_unsafe.any() else None


@lru_cache(64)
def moments_of_years(zone: tzinfo) -> tuple[int, int]:
    """Return the first and the last moment of the years 1 to 9999, as clocks of UTC or of a zone have them."""
    first, last = (_microseconds(end.replace(tzinfo=zone).utcoffset()) for end in (datetime.min, datetime.max))
    return min(FIRST_MOMENT, FIRST_MOMENT - first), max(LAST_MOMENT, LAST_MOMENT - last)


def time_at_end(moment: int, zone: tzinfo) -> datetime:
    """Return the time of a moment of the years 1 to 9999 in a zone, which may be beyond them in UTC."""
    wall = datetime.min if moment < FIRST_MOMENT else datetime.max
    offset = _microseconds(wall.replace(tzinfo=zone).utcoffset())
    return wall_time(moment + offset).replace(tzinfo=zone)


def wall_time(moment: int) -> datetime:
    """Return a time of a clock from its microseconds."""
    return _EPOCH + moment * _MICROSECOND


class _Steps:
    """The distance from UTC, in microseconds, as a function of a time in microseconds."""

    def __init__(self, distance_at: Callable[[int], int]) -> None:
        self._distance_at = distance_at
        self._spans: dict[int, list[tuple[int, int]]] = {}  # by number: times, and the distance from each on

    def at(self, moments: NDArray[np.int64]) -> NDArray[np.int64]:
        numbers = moments >> _BITS
        first = numbers.min()
        used = np.flatnonzero(np.bincount(numbers - first)) + first
        steps = [step for number in used.tolist() for step in self._steps_in(number)]
        begins, distances = np.array(steps, np.int64).T
        if (distances == distances[0]).all():
            return np.broadcast_to(distances[0], moments.shape)
        found: NDArray[np.int64] = distances[np.searchsorted(begins, moments, side="right") - 1]
        return found

    def _steps_in(self, number: int) -> list[tuple[int, int]]:
        known = self._spans.get(number)
        if known is not None:
            return known
        begin, end = number << _BITS, (number + 1) << _BITS
        steps = [(begin, self._distance_at(begin))]
        while begin < end:
            until = min(begin + MICROSECONDS_PER_DAY, end)
            distance = self._distance_at(until)
            if distance != steps[-1][1]:
                steps.append((self._change(begin, until, distance), distance))
            begin = until
        self._spans[number] = steps
        return steps

    def _change(self, before: int, after: int, distance: int) -> int:
        """Return the first time with a new distance, which it has not before and has after."""
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (before, middle) if self._distance_at(middle) == distance else (middle, after)
        return after


class _Clock(NamedTuple):
    of_utc: _Steps
    of_wall: _Steps


@lru_cache(64)
def _clock(zone: tzinfo) -> _Clock:
    def at(moment: int, margin: int) -> datetime:
        return wall_time(max(FIRST_MOMENT + margin, min(moment, LAST_MOMENT - margin)))

    def of_utc(moment: int) -> int:
        return _microseconds(at(moment, 2 * MICROSECONDS_PER_DAY).replace(tzinfo=UTC).astimezone(zone).utcoffset())

    def of_wall(moment: int) -> int:
        return _microseconds(at(moment, 0).replace(tzinfo=zone).utcoffset())

    return _Clock(_Steps(of_utc), _Steps(of_wall))


def _microseconds(offset: timedelta | None) -> int:
    assert offset is not None  # every zone says how far from UTC it is
    return offset // _MICROSECOND


def utc_of_wall(moments: NDArray[np.int64], zone: tzinfo) -> NDArray[np.int64]:
    """Convert times of a zone's clock, as microseconds since 1970, to UTC: of two that look alike, the first."""
    if not len(moments) or str(zone) == "UTC":
        return moments
    return moments - _clock(zone).of_wall.at(moments)


def wall_of_utc(moments: NDArray[np.int64], zone: tzinfo) -> NDArray[np.int64]:
    """Convert times of UTC to a zone's clock. Those within two days of the years 0 and 10,000 may be wrong."""
    if not len(moments) or str(zone) == "UTC":
        return moments
    return moments + _clock(zone).of_utc.at(moments)

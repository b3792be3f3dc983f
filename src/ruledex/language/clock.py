"""The time of a call, and how intervals are added to times: by Spark's calendar, in the zone of the index.

Each call that asks rules of events has one time, `now()`, however many events and rules it has: the given one, or else
the clock. `asked_at` sets it for what runs inside a `with`.

Months and whole days are added to the local time. If the clock skips the result, it is later by what is skipped; if the
clock shows it twice, it is the one with the offset that the time had before, if there is such, and else the first. What
is left of a day is then added as real time.
"""

from __future__ import annotations

from calendar import monthrange
from contextvars import ContextVar, Token
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Final, TypeAlias

from ruledex.errors import RuledexError, quoted
from ruledex.language.plain import plain
from ruledex.language.value import instant, localize, read_time
from ruledex.language.value_types import MICROSECONDS_PER_DAY, Interval, Moment

Now: TypeAlias = Any  # a time of Python, NumPy or pandas, its ISO text, or None for the clock

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
BEYOND: Final = 2**61  # microseconds: after all times that an event can have


class Asked:
    """The time of one call, and what was computed from it so far."""

    __slots__ = ("known", "now")

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.known: dict[Any, Any] = {}


_asked: ContextVar[Asked | None] = ContextVar("asked", default=None)


def asked() -> Asked:
    """Return the time of the call that is being answered; outside of one, the clock's."""
    return _asked.get() or Asked(datetime.now(UTC))


class asked_at:  # noqa: N801  # used as a function
    """Answer what is asked inside a `with` as of one time: `now`, or the clock if it is None.

    A call inside another has the time of the outer one, unless it names its own.
    """

    __slots__ = ("_now", "_token", "_zone")

    def __init__(self, now: Now, zone: tzinfo) -> None:
        self._now = now
        self._zone = zone
        self._token: Token[Asked | None] | None = None

    def __enter__(self) -> None:
        if self._now is not None:
            self._token = _asked.set(Asked(read_now(self._now, self._zone)))
        elif _asked.get() is None:
            self._token = _asked.set(Asked(datetime.now(UTC)))

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _asked.reset(self._token)


def read_now(given: Any, zone: tzinfo) -> datetime:
    """Return what a user gave as now: a time of Python, NumPy or pandas, or a text. Without a zone it is in `zone`."""
    value = plain(given)
    if isinstance(value, str):
        value = read_time(value.strip(), zone)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = _at(instant(value, zone), UTC)
    if not isinstance(value, datetime):
        raise RuledexError(f"now is a time such as 2024-12-31T23:59:59Z, not {quoted(given)}")
    return localize(value, zone)


def local_now(zone: tzinfo) -> datetime:
    """Return the time of the call in a zone."""
    call = asked()
    found: datetime | None = call.known.get(zone)
    if found is None:
        found = call.known[zone] = localize(call.now, zone)
    return found


# Arithmetic.


def add_interval(start: date, interval: Interval, zone: tzinfo) -> date | None:
    """Return a date or time plus an interval, or None beyond the years 1 to 9999."""
    if not isinstance(start, datetime):
        if interval.keeps_dates:
            if interval.months:
                return add_months(start, interval.months)
            return add_days(start, interval.microseconds // MICROSECONDS_PER_DAY)
        start = _at(instant(start, zone), zone)
    try:
        if interval.months:
            day = add_months(start.date(), interval.months)
            return None if day is None else _resolved(day, start, zone)
        days, rest = _days_and_rest(interval.microseconds)
        if days:
            start = _resolved(start.date() + days * _DAY, start, zone)
        return (start.astimezone(UTC) + timedelta(microseconds=rest)).astimezone(zone) if rest else start
    except OverflowError:
        return None


def add_months(day: date, months: int) -> date | None:
    """Return the same day of another month, or its last day if it has fewer; None beyond the years 1 to 9999."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not date.min.year <= year <= date.max.year:
        return None
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def add_days(day: date, days: int) -> date | None:
    """Return the date so many days later; None beyond the years 1 to 9999."""
    ordinal = day.toordinal() + days
    return date.fromordinal(ordinal) if date.min.toordinal() <= ordinal <= date.max.toordinal() else None


def _days_and_rest(microseconds: int) -> tuple[int, int]:
    """Return whole days and the rest, both with the sign of the whole, as Java divides."""
    days, rest = divmod(abs(microseconds), MICROSECONDS_PER_DAY)
    return (days, rest) if microseconds >= 0 else (-days, -rest)


def _resolved(day: date, like: datetime, zone: tzinfo) -> datetime:
    """Return the time of a day at the wall clock of another time, as Java's ZonedDateTime resolves it."""
    wall = datetime.combine(day, like.time(), zone)
    first, second = (wall.replace(fold=fold).utcoffset() for fold in (0, 1))
    assert first is not None
    assert second is not None
    fold = 1 if second < first and like.utcoffset() == second else 0  # the clock shows it twice
    return wall.replace(fold=fold).astimezone(UTC).astimezone(zone)


def _at(microseconds: int, zone: tzinfo) -> datetime:
    return (_EPOCH + timedelta(microseconds=microseconds)).astimezone(zone)


# Moments.


def moment_at(moment: Moment, zone: tzinfo) -> date:
    """Return the date or time that a moment is in this call. Beyond the years 1 to 9999 it is the first or last one."""
    start: date = local_now(zone).date() if moment.is_date else local_now(zone)
    for interval in moment.steps():
        found = add_interval(start, interval, zone)
        if found is None:
            is_late = interval.months > 0 or interval.microseconds > 0
            if moment.is_date:
                return date.max if is_late else date.min
            return (datetime.max if is_late else datetime.min).replace(tzinfo=zone)
        start = found
    return start


def instant_after(months: int, days: int, zone: tzinfo) -> int:
    """Return now plus months, and then plus days, in microseconds since 1970; `BEYOND` if no event can be so late.

    It is computed once per call.
    """
    call = asked()
    key = zone, months, days
    found: int | None = call.known.get(key)
    if found is None:
        start: date | None = local_now(zone)
        for interval in (Interval(months=months), Interval(microseconds=days * MICROSECONDS_PER_DAY)):
            if start is not None and (interval.months or interval.microseconds):
                start = add_interval(start, interval, zone)
                if start is None:
                    found = BEYOND if interval.months + interval.microseconds > 0 else -BEYOND
        if start is not None:
            found = instant(start, zone)
        assert found is not None
        call.known[key] = found
    return found

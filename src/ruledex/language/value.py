"""Constants and the values of events: their families, and how two of one family compare.

A *family* is a set of types whose values can be compared. A predicate is unknown if the value and the constant have
different families.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import StrEnum

from ruledex.language.tree import Between, Compare, Exists, In, Like, NullSafe, Predicate, Rlike, SetTest, Value, Within
from ruledex.language.value_types import Interval, MavenVersion, Moment, Network, Version

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class Family(StrEnum):
    """The sets of types whose values can be compared."""

    BOOLEAN = "boolean"
    NUMBER = "number"
    STRING = "string"
    TIME = "time"
    VERSION = "version"
    MAVEN = "Maven version"
    ADDRESS = "address"
    INTERVAL = "interval"
    ANY = "any"  # of an undeclared attribute: the family of the constant


FAMILY_OF_TYPE: dict[type, Family] = {
    bool: Family.BOOLEAN,
    int: Family.NUMBER,
    float: Family.NUMBER,
    Decimal: Family.NUMBER,
    str: Family.STRING,
    date: Family.TIME,
    datetime: Family.TIME,
    Version: Family.VERSION,
    MavenVersion: Family.MAVEN,
    Network: Family.ADDRESS,
    Interval: Family.INTERVAL,
    Moment: Family.TIME,
}


def family_of(value: object) -> Family | None:
    """Return the family of a constant or an event's value, or None for structs and all else that no rule can name."""
    return FAMILY_OF_TYPE.get(type(value))


def constant_family(predicate: Predicate) -> Family | None:
    """Return the family of a predicate's constants. A value of another family makes the predicate unknown."""
    if isinstance(predicate, Within):  # the first asked for: an index asks this of each of its literals
        if predicate.values:
            return family_of(predicate.values[0])
        bound = predicate.bounds[0]
        return family_of(bound.high if bound.low is None else bound.low)
    match predicate:
        case Compare(_, _, value) | NullSafe(_, value) | Between(_, value):
            return family_of(value)
        case In(_, values) | SetTest(_, _, values):
            return family_of(values[0])
        case Like() | Rlike():
            return Family.STRING
        case Exists():
            return Family.ANY
    return None


def is_missing(value: object) -> bool:
    """Return whether a plain value is null or NaN, which both count as missing."""
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float):
        return math.isnan(value)
    return value is None


# ISO 8601 in the extended form, as JSON carries it. The form of a text says whether it is a date or a
# time, so a JSON event gives the same answers as the Arrow event from which it was written.
_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(\.\d{1,9})?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?", re.ASCII
)


def read_time(text: str, zone: tzinfo | None) -> date | datetime | None:
    """Return the date or time that a text names, or None if it names neither.

    A time is converted to `zone`. If `zone` is None it stays as written, naive if the text names no zone.
    """
    match = _ISO.fullmatch(text)
    if match is None or (match[4] and not match[3]):
        return None
    day, minutes, seconds, fraction, offset = match.groups()
    try:
        if minutes is None:
            return date.fromisoformat(day)
        # Times have microseconds, as in Spark; finer digits are cut off.
        moment = datetime.fromisoformat(f"{day}T{minutes}{seconds or ':00'}{(fraction or '.0')[:7]:0<7}{offset or ''}")
        return moment if zone is None else localize(moment, zone)
    except (ValueError, OverflowError):
        return None


def localize(moment: datetime, zone: tzinfo) -> datetime:
    """Return a time in the zone of the index. A naive time is taken to be in that zone, others are converted."""
    if moment.utcoffset() is None:
        moment = moment.replace(tzinfo=zone)
    try:
        # Converting through UTC turns an hour that the clock skips into the one after it, as in Java.
        return moment.astimezone(UTC).astimezone(zone)
    except OverflowError:  # the year in that zone is beyond Python's range: the moment stays as it is
        return moment


def fit(value: object, family: Family, zone: tzinfo) -> Value | None:
    """Return the value of an event as a member of a family, or None if it is not one."""
    if family is Family.TIME:
        if isinstance(value, datetime):
            return localize(value, zone)
        if isinstance(value, str):
            return read_time(value, zone)
    if family is Family.ANY or family_of(value) is family:
        return value  # type: ignore[return-value]  # its family says that it is a Value
    return None


def as_double(number: int | Decimal | float) -> float:
    """Return the nearest double, or infinity beyond the largest one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_SECOND = 1_000_000  # microseconds
MOST_DAYS_AT_ONE_MIDNIGHT = 3  # a zone is less than a day from UTC, so that a clock skips less than two days


def instant(moment: date | datetime, zone: tzinfo) -> int:
    """Return a date or time as microseconds since 1970 in UTC. A date is the first moment of its day.

    The result is an integer, because Python's first and last days reach beyond the range of datetime in most zones.
    """
    if not isinstance(moment, datetime):
        return _first_moment(moment, zone)
    # Two times that share a zone object compare by the wall clock in Python, which is wrong in the hour
    # that the clock repeats; in UTC there is no such hour.
    offset = moment.utcoffset()
    if offset is None:
        offset = moment.replace(tzinfo=zone).utcoffset()
    return _microseconds(moment) - _in_microseconds(offset)


def _microseconds(wall: datetime) -> int:
    return (wall.replace(tzinfo=None) - _EPOCH) // _MICROSECOND


def _in_microseconds(offset: timedelta | None) -> int:
    assert offset is not None  # every zone says how far from UTC it is
    return offset // _MICROSECOND


def _first_moment(day: date, zone: tzinfo) -> int:
    """Return the midnight at which a day begins: the first of two, or the moment after the gap if it is skipped."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    before, after = (_in_microseconds(midnight.replace(fold=fold).utcoffset()) for fold in (0, 1))
    wall = _microseconds(midnight)
    if after <= before:
        return wall - before
    # The gap may have begun before midnight (23:30 became 00:30 in Toronto in 1919), so the clock must have been moved
    # somewhere in between, on a whole second. As in Java, the day begins at that moment.
    early, late = (wall - after) // _SECOND, (wall - before) // _SECOND  # not yet moved, moved
    while late - early > 1:
        middle = (early + late) // 2
        is_moved = _offset_at(middle * _SECOND, zone) == after
        early, late = (early, middle) if is_moved else (middle, late)
    return late * _SECOND


def _offset_at(moment: int, zone: tzinfo) -> int:
    return _in_microseconds((_EPOCH.replace(tzinfo=UTC) + moment * _MICROSECOND).astimezone(zone).utcoffset())


def shares_its_midnight(day: date, zone: tzinfo) -> bool:
    """Return whether another day begins at the same moment, because the zone skipped one of the two."""
    mine = instant(day, zone)
    ordinals = (day.toordinal() - 1, day.toordinal() + 1)
    return any(
        instant(date.fromordinal(ordinal), zone) == mine
        for ordinal in ordinals
        if date.min.toordinal() <= ordinal <= date.max.toordinal()
    )


def compare(left: Value, right: Value, zone: tzinfo) -> int:
    """Return -1, 0 or 1 for two values of one family. With a double, both compare as doubles; all else is exact."""
    if isinstance(left, Network) and isinstance(right, Network):
        return 0 if right.holds(left) else (-1 if left.first < right.first else 1)
    if (
        isinstance(left, date)
        and isinstance(right, date)
        and (isinstance(left, datetime) or isinstance(right, datetime))
    ):
        left, right = instant(left, zone), instant(right, zone)
    elif isinstance(left, float) or isinstance(right, float):
        left, right = as_double(left), as_double(right)  # type: ignore[arg-type]  # both are numbers
    return (left > right) - (left < right)  # type: ignore[operator]  # one family, one order


HOLDS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}

"""Constants and the values of events: their families, and how two of one family compare.

A *family* is a set of types whose values compare with each other; a value of another family than the
constant makes a predicate unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import StrEnum

from ruledex.language.address import Network
from ruledex.language.tree import Value
from ruledex.language.version import Version

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class Family(StrEnum):
    """The sets of values that compare with each other."""

    BOOLEAN = "boolean"
    NUMBER = "number"
    STRING = "string"
    TIME = "time"
    VERSION = "version"
    ADDRESS = "address"
    ANY = "any"  # of an undeclared attribute: whatever the constant asks for


_FAMILY_OF_TYPE: dict[type, Family] = {
    bool: Family.BOOLEAN,
    int: Family.NUMBER,
    float: Family.NUMBER,
    Decimal: Family.NUMBER,
    str: Family.STRING,
    date: Family.TIME,
    datetime: Family.TIME,
    Version: Family.VERSION,
    Network: Family.ADDRESS,
}


def family_of(value: object) -> Family | None:
    """The family of a constant or an event's value; None for structs and whatever else no rule can name."""
    return _FAMILY_OF_TYPE.get(type(value))


def is_missing(value: object) -> bool:
    """Null and NaN are one thing: not there. What other libraries have for null is null here too."""
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (type(value) not in _FAMILY_OF_TYPE and _is_null_of_library(value))


# By name, so that none of these is imported: pandas' NA and NaT, the masked value, and scalars that may be NaN or NaT.
_NULLS = {("pandas", "NAType"), ("pandas", "NaTType"), ("numpy", "MaskedConstant")}
_MAY_BE_NAN = {("numpy", name) for name in ("datetime64", "timedelta64", "float16", "float32", "longdouble")}


def _is_null_of_library(value: object) -> bool:
    kind = type(value)
    name = kind.__module__.partition(".")[0], kind.__name__
    return name in _NULLS or (name in _MAY_BE_NAN and bool(value != value))  # only NaN and NaT do


# ISO 8601 in the extended form, as JSON carries it. A text is a date or a time by its own shape, so that a
# JSON event answers as the Arrow event does that it was written from.
_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(\.\d{1,9})?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?", re.ASCII
)


def read_time(text: str, zone: tzinfo | None) -> date | datetime | None:
    """The date or time that a text names; None if it names neither.

    A time is carried into `zone`; without one it stays as written, naive where it names no zone of its own.
    """
    match = _ISO.fullmatch(text)
    if match is None or (match[4] and not match[3]):
        return None
    day, minutes, seconds, fraction, offset = match.groups()
    try:
        if minutes is None:
            return date.fromisoformat(day)
        # Times are kept in microseconds, as Spark's are; what is finer is cut off.
        moment = datetime.fromisoformat(f"{day}T{minutes}{seconds or ':00'}{(fraction or '.0')[:7]:0<7}{offset or ''}")
        return moment if zone is None else localized(moment, zone)
    except (ValueError, OverflowError):
        return None


def localized(moment: datetime, zone: tzinfo) -> datetime:
    """A time in the index's zone: a naive one is taken to be in it, another is carried over."""
    if moment.utcoffset() is None:
        moment = moment.replace(tzinfo=zone)
    try:
        # Through UTC, so that an hour which the clock skips becomes the one after it, as in Java.
        return moment.astimezone(UTC).astimezone(zone)
    except OverflowError:  # the zone's clock shows a year that Python cannot name: the moment stays what it is
        return moment


def fit(value: object, family: Family, zone: tzinfo) -> Value | None:
    """An event's value as a member of a family, or None where it is none."""
    if family is Family.TIME:
        if isinstance(value, datetime):
            return localized(value, zone)
        if isinstance(value, str):
            return read_time(value, zone)
    if family is Family.ANY or family_of(value) is family:
        return value  # type: ignore[return-value]  # its family says that it is a Value
    return None


def as_double(number: int | Decimal | float) -> float:
    """The nearest double; beyond the largest, infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_SECOND = 1_000_000  # microseconds
MOST_DAYS_AT_ONE_MIDNIGHT = 3  # a zone is less than a day from UTC, so that a clock skips less than two days


def instant(moment: date | datetime, zone: tzinfo) -> int:
    """A date or time on the one line of UTC, as microseconds since 1970: a date is the first moment of its day.

    An integer, since the first and the last days that Python can name begin and end outside of them in most zones.
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
    """The midnight that a day begins with: the first of two; where the clock skips it, the moment after the gap."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    before, after = (_in_microseconds(midnight.replace(fold=fold).utcoffset()) for fold in (0, 1))
    wall = _microseconds(midnight)
    if after <= before:
        return wall - before
    # The gap may have begun before midnight (23:30 became 00:30 in Toronto in 1919), so the clock must have been moved
    # somewhere in between, on a whole second. As in Java, what counts is when.
    early, late = (wall - after) // _SECOND, (wall - before) // _SECOND  # not yet moved, moved
    while late - early > 1:
        middle = (early + late) // 2
        is_moved = _offset_at(middle * _SECOND, zone) == after
        early, late = (early, middle) if is_moved else (middle, late)
    return late * _SECOND


def _offset_at(moment: int, zone: tzinfo) -> int:
    return _in_microseconds((_EPOCH.replace(tzinfo=UTC) + moment * _MICROSECOND).astimezone(zone).utcoffset())


def shares_its_midnight(day: date, zone: tzinfo) -> bool:
    """Whether another day begins at the same moment: one that the zone skipped is no longer than nothing."""
    mine = instant(day, zone)
    ordinals = (day.toordinal() - 1, day.toordinal() + 1)
    return any(
        instant(date.fromordinal(ordinal), zone) == mine
        for ordinal in ordinals
        if date.min.toordinal() <= ordinal <= date.max.toordinal()
    )


def compare(left: Value, right: Value, zone: tzinfo) -> int:
    """-1, 0 or 1 for two values of one family. Against a double both are doubles; all else is exact."""
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

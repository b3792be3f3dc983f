"""Reads texts as dates and times as Spark's cast does, which takes more forms than ISO 8601 has.

    2024   2024-1   2024-01-05   2024-01-05T…
    2024-01-05 10   2024-01-05 1:2   2024-01-05 10:30:15.123456 America/New_York

A year has four digits here, as in Python, and a time without a date, which Spark reads as one of today, is none.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

# What Spark trims from a text before it reads it.
BLANKS: Final = "".join(map(chr, range(33))) + "\x7f"
_DATE: Final = r"\+?(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
_DAY: Final = re.compile(_DATE + r"(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_MOMENT: Final = re.compile(
    _DATE + r"(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?\s?(\S.*)?)?)?)?)?)?", re.ASCII
)
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", re.ASCII)
_REGION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{2,40}", re.ASCII)
_MOST_SECONDS: Final = 18 * 3600  # of an offset, in Java


def read_day(text: str) -> date | None:
    """Return the day that a text names; what follows it after a blank or a T does not count."""
    match = _DAY.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None


def read_time_text(text: str) -> datetime | None:
    """Return the time that a text names, naive if it names no zone. A day stands for its midnight."""
    match = _MOMENT.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone_name = match.groups()
    zone = None if zone_name is None else read_zone(zone_name.strip())
    if zone is None and zone_name is not None:
        return None
    try:
        return datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "")[:6].ljust(6, "0")),
            tzinfo=zone,
        )
    except ValueError:
        return None


@lru_cache(maxsize=256)
def read_zone(name: str) -> tzinfo | None:
    """Return the zone that an offset or a region names, or None."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if (match := _OFFSET.fullmatch(name)) is not None:
        sign, hours, minutes, seconds = match.groups()
        total = int(hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
        if total > _MOST_SECONDS or int(minutes or 0) > 59 or int(seconds or 0) > 59:
            return None
        return timezone(timedelta(seconds=-total if sign == "-" else total))
    if _REGION.fullmatch(name) is None:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such zone, in whatever way
        return None

"""Zones whose clocks skipped or repeated a midnight, found by reading the transitions of every zone that there is."""

from __future__ import annotations

import struct
import zoneinfo
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import NamedTuple

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Midnight(NamedTuple):
    """A midnight that a clock skipped or showed twice."""

    zone: str
    day: date
    shift: timedelta  # by which the clock was moved


def midnights() -> list[Midnight]:
    """One of each kind: zones that moved their clocks at one moment by as much are one."""
    found: dict[tuple[int, timedelta, date], Midnight] = {}
    for name in sorted(zoneinfo.available_timezones()):
        zone = zoneinfo.ZoneInfo(name)
        for moment in transitions(name):
            at = EPOCH + timedelta(seconds=moment)
            before, after = ((at + timedelta(seconds=s)).astimezone(zone).replace(tzinfo=None) for s in (-1, 0))
            low, high = sorted((before + timedelta(seconds=1), after))
            day = low.date() if low.time() == datetime.min.time() else low.date() + timedelta(days=1)
            if datetime(day.year, day.month, day.day) < high:
                shift = after - before - timedelta(seconds=1)
                found.setdefault((moment, shift, day), Midnight(name, day, shift))
    return sorted(found.values())


def transitions(name: str) -> list[int]:
    """The moments, in seconds since 1970, at which a zone changes: its file's, in the form of RFC 8536."""
    data = _content(name)
    sizes = struct.unpack_from(">6l", data, 20)
    second = 44 + _length(sizes, 4)  # behind what is there for readers of 32 bits
    n_times = struct.unpack_from(">6l", data, second + 20)[3]
    return [moment for moment in struct.unpack_from(f">{n_times}q", data, second + 44) if moment > -(2**33)]


def _length(sizes: tuple[int, ...], width: int) -> int:
    n_is_utc, n_is_standard, n_leap, n_times, n_types, n_characters = sizes
    return n_times * (width + 1) + n_types * 6 + n_characters + n_leap * (width + 4) + n_is_standard + n_is_utc


def _content(name: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        path = Path(folder, name)
        if path.is_file():
            return path.read_bytes()
    package, _, file = f"tzdata/zoneinfo/{name}".rpartition("/")
    return resources.files(package.replace("/", ".")).joinpath(file).read_bytes()

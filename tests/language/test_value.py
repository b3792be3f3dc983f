"""The moments of dates and times, by the clock of a zone."""

from __future__ import annotations

import os
import random
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from ruledex.language.value import Family, compare, fit, instant, localize, shares_its_midnight
from tests.zones import EPOCH, midnights

ALL = midnights()
N_MIDNIGHTS = int(os.environ.get("RULEDEX_DATES_MIDNIGHTS", "300"))
CHOSEN = random.Random(0).sample(ALL, min(N_MIDNIGHTS, len(ALL)))
SECOND = timedelta(seconds=1)


def shown(moment, zone):
    """What the zone's clock shows."""
    return (EPOCH + timedelta(microseconds=moment)).astimezone(zone).replace(tzinfo=None)


@pytest.mark.parametrize("step", [-1, 0, 1, 2])
def test_a_date_is_the_first_moment_at_which_the_clock_has_reached_it(step):
    for name, around, _ in CHOSEN:
        day, zone = around + timedelta(days=step), ZoneInfo(name)
        moment, midnight = instant(day, zone), datetime(day.year, day.month, day.day)
        assert shown(moment, zone) >= midnight, (name, day)
        for minutes in range(0, 2880, 15):
            assert shown(moment - 1_000_000 - minutes * 60_000_000, zone) < midnight, (name, day)


def test_days_begin_in_their_order():
    for name, around, _ in CHOSEN:
        moments = [instant(around + timedelta(days=step), ZoneInfo(name)) for step in range(-3, 4)]
        assert moments == sorted(moments), (name, around)


def test_only_days_around_one_that_was_skipped_share_their_midnight():
    for name, around, shift in ALL:
        shares = [shares_its_midnight(around + timedelta(days=step), ZoneInfo(name)) for step in (0, 1)]
        assert shares == [shift >= timedelta(days=1)] * 2, (name, around)
    assert not shares_its_midnight(date.min, UTC)
    assert not shares_its_midnight(date.max, UTC)


def test_where_midnight_lies_within_a_gap_the_day_begins_behind_it():
    toronto = ZoneInfo("America/Toronto")
    assert shown(instant(date(1919, 3, 31), toronto), toronto) == datetime(1919, 3, 31, 0, 30)


@pytest.mark.parametrize("hours", [-12, -5, 0, 5, 14])
def test_the_first_and_the_last_times_keep_their_order_in_every_zone(hours):
    zone = timezone(timedelta(hours=hours))
    for first in (datetime.min, datetime.max - timedelta(days=2)):
        times = [first + timedelta(hours=hour) for hour in range(48)]
        moments = [instant(fit(at, Family.TIME, zone), zone) for at in times]
        assert moments == [moments[0] + hour * 3_600_000_000 for hour in range(48)]
        texts = [fit(at.isoformat() + "Z", Family.TIME, zone) for at in times]
        others = [instant(text, zone) for text in texts]
        assert others == [others[0] + hour * 3_600_000_000 for hour in range(48)]


def test_a_time_that_the_zone_s_clock_cannot_show_stays_the_same_moment():
    last = datetime.max.replace(tzinfo=UTC)
    east = timezone(timedelta(hours=9))
    assert instant(localize(last, east), east) == instant(last, UTC)
    assert compare(fit(last, Family.TIME, east), date.max, east) == 1

"""The time of a call, and intervals added to times around the hours at which clocks are moved."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from ruledex import RuledexError
from ruledex.language.clock import BEYOND, add_interval, asked, asked_at, instant_after, moment_at, read_now
from ruledex.language.value import instant
from ruledex.language.value_types import MICROSECONDS_PER_DAY, Interval, Moment

NEW_YORK = ZoneInfo("America/New_York")
HOUR = 3_600_000_000


def at(text: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=NEW_YORK, fold=fold)


@pytest.mark.parametrize(
    ("start", "interval", "expected"),
    [
        # Verified with Spark 4: the clock skips 02:00 to 03:00 on 2024-03-10, and repeats 01:00 to 02:00 on 2024-11-03.
        (at("2024-03-09T02:30"), Interval(0, MICROSECONDS_PER_DAY, True), at("2024-03-10T03:30")),
        (at("2024-03-09T02:30"), Interval(0, 24 * HOUR), at("2024-03-10T03:30")),
        (at("2024-03-09T02:30"), Interval(0, 36 * HOUR), at("2024-03-10T15:30")),
        (at("2024-03-09T12:30"), Interval(0, 23 * HOUR), at("2024-03-10T12:30")),
        (at("2024-03-11T02:30"), Interval(0, -MICROSECONDS_PER_DAY, True), at("2024-03-10T03:30")),
        (at("2024-11-04T01:30"), Interval(0, -MICROSECONDS_PER_DAY, True), at("2024-11-03T01:30", fold=1)),
        (at("2024-11-02T01:30"), Interval(0, MICROSECONDS_PER_DAY, True), at("2024-11-03T01:30")),
        (at("2024-11-03T01:30"), Interval(0, HOUR), at("2024-11-03T01:30", fold=1)),
        (at("2024-01-31T10:00"), Interval(1), at("2024-02-29T10:00")),
        (at("2024-02-10T02:30"), Interval(1), at("2024-03-10T03:30")),
        (at("2024-03-31T10:00"), Interval(-13), at("2023-02-28T10:00")),
        (date(2024, 1, 31), Interval(1), date(2024, 2, 29)),
        (date(2024, 1, 31), Interval(0, MICROSECONDS_PER_DAY, True), date(2024, 2, 1)),
        (date(2024, 1, 31), Interval(0, 24 * HOUR), at("2024-02-01T00:00")),
        (date(2024, 3, 10), Interval(0, 2 * HOUR), at("2024-03-10T03:00")),
        (date(9999, 12, 31), Interval(0, MICROSECONDS_PER_DAY, True), None),
        (date(1, 1, 31), Interval(-1), None),
        (at("9999-12-30T10:00"), Interval(12), None),
        (at("9999-12-30T10:00"), Interval(0, 48 * HOUR), None),
    ],
)
def test_intervals_are_added_by_the_calendar_of_spark(start, interval, expected):
    found = add_interval(start, interval, NEW_YORK)
    assert type(found) is type(expected)
    if expected is not None:
        assert instant(found, NEW_YORK) == instant(expected, NEW_YORK)


@pytest.mark.parametrize(
    "given",
    [
        datetime(2024, 2, 29, 10, 30, tzinfo=UTC),
        datetime(2024, 2, 29, 5, 30),
        datetime(2024, 2, 29, 16, 0, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        "2024-02-29T10:30:00Z",
        " 2024-02-29 05:30 ",
        np.datetime64("2024-02-29T05:30:00"),
        pd.Timestamp("2024-02-29T10:30:00Z"),
    ],
    ids=repr,
)
def test_now_is_a_time_of_python_numpy_or_pandas_or_a_text(given):
    assert read_now(given, NEW_YORK) == datetime(2024, 2, 29, 10, 30, tzinfo=UTC)


def test_a_date_as_now_is_its_midnight():
    assert read_now(date(2024, 2, 29), NEW_YORK) == datetime(2024, 2, 29, 5, tzinfo=UTC)


@pytest.mark.parametrize("given", ["soon", 5, 1.5, [], object()])
def test_anything_else_is_not_a_time(given):
    with pytest.raises(RuledexError, match="now is a time such as 2024-12-31T23:59:59Z"):
        read_now(given, UTC)


def test_a_call_has_one_time_and_a_call_inside_it_the_same():
    with asked_at(None, UTC):
        first = asked().now
        with asked_at(None, UTC):
            assert asked().now == first
        with asked_at("2024-01-01T00:00:00Z", UTC):
            assert asked().now == datetime(2024, 1, 1, tzinfo=UTC)
        assert asked().now == first
    assert asked().now > first


def test_moments_beyond_all_times_are_the_first_or_the_last():
    with asked_at("2024-01-31T10:00:00Z", UTC):
        assert moment_at(Moment(months=120_000), UTC).year == 9999
        assert moment_at(Moment(months=-120_000), UTC).year == 1
        assert moment_at(Moment(months=120_000, is_date=True), UTC) == date.max
        assert moment_at(Moment(1, -MICROSECONDS_PER_DAY), UTC) == datetime(2024, 2, 28, 10, tzinfo=UTC)
        assert moment_at(Moment(1, -MICROSECONDS_PER_DAY, is_date=True), UTC) == date(2024, 2, 28)
        assert instant_after(120_000, 0, UTC) == BEYOND
        assert instant_after(0, -3_000_000, UTC) == -BEYOND

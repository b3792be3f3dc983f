from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from ruledex.language.functions.registry import lookup

NEW_YORK = ZoneInfo("America/New_York")
MOMENT = datetime(2024, 12, 29, 23, 58, 59, 999_999, tzinfo=NEW_YORK)


@pytest.mark.parametrize(
    ("name", "of_moment", "of_first_day", "of_last_day"),
    [
        ("year", 2024, 1, 9999),
        ("quarter", 4, 1, 4),
        ("month", 12, 1, 12),
        ("weekofyear", 52, 1, 52),
        ("dayofyear", 364, 1, 365),
        ("day", 29, 1, 31),
        ("dayofweek", 1, 2, 6),
        ("hour", 23, 0, 0),
        ("minute", 58, 0, 0),
        ("second", 59, 0, 0),
    ],
)
def test_parts_are_those_of_the_clock_and_of_midnight_for_a_date(name, of_moment, of_first_day, of_last_day):
    call = lookup(name).call
    assert (call(MOMENT), call(date.min), call(date.max)) == (of_moment, of_first_day, of_last_day)


def test_the_last_days_of_december_can_lie_in_the_first_week():
    assert lookup("weekofyear").call(date(2024, 12, 30)) == 1
    assert lookup("weekofyear").call(date(2021, 1, 1)) == 53


def test_the_day_of_a_time_is_a_date():
    assert type(lookup("date").call(MOMENT)) is date
    assert lookup("date").call(MOMENT) == date(2024, 12, 29)
    assert lookup("date").call(date.max) == date.max


def test_date_diff_counts_days_and_not_hours():
    call = lookup("date_diff").call
    assert call(MOMENT, date(2024, 12, 28)) == 1
    assert call(date(2024, 2, 28), date(2024, 3, 1)) == -2
    assert call(datetime(2024, 1, 2, 0, 0, tzinfo=UTC), datetime(2024, 1, 1, 23, 59, tzinfo=UTC)) == 1
    assert call(date.max, date.min) == 3_652_058


def test_a_string_without_a_zone_is_in_that_of_the_index():
    call = lookup("to_timestamp").call
    moment = call("29.02.2024 07:05", "dd.MM.yyyy HH:mm", zone=NEW_YORK)
    assert moment == datetime(2024, 2, 29, 12, 5, tzinfo=UTC)
    assert moment.tzinfo is NEW_YORK
    assert call("2024-02-29", "dd.MM.yyyy HH:mm", zone=NEW_YORK) is None


def test_a_day_is_that_of_the_clock_in_the_zone():
    call = lookup("to_date").call
    assert call("2024-01-01T02:00Z", "yyyy-MM-dd'T'HH:mmX", zone=NEW_YORK) == date(2023, 12, 31)
    assert call("31.12.2023", "dd.MM.yyyy", zone=NEW_YORK) == date(2023, 12, 31)
    assert call("32.12.2023", "dd.MM.yyyy", zone=NEW_YORK) is None


def test_to_date_without_a_pattern_reads_iso_dates():
    function = lookup("to_date")
    assert function.call("2024-02-29", function.parameters[1].default, zone=UTC) == date(2024, 2, 29)


@pytest.mark.parametrize("name", ["to_timestamp", "to_date"])
def test_a_pattern_that_cannot_be_read_is_refused_with_its_reason(name):
    check = lookup(name).check
    assert check((None, "yyyy-MM-dd")) is None
    assert "'EEE'" in check((None, "EEE, dd MMM yyyy"))
    assert "string" in check((None, 5))

"""Where times lie among moments counted from now, on whole columns, beside what the function gives of one time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Index, Schema
from ruledex.errors import RuledexWarning
from ruledex.events.arrow.time_vectors import Clock, moment_place_vector
from ruledex.events.arrow.vectors import Of, Vector
from ruledex.language import clock
from ruledex.language.functions.moment_places import FORMS, moment_place

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ("America/New_York", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca")
NOWS = ("2024-03-10T07:00:00Z", "2024-03-31T23:59:59.999999Z", "2024-11-03T05:30:00Z", "2011-12-30T10:00:00Z")
STEPS = (0, 1, 1_000_000, 1_800_000_000, 3_600_000_000, 43_200_000_000, 86_400_000_000, 82_800_000_000)
OF_MOMENTS = sorted(form for form in FORMS if not form.startswith("da"))


def drawn_times(random: Random, zone: ZoneInfo, n_times: int) -> list[int]:
    """Times near moments: now plus months and days, or a little before or after."""
    times = []
    for _ in range(n_times):
        moment = clock.instant_after(random.randrange(-30, 30), random.randrange(-40, 40), zone)
        times.append(moment + random.choice((-1, 1)) * random.choice(STEPS) + random.choice((-1, 0, 0, 1)))
    return times


@pytest.mark.parametrize("form", OF_MOMENTS)
@pytest.mark.parametrize("name", ZONES)
def test_vectors_have_the_places_of_each_time(name, form):
    zone, random = ZoneInfo(name), Random(form + name)
    for now in NOWS:
        for months in (0, 1, -13):
            with clock.asked_at(now, zone):
                times = drawn_times(random, zone, 60)
                times[0] = -(2**62)
                missing = np.arange(60) == 0
                given = Vector(Of.MOMENT, np.array(times), missing)
                found = moment_place_vector(Clock(zone), given, Vector(Of.INTEGER, months), Vector(Of.TEXT, form))
                moments = [(EPOCH + timedelta(microseconds=time)).astimezone(zone) for time in times[1:]]
                assert found.values[1:].tolist() == [moment_place(each, months, form, zone=zone) for each in moments]
                assert found.missing is missing


@pytest.mark.filterwarnings(f"ignore::{RuledexWarning.__module__}.RuledexWarning")
@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("us")])
def test_rules_on_the_last_days_and_months_take_no_step_of_python(kind):
    rules = ["ts > now() - INTERVAL 1 MONTH", "ts > now() - INTERVAL 7 DAY", "ts < now() + INTERVAL 36 HOUR"]
    index = Index.build(list(enumerate(rules)), schema=Schema(time_zone="America/New_York"))
    random = Random(5)
    times = [random.randrange(1_700_000_000, 1_720_000_000) * 1_000_000 for _ in range(300)]
    events = pa.table({"ts": pa.array([*times, None], kind)})
    now = "2024-04-02T12:00:00Z"
    found = [list(each) for each in index.match_batch(events, now=now)]
    assert found == [list(index.match(event, now=now)) for event in events.to_pylist()]
    assert index.by_value == {}
    assert found[-1] == []

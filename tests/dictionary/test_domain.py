"""Cells of dates and times against what the reference says of them, around the midnights that clocks skip or repeat."""

from __future__ import annotations

import os
import random
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from ruledex.dictionary.domain import Kind, days_around
from ruledex.dictionary.literal_table import LiteralTable
from ruledex.dictionary.merging import cell_map, merge_dictionaries
from ruledex.language.reference import satisfies
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Bound, Within
from ruledex.language.value import Family, fit, instant
from tests.zones import midnights

X = Attribute(("x",))
ALL = midnights()
SKIPPED = [midnight for midnight in ALL if midnight.shift > timedelta(hours=23)]
N_MIDNIGHTS = int(os.environ.get("RULEDEX_DATES_MIDNIGHTS", "80"))
CHOSEN = [*SKIPPED, *random.Random(0).sample(ALL, min(N_MIDNIGHTS, len(ALL)))]
A_DAY = timedelta(days=1)


def around(midnight, generator):
    """Dates and times, the moments among them with which days begin."""
    days = [midnight.day + step * A_DAY for step in range(-2, 4)]
    times = [datetime.combine(day, time()) for day in days]
    times += [generator.choice(times) + timedelta(minutes=generator.randint(-1500, 1500)) for _ in range(4)]
    return days, times


def random_set(generator, constants):
    low, high = generator.choices([None, *constants], k=2)
    bounds = [] if low is high is None else [Bound(low, generator.random() < 0.5, high, generator.random() < 0.5)]
    return Within(X, tuple(generator.choices(constants, k=generator.randint(not bounds, 2))), tuple(bounds))


def literals_of(sets, schema):
    table = LiteralTable(schema)
    ids = [table.form(each) for each in sets]
    arrays, dictionary = table.finish()

    def intervals(literal):
        begin, end = arrays.interval_offsets[arrays.final_id[literal] :][:2].tolist()
        return list(zip(arrays.interval_low[begin:end].tolist(), arrays.interval_high[begin:end].tolist(), strict=True))

    return [intervals(literal) for literal in ids], dictionary


def is_hit(intervals, cells):
    return any(low <= cell <= high for low, high in intervals for cell in cells)


@pytest.mark.parametrize("parts", [1, 2], ids=["whole", "merged"])
def test_cells_hold_what_satisfies_a_set(parts):
    n_with_days = 0
    for midnight in CHOSEN:
        generator = random.Random(str(midnight))
        schema = Schema.of_mapping({"time_zone": midnight.zone})
        days, times = around(midnight, generator)
        # In parts, the first names times alone, or days that nothing is wrong with.
        pools = [times + days[:1], days + times[:2]] if parts == 2 else [days + times]
        sets = [[random_set(generator, pool) for _ in range(6)] for pool in pools]
        built = [literals_of(part, schema) for part in sets]
        merged = merge_dictionaries([dictionary for _, dictionary in built])
        (slot,) = merged.slots
        n_with_days += Kind.DATE in slot.domains
        for part, (intervals, dictionary) in zip(sets, built, strict=True):
            moved = cell_map(dictionary, merged)
            for each, mine in zip(part, intervals, strict=True):
                there = [(moved.first[low], moved.last[high]) for low, high in mine]
                there += [
                    (moved.twin_first[low], moved.twin_last[high]) for low, high in mine if moved.twin_first[low] >= 0
                ]
                for value in [*days, *times]:
                    fitted = fit(value, Family.TIME, schema.zone)
                    assert is_hit(there, slot.cells(value)) == satisfies(fitted, each, schema), (midnight, value, each)
    assert n_with_days >= 8


def test_days_are_cut_only_where_a_day_was_skipped():
    for zone, day, needed in (("Pacific/Apia", 30, True), ("Pacific/Apia", 29, False), ("UTC", 30, False)):
        within = Within(X, (date(2011, 12, day),), ())
        _, dictionary = literals_of([within], Schema.of_mapping({"time_zone": zone}))
        assert (Kind.DATE in dictionary.slots[0].domains) == needed


def test_the_days_around_a_moment():
    apia = ZoneInfo("Pacific/Apia")
    thirtieth = date(2011, 12, 30).toordinal()
    assert days_around(instant(date(2011, 12, 31), apia), apia) == (thirtieth, thirtieth + 1)
    assert days_around(instant(date(2011, 12, 29), apia), apia) == (thirtieth - 1, thirtieth - 1)
    assert days_around(instant(datetime(2011, 12, 29, 12), apia), apia) == (thirtieth, thirtieth - 1)


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York"])
def test_beyond_all_days_there_are_none_on_one_side(zone):
    first, last = date.min.toordinal(), date.max.toordinal()
    assert days_around(instant(date.min, ZoneInfo(zone)) - 1, ZoneInfo(zone)) == (first, first - 1)
    assert days_around(instant(datetime.max, ZoneInfo(zone)) + 1, ZoneInfo(zone)) == (last + 1, last)

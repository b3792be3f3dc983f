"""Indexes that were saved before moments were exact answer as they did."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from ruledex.compiled.constants import EVERY
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.domain import Domain, Kind
from ruledex.dictionary.stored import EarlierSlot, earlier_instant, restore, store
from ruledex.events.arrow.encoder import ArrowEncoder
from ruledex.events.mappings import EventEncoder
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute
from ruledex.language.value import instant

MOMENTS = [date(2024, 1, 1), datetime(2024, 3, 10, 2, 30), datetime(2011, 12, 31), datetime(2024, 1, 1, tzinfo=UTC)]


def earlier_dictionary(zone, constants):
    """A dictionary as it was when it was saved, its constants cut as they were then."""
    schema = Schema.of_mapping({"time_zone": zone})
    slot = EarlierSlot(Attribute(("x",)), schema)
    cuts = sorted({earlier_instant(constant, schema.zone) for constant in constants})
    slot.domains[Kind.TIME] = Domain(Kind.TIME, cuts, EVERY + 1)
    slot.finish()
    end = EVERY + 2 + 2 * len(cuts)
    return Dictionary(schema, [slot], end, [EVERY, EVERY + 1, end])


def opened(dictionary):
    arrays, document = store(dictionary)
    return restore(dictionary.schema, arrays, lambda: document, dictionary.n_cells, dictionary.domain_offsets)


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "America/Toronto", "Asia/Kolkata"])
def test_most_moments_are_where_they_were(moment, zone):
    assert earlier_instant(moment, ZoneInfo(zone)) == instant(moment, ZoneInfo(zone))


@pytest.mark.parametrize(
    ("zone", "constant"),
    [
        ("Asia/Kolkata", date.min),
        ("America/New_York", datetime(9999, 12, 31, 23, 59, 59)),
        ("America/Toronto", date(1919, 3, 31)),
    ],
)
def test_a_constant_that_would_be_elsewhere_now_is_found_where_it_was(zone, constant):
    assert earlier_instant(constant, ZoneInfo(zone)) != instant(constant, ZoneInfo(zone))
    dictionary = opened(earlier_dictionary(zone, [constant, date(2024, 1, 1)]))
    (slot,) = dictionary.slots
    point = slot.domains[Kind.TIME].cell(earlier_instant(constant, slot.schema.zone))
    assert point in EventEncoder(dictionary).encode_one({"x": constant}).cells
    kind = pa.timestamp("us") if isinstance(constant, datetime) else pa.date32()
    assert point in ArrowEncoder(dictionary).encode(pa.table({"x": pa.array([constant], kind)})).cells


def test_what_is_saved_again_is_still_of_that_time():
    again = opened(opened(earlier_dictionary("Asia/Kolkata", [date.min])))
    assert [type(slot) for slot in again.slots] == [EarlierSlot]


def test_a_time_of_another_zone_that_this_one_cannot_show_is_where_it_was():
    last = datetime.max.replace(tzinfo=UTC)
    kolkata = ZoneInfo("Asia/Kolkata")
    assert earlier_instant(last, kolkata) == instant(last, UTC) - timedelta(hours=5.5) // timedelta(microseconds=1)

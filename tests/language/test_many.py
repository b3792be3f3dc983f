"""Comparisons of many values give the same result as going over all pairs."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex.language.many import each_is_met, equal_to, some_pair
from ruledex.language.reference import every_pair
from ruledex.language.value import Family, compare, fit
from ruledex.language.value_types import Network, Version
from tests.strategies import examples

ZONES = [UTC, ZoneInfo("Pacific/Apia"), ZoneInfo("Europe/Berlin")]
FAR = 2**53
NUMBERS = [0, -0.0, 1, 1.0, Decimal("1.0"), Decimal("0.1"), 0.1, FAR, FAR + 1, float(FAR), Decimal(FAR + 1)]
NUMBERS += [2**63 - 1, 2.0**63, Decimal(2**63), -(2**63), 10**400, -(10**400), float("inf"), float("-inf")]
NUMBERS += [Decimal("1E+400"), Decimal("Infinity"), k := 2**61 - 1, 2 * k, 3 * k, Decimal(4 * k)]
TIMES = [date(2011, 12, 29), date(2011, 12, 30), date(2011, 12, 31), datetime(2011, 12, 30), datetime(2011, 12, 31)]
TIMES += [datetime(2011, 12, 30, 10, tzinfo=UTC), datetime(2011, 12, 29, 10, tzinfo=UTC), date.min, datetime.max]
TIMES += [datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=ZONES[2]) for fold in (0, 1)]
TEXTS = ["", "a", "b", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-31", "é", "e\u0301", "10"]
VERSIONS = [Version(text) for text in ("1", "1.0", "1.10", "1.9", "1.0-a", "1.0-1", "2")]
ADDRESSES = [Network(text) for text in ("10.0.0.1", "10.0.0.2", "::1", "9.255.255.255", "11.0.0.0")]
NETWORKS = [Network(text) for text in ("10.0.0.0/8", "10.0.0.1", "10.0.0.0/31", "::/0", "0.0.0.0/0", "12.0.0.0/8")]
OTHERS = [True, False, {"a": 1}, b"a"]

values = st.lists(st.sampled_from(NUMBERS + TIMES + TEXTS + VERSIONS + ADDRESSES + OTHERS), max_size=6)
numbers_and_times = st.lists(st.sampled_from(NUMBERS + TIMES + TEXTS), min_size=1, max_size=6)


@settings(max_examples=examples(400), deadline=None)
@given(values | numbers_and_times, values | numbers_and_times, st.sampled_from(ZONES))
def test_some_pair_is_what_every_pair_says(left, right, zone):
    for op in ("=", "<", "<=", ">", ">="):
        assert some_pair(op, left, right, zone) == every_pair(op, left, right, zone), (op, left, right)


@pytest.mark.parametrize("one", NUMBERS + TIMES, ids=repr)
def test_each_two_boundary_values_compare_alike_on_both_roads(one):
    for other in NUMBERS + TIMES + TEXTS:
        for op in ("=", "<", ">="):
            assert some_pair(op, [one], [other], ZONES[1]) == every_pair(op, [one], [other], ZONES[1]), (one, other)


FAMILIES: dict[Family, tuple[list[Any], list[Any]]] = {
    Family.NUMBER: (NUMBERS, NUMBERS),
    Family.TIME: (TIMES + TEXTS[3:6], TIMES),
    Family.STRING: (TEXTS, TEXTS),
    Family.VERSION: (VERSIONS, VERSIONS),
    Family.ADDRESS: (ADDRESSES, NETWORKS),
}


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_membership_is_what_comparing_with_each_constant_says(data):
    family = data.draw(st.sampled_from(sorted(FAMILIES)))
    zone = data.draw(st.sampled_from(ZONES))
    given_values, given_constants = FAMILIES[family]
    constants = data.draw(st.lists(st.sampled_from(given_constants), min_size=1, max_size=5))
    drawn = data.draw(st.lists(st.sampled_from(given_values), max_size=5))
    present = [fitted for value in drawn if (fitted := fit(value, family, zone)) is not None]
    is_member = equal_to(constants, zone)
    for value in present:
        assert is_member(value) == any(compare(value, constant, zone) == 0 for constant in constants)
    expected = all(any(compare(value, constant, zone) == 0 for value in present) for constant in constants)
    assert each_is_met(constants, present, zone) == expected

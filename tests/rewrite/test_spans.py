"""Set algebra is compared with membership, at every constant and between constants."""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex.language.tree import Bound
from ruledex.rewrite.spans import Ambiguous, Order

ORDER = Order(UTC)
POINTS = range(8)
PROBES = [n / 2 for n in range(-2, 18)]

ends = st.one_of(st.none(), st.sampled_from(POINTS))
bounds = st.builds(Bound, ends, st.booleans(), ends, st.booleans()).filter(lambda b: (b.low, b.high) != (None, None))
spans = st.tuples(st.lists(st.sampled_from(POINTS), max_size=3).map(tuple), st.lists(bounds, max_size=3).map(tuple))


def holds(given_spans, probe):
    values, stretches = given_spans
    inside = [
        (b.low is None or probe > b.low or (b.low_closed and probe == b.low))
        and (b.high is None or probe < b.high or (b.high_closed and probe == b.high))
        for b in stretches
    ]
    return probe in values or any(inside)


@given(st.lists(spans, min_size=1, max_size=3))
def test_a_union_holds_what_one_of_the_sets_holds(sets):
    union = ORDER.union(sets)
    assert [holds(union, p) for p in PROBES] == [any(holds(s, p) for s in sets) for p in PROBES]


@given(spans, spans)
def test_an_intersection_holds_what_both_sets_hold(a, b):
    common = ORDER.intersection(ORDER.union([a]), ORDER.union([b]))
    assert [holds(common, p) for p in PROBES] == [holds(a, p) and holds(b, p) for p in PROBES]


@given(spans, spans)
def test_equal_sets_have_one_form(a, b):
    same = [holds(a, p) for p in PROBES] == [holds(b, p) for p in PROBES]
    assert (ORDER.union([a]) == ORDER.union([b])) == same


@pytest.mark.parametrize(
    ("left", "right"),
    [(2**53, 2**53 + 1), (1, 1.0), (Decimal("0.1"), 0.1), (Decimal("0.1"), Decimal("0.10000000000000000001"))],
)
def test_constants_that_events_order_differently_are_ambiguous(left, right):
    with pytest.raises(Ambiguous):
        ORDER.of(left, right)


@pytest.mark.parametrize(
    ("left", "right", "order"), [(1, 2.5, -1), (2.5, 1, 1), (1, Decimal("1.0"), 0), ("a", "b", -1)]
)
def test_other_constants_have_one_order(left, right, order):
    assert ORDER.of(left, right) == order

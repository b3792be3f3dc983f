"""Sets of values, as single values and ranges, with the three operations that merging needs.

Two constants are compared only if they have the same order for every value of an event. Numbers do not always:
9007199254740992 and 9007199254740993 are two integers but one double, so `x = 9007199254740992 AND x =
9007199254740993` is true of a double. Nor do dates: a date that the zone skipped begins at the same moment as the next
one, so both are equal to a time. Such a pair is `Ambiguous`, and sets that would need to compare it are not merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, tzinfo
from decimal import Decimal
from functools import cmp_to_key

from ruledex.language.tree import Bound, Value
from ruledex.language.value import MOST_DAYS_AT_ONE_MIDNIGHT, as_double, compare, instant, shares_its_midnight

Spans = tuple[tuple[Value, ...], tuple[Bound, ...]]


class Ambiguous(Exception):  # noqa: N818  # a signal inside this package, not an error
    """Two constants whose order depends on the type of the event's value."""


class Order:
    """The order of constants of one family, in the index's time zone."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone

    def of(self, left: Value, right: Value) -> int:
        """Return -1, 0 or 1 if it is the same for every value of an event. Raises `Ambiguous` if it is not."""
        order = compare(left, right, self._zone)
        if isinstance(left, int | Decimal | float) and isinstance(right, int | Decimal | float):
            if isinstance(left, float) != isinstance(right, float):
                exact = (Decimal(left) > Decimal(right)) - (Decimal(left) < Decimal(right))
                # They are equal, but one is a double: a decimal near it equals only the double.
                if order == 0 or exact != order:
                    raise Ambiguous
            elif order != 0 and as_double(left) == as_double(right):
                raise Ambiguous
        elif isinstance(left, date) and isinstance(right, date) and self._is_skipped(left, right, order):
            raise Ambiguous
        return order

    def _is_skipped(self, left: date, right: date, order: int) -> bool:
        """Return whether one of two dates, or of a date and a time, compares differently with dates and with times."""
        if order == 0:
            days = [day for day in (left, right) if not isinstance(day, datetime)]
            return len(days) == 1 and shares_its_midnight(days[0], self._zone)
        if isinstance(left, datetime) or isinstance(right, datetime):
            return False
        are_near = abs(left - right).days < MOST_DAYS_AT_ONE_MIDNIGHT
        return are_near and instant(left, self._zone) == instant(right, self._zone)

    def holds(self, bound: Bound, value: Value) -> bool:
        """Return whether a value lies in a range."""
        if bound.low is not None and (o := self.of(value, bound.low)) <= 0 and not (o == 0 and bound.low_closed):
            return False
        return bound.high is None or (o := self.of(value, bound.high)) < 0 or (o == 0 and bound.high_closed)

    # Ends of ranges. A missing end is infinite; a closed end reaches a little further than an open one.

    def _low(self, a: Bound, b: Bound) -> int:
        if a.low is None or b.low is None:
            return (a.low is not None) - (b.low is not None)
        return self.of(a.low, b.low) or (b.low_closed - a.low_closed)

    def _high(self, a: Bound, b: Bound) -> int:
        if a.high is None or b.high is None:
            return (a.high is None) - (b.high is None)
        return self.of(a.high, b.high) or (a.high_closed - b.high_closed)

    def _touch(self, a: Bound, b: Bound) -> bool:
        """Return whether nothing lies between the end of `a` and the start of `b`, where `a` starts first."""
        if a.high is None or b.low is None:
            return True
        order = self.of(b.low, a.high)
        return order < 0 or (order == 0 and (a.high_closed or b.low_closed))

    # Operations on sets.

    def union(self, sets: Iterable[Spans]) -> Spans:
        """Return the union of the sets, in canonical form."""
        pairs = list(sets)
        bounds: list[Bound] = []
        for bound in sorted((b for _, bs in pairs for b in bs if self._is_filled(b)), key=cmp_to_key(self._low)):
            if bounds and self._touch(bounds[-1], bound):
                last = bounds[-1]
                end = last if self._high(last, bound) >= 0 else bound
                bounds[-1] = Bound(last.low, last.low_closed, end.high, end.high_closed)
            else:
                bounds.append(bound)
        values = self._distinct([v for vs, _ in pairs for v in vs])
        points = [b.low for b in bounds if b.low is not None and b.high is not None and self.of(b.low, b.high) == 0]
        bounds = [b for b in bounds if b.low is None or b.high is None or self.of(b.low, b.high) != 0]
        values = self._distinct([*(v for v in values if not any(self.holds(b, v) for b in bounds)), *points])
        return self._closed_by(values, bounds)

    def intersection(self, a: Spans, b: Spans) -> Spans:
        """Return the intersection of the two sets."""
        values = [v for v in a[0] if self.contains(b, v)] + [v for v in b[0] if self.contains(a, v)]
        bounds = []
        for one in a[1]:
            for other in b[1]:
                low = one if self._low(one, other) >= 0 else other
                high = one if self._high(one, other) <= 0 else other
                bounds.append(Bound(low.low, low.low_closed, high.high, high.high_closed))
        return self.union([(tuple(values), tuple(bounds))])

    def contains(self, spans: Spans, value: Value) -> bool:
        """Return whether a value is in a set."""
        values, bounds = spans
        return any(self.of(value, v) == 0 for v in values) or any(self.holds(b, value) for b in bounds)

    def _is_filled(self, bound: Bound) -> bool:
        if bound.low is None or bound.high is None:
            return True
        order = self.of(bound.low, bound.high)
        return order < 0 or (order == 0 and bound.low_closed and bound.high_closed)

    def _distinct(self, values: list[Value]) -> list[Value]:
        kept: list[Value] = []
        for value in sorted(values, key=cmp_to_key(self.of)):
            if not kept or self.of(kept[-1], value) != 0:
                kept.append(value)
        return kept

    def _closed_by(self, values: list[Value], bounds: list[Bound]) -> Spans:
        """Close a range by a value that is its open end: `x > 5 OR x = 5` is `x >= 5`."""
        left = []
        for value in values:
            for i, b in enumerate(bounds):
                if b.low is not None and self.of(b.low, value) == 0:
                    bounds[i] = Bound(b.low, True, b.high, b.high_closed)
                    break
                if b.high is not None and self.of(b.high, value) == 0:
                    bounds[i] = Bound(b.low, b.low_closed, b.high, True)
                    break
            else:
                left.append(value)
        if len(left) == len(values):
            return tuple(values), tuple(bounds)
        return self.union([(tuple(left), tuple(bounds))])

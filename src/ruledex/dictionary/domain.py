"""A domain: the ordered values of one family on one operand, cut into cells by the constants that rules name.

With n constants there are 2n + 1 cells: the gaps and the points between them.

    cell        0     1      2      3      4
    values   … < 10   10   10 < … < 20   20   20 < …          cuts: 10, 20

Numbers have up to three domains per operand. Integers and decimals of rules compare exactly with integers and decimals
of events, and as doubles with doubles. Doubles of rules always compare as doubles. So constants of the two kinds have
separate domains. Exact constants that round to the same double (9007199254740992 and 9007199254740993) need a third
domain, for doubles of events.

Dates and times have up to two. A date compares with a time as the moment at which its day begins, and two dates compare
as dates. These agree unless the zone skipped a day (2011-12-30 in Pacific/Apia): that day begins at the same moment as
the next one. An operand with such a date among its constants needs a second domain, of days, for dates of events. In it
a time stands for the days that begin at it, or for the gap between the days around it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from decimal import Decimal
from enum import IntEnum
from typing import Any, Final, TypeAlias

from ruledex.language.tree import Bound, Value
from ruledex.language.value import as_double, instant, shares_its_midnight
from ruledex.language.value_types import MavenVersion, Network, Version

Cut: TypeAlias = Any  # a number, a string, microseconds, a day, a version's key, or an address as an integer
Span: TypeAlias = tuple[int, int]  # the first and the last cell


class Kind(IntEnum):
    """The kind of a domain's cuts."""

    EXACT = 0  # integers and decimals, for integers and decimals (and for doubles, if no two cuts are one double)
    ROUNDED = 1  # the same constants as doubles, for doubles
    DOUBLE = 2  # doubles, for all numbers
    STRING = 3
    BOOLEAN = 4
    TIME = 5  # dates and times, in microseconds since 1970 in UTC, for both (without dates if there is a DATE)
    VERSION = 6
    ADDRESS = 7
    DATE = 8  # the same constants as days, numbered as Python does, for dates
    MAVEN = 9  # versions of Maven, as texts in their order


# A twin has the constants of the other domain too, and some values of events have their cells in the twin instead.
TWINS: Final = {Kind.EXACT: Kind.ROUNDED, Kind.TIME: Kind.DATE}
_FIRST_DAY: Final = date.min.toordinal()
_LAST_DAY: Final = date.max.toordinal()
_A_DAY: Final = 86_400_000_000  # microseconds
_DAYS_BEFORE_1970: Final = date(1970, 1, 1).toordinal()


def cut_of(value: Value, kind: Kind, zone: tzinfo) -> Cut:
    """Return a constant or an event's value as a domain of this kind orders it. For DATE it must be a date."""
    if kind is Kind.TIME:
        return instant(value, zone)  # type: ignore[arg-type]  # the family is time's
    if kind is Kind.DATE:
        return value.toordinal()  # type: ignore[union-attr]  # a date
    if kind in (Kind.DOUBLE, Kind.ROUNDED):
        return as_double(value)  # type: ignore[arg-type]  # the family is numbers'
    if isinstance(value, Version):
        return value.key
    if isinstance(value, Network):
        return value.first
    return value


KIND_OF_TYPE: Final = {
    bool: Kind.BOOLEAN,
    int: Kind.EXACT,
    Decimal: Kind.EXACT,
    float: Kind.DOUBLE,
    str: Kind.STRING,
    date: Kind.TIME,
    datetime: Kind.TIME,
    Version: Kind.VERSION,
    MavenVersion: Kind.MAVEN,
    Network: Kind.ADDRESS,
}


def kind_of(value: Value) -> Kind:
    """Return the kind of domain that a constant cuts."""
    return KIND_OF_TYPE[type(value)]


class Domain:
    """Sorted cuts, and the first of their cells. The cuts may lie in a mapped file."""

    __slots__ = ("cuts", "first_cell", "kind")

    def __init__(self, kind: Kind, cuts: Sequence[Cut], first_cell: int) -> None:
        self.kind = kind
        self.cuts = cuts
        self.first_cell = first_cell

    @property
    def n_cells(self) -> int:
        """The number of gaps and points."""
        return 2 * len(self.cuts) + 1

    def cell(self, cut: Cut) -> int:
        """Return the cell of a value."""
        at = bisect_left(self.cuts, cut)
        is_point = at < len(self.cuts) and self.cuts[at] == cut
        return self.first_cell + 2 * at + is_point

    def cell_of_double(self, value: float) -> int:
        """Return the cell of a double among exact cuts, no two of which round to the same double."""
        at = bisect_left(self.cuts, value, key=as_double)
        is_point = at < len(self.cuts) and as_double(self.cuts[at]) == value
        return self.first_cell + 2 * at + is_point

    def span(self, low: Cut | None, low_closed: bool, high: Cut | None, high_closed: bool) -> Span | None:
        """Return the cells between two cuts; a missing end is infinite. None if there are no cells."""
        first = self.first_cell if low is None else self.cell(low) + (not low_closed)
        last = self.first_cell + self.n_cells - 1 if high is None else self.cell(high) - (not high_closed)
        return (first, last) if first <= last else None

    def outside(self, spans: Iterable[Span]) -> list[Span]:
        """Return the cells that are in none of the spans, which ascend and are disjoint."""
        left, at = [], self.first_cell
        for first, last in spans:
            if at < first:
                left.append((at, first - 1))
            at = last + 1
        end = self.first_cell + self.n_cells - 1
        return [*left, (at, end)] if at <= end else left


def cuts_of(value: Value, kind: Kind, zone: tzinfo) -> tuple[Cut, ...]:
    """Return where a constant cuts the domain of its kind: a network cuts at both of its ends."""
    if isinstance(value, Network):
        return value.first, value.last
    return (cut_of(value, kind, zone),)


def needs_days(value: Value, zone: tzinfo) -> bool:
    """Return whether a constant is a date that begins at the same moment as another."""
    return type(value) is date and shares_its_midnight(value, zone)


def twin_cuts(cut: Cut, twin: Kind, zone: tzinfo) -> Sequence[Cut]:
    """Return where a constant that cuts a domain cuts its twin."""
    if twin is Kind.ROUNDED:
        return (as_double(cut),)
    first, last = days_around(cut, zone)
    return range(min(first, last), max(first, last) + 1)


def days_around(moment: int, zone: tzinfo) -> tuple[int, int]:
    """Return the first day that begins at or after a moment, and the last day that begins at or before it.

    They are one day if a day begins at the moment, and two days if the zone skipped one of them. Otherwise the last day
    comes before the first.
    """
    last = min(max(_DAYS_BEFORE_1970 + moment // _A_DAY, _FIRST_DAY), _LAST_DAY)  # in UTC, which is off by at most one
    while last >= _FIRST_DAY and _beginning(last, zone) > moment:
        last -= 1
    while last < _LAST_DAY and _beginning(last + 1, zone) <= moment:
        last += 1
    first = last + 1
    while first > _FIRST_DAY and _beginning(first - 1, zone) == moment:
        first -= 1
    return first, last


def _beginning(day: int, zone: tzinfo) -> int:
    return instant(date.fromordinal(day), zone)


def ends(bound: Bound) -> list[Value]:
    """Return the constants at which a range ends."""
    return [end for end in (bound.low, bound.high) if end is not None]


def span_of(bound: Bound, domain: Domain, zone: tzinfo) -> Span | None:
    """Return the cells of a range in a domain that its ends cut; None if there are none."""
    low, high, kind = bound.low, bound.high, domain.kind
    if kind is Kind.DATE:
        from_day = None if low is None else _days(low, zone)[0 if bound.low_closed else 1]
        to_day = None if high is None else _days(high, zone)[1 if bound.high_closed else 0]
        return domain.span(from_day, bound.low_closed, to_day, bound.high_closed)
    first = None if low is None else cuts_of(low, kind, zone)[0]
    last = None if high is None else cuts_of(high, kind, zone)[-1]
    return domain.span(first, bound.low_closed, last, bound.high_closed)


def _days(value: Value, zone: tzinfo) -> tuple[int, int]:
    """Return the first day that is not before a constant, and the last that is not after it."""
    if isinstance(value, datetime):
        return days_around(instant(value, zone), zone)
    day = cut_of(value, Kind.DATE, zone)
    return day, day


_POINTS: Final = frozenset((Kind.EXACT, Kind.DOUBLE, Kind.STRING, Kind.BOOLEAN, Kind.VERSION, Kind.MAVEN))


def _domains_of(kind: Kind, domains: Mapping[Kind, Domain]) -> list[Domain]:
    """Return the domains that constants of a kind cut."""
    kinds = (kind, TWINS[kind]) if kind in TWINS else (kind,)
    return [domains[each] for each in kinds if each in domains]


def spans_of(
    values: Iterable[Value], bounds: Iterable[Bound], domains: Mapping[Kind, Domain], zone: tzinfo
) -> dict[Domain, list[Span]]:
    """Return the cells of a set of values, by domain, in the order of the cells."""
    spans: dict[Domain, list[Span]] = {}
    for value in values:
        kind = kind_of(value)
        for domain in _domains_of(kind, domains):
            if kind in _POINTS:  # the usual case: what `span_of` returns, without making a range for it
                cell = domain.cell(cut_of(value, domain.kind, zone))
                spans.setdefault(domain, []).append((cell, cell))
            else:
                span = span_of(Bound(value, True, value, True), domain, zone)
                spans.setdefault(domain, []).extend([] if span is None else [span])
    for bound in bounds:
        for domain in _domains_of(kind_of(ends(bound)[0]), domains):
            span = span_of(bound, domain, zone)
            spans.setdefault(domain, []).extend([] if span is None else [span])
    if len(spans) > 1:
        spans = {domain: spans[domain] for domain in sorted(spans, key=lambda domain: domain.first_cell)}
    return {domain: merge_spans(found) if len(found) > 1 else found for domain, found in spans.items()}


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the same cells as ascending spans that neither overlap nor touch."""
    joined: list[Span] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined

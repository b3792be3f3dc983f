"""A domain: the ordered values of one family on one operand, cut into cells by the constants that rules name.

With n constants there are 2n + 1 cells: the gaps and the points between them.

    cell        0     1      2      3      4
    values   … < 10   10   10 < … < 20   20   20 < …          cuts: 10, 20

Numbers have up to three domains on an operand. Integers and decimals of rules compare exactly with integers and
decimals of events, and as doubles with doubles; doubles of rules always compare as doubles. So constants of the two
kinds cut separately. Exact constants that are one double (9007199254740992 and 9007199254740993) need a third
domain, which doubles of events are found in.

Dates and times have up to two. Beside a time a date is the moment that its day begins with, and two dates compare as
dates. That is the same but where the zone skipped a day (2011-12-30 in Pacific/Apia), which begins with the moment that
the next one does. An operand with such a date among its constants needs a second domain, of days, which dates of events
are found in; there a time is what it is to dates, the days that begin with it or lie around it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from decimal import Decimal
from enum import IntEnum
from typing import Any, Final, TypeAlias

from ruledex.language.address import Network
from ruledex.language.tree import Bound, Value
from ruledex.language.value import as_double, instant, shares_its_midnight
from ruledex.language.version import Version

Cut: TypeAlias = Any  # a number, a string, microseconds, a day, a version's key, an address as an integer
Span: TypeAlias = tuple[int, int]  # cells from the first to the second, both inside


class Kind(IntEnum):
    """What a domain's cuts are."""

    EXACT = 0  # integers and decimals, for integers and decimals (and doubles, where no two cuts are one double)
    ROUNDED = 1  # the same constants as doubles, for doubles
    DOUBLE = 2  # doubles, for all numbers
    STRING = 3
    BOOLEAN = 4
    TIME = 5  # dates and times, in microseconds since 1970 in UTC, for both (but dates where there are days)
    VERSION = 6
    ADDRESS = 7
    DATE = 8  # the same constants as days, numbered as Python does, for dates


# Where a domain has a twin, the twin has its constants too, and some values of events are found there instead.
TWINS: Final = {Kind.EXACT: Kind.ROUNDED, Kind.TIME: Kind.DATE}
_FIRST_DAY: Final = date.min.toordinal()
_LAST_DAY: Final = date.max.toordinal()
_A_DAY: Final = 86_400_000_000  # microseconds
_DAYS_BEFORE_1970: Final = date(1970, 1, 1).toordinal()


def cut_of(value: Value, kind: Kind, zone: tzinfo) -> Cut:
    """A constant or an event's value as a domain of this kind orders it; in days it must be a date."""
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


_KIND_OF_TYPE: Final = {
    bool: Kind.BOOLEAN,
    int: Kind.EXACT,
    Decimal: Kind.EXACT,
    float: Kind.DOUBLE,
    str: Kind.STRING,
    date: Kind.TIME,
    datetime: Kind.TIME,
    Version: Kind.VERSION,
    Network: Kind.ADDRESS,
}


def kind_of(value: Value) -> Kind:
    """The kind of domain that a constant cuts."""
    return _KIND_OF_TYPE[type(value)]


class Domain:
    """Sorted cuts, and the id of the first of their cells. The cuts may lie in a mapped file."""

    __slots__ = ("cuts", "first_cell", "kind")

    def __init__(self, kind: Kind, cuts: Sequence[Cut], first_cell: int) -> None:
        self.kind = kind
        self.cuts = cuts
        self.first_cell = first_cell

    @property
    def n_cells(self) -> int:
        """Gaps and points."""
        return 2 * len(self.cuts) + 1

    def cell(self, cut: Cut) -> int:
        """The cell that a value lies in."""
        at = bisect_left(self.cuts, cut)
        is_point = at < len(self.cuts) and self.cuts[at] == cut
        return self.first_cell + 2 * at + is_point

    def cell_of_double(self, value: float) -> int:
        """The cell of a double among exact cuts, none of which are one double."""
        at = bisect_left(self.cuts, value, key=as_double)
        is_point = at < len(self.cuts) and as_double(self.cuts[at]) == value
        return self.first_cell + 2 * at + is_point

    def span(self, low: Cut | None, low_closed: bool, high: Cut | None, high_closed: bool) -> Span | None:
        """The cells of a stretch whose ends are cuts or open to infinity; None where it is empty."""
        first = self.first_cell if low is None else self.cell(low) + (not low_closed)
        last = self.first_cell + self.n_cells - 1 if high is None else self.cell(high) - (not high_closed)
        return (first, last) if first <= last else None

    def outside(self, spans: Iterable[Span]) -> list[Span]:
        """The cells in none of the spans, which ascend and are disjoint."""
        left, at = [], self.first_cell
        for first, last in spans:
            if at < first:
                left.append((at, first - 1))
            at = last + 1
        end = self.first_cell + self.n_cells - 1
        return [*left, (at, end)] if at <= end else left


def cuts_of(value: Value, kind: Kind, zone: tzinfo) -> tuple[Cut, ...]:
    """Where a constant cuts the domain of its kind: a network at both of its ends."""
    if isinstance(value, Network):
        return value.first, value.last
    return (cut_of(value, kind, zone),)


def needs_days(value: Value, zone: tzinfo) -> bool:
    """Whether a constant is a date that, as a time, could not be told from another."""
    return type(value) is date and shares_its_midnight(value, zone)


def twin_cuts(cut: Cut, twin: Kind, zone: tzinfo) -> Sequence[Cut]:
    """Where a constant that cuts a domain cuts the twin of it."""
    if twin is Kind.ROUNDED:
        return (as_double(cut),)
    first, last = days_around(cut, zone)
    return range(min(first, last), max(first, last) + 1)


def days_around(moment: int, zone: tzinfo) -> tuple[int, int]:
    """The first day that begins at a moment or after it, and the last that begins at it or before.

    One day where one begins just then, two where the zone skipped one of them; else the last comes before the first.
    """
    last = min(max(_DAYS_BEFORE_1970 + moment // _A_DAY, _FIRST_DAY), _LAST_DAY)  # of UTC: one off at the most
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
    """The constants that a stretch ends at."""
    return [end for end in (bound.low, bound.high) if end is not None]


def span_of(bound: Bound, domain: Domain, zone: tzinfo) -> Span | None:
    """The cells of a stretch whose ends are constants, in a domain that they cut; None where there are none."""
    low, high, kind = bound.low, bound.high, domain.kind
    if kind is Kind.DATE:
        from_day = None if low is None else _days(low, zone)[0 if bound.low_closed else 1]
        to_day = None if high is None else _days(high, zone)[1 if bound.high_closed else 0]
        return domain.span(from_day, bound.low_closed, to_day, bound.high_closed)
    first = None if low is None else cuts_of(low, kind, zone)[0]
    last = None if high is None else cuts_of(high, kind, zone)[-1]
    return domain.span(first, bound.low_closed, last, bound.high_closed)


def _days(value: Value, zone: tzinfo) -> tuple[int, int]:
    """The first day that is not before a constant, and the last that is not after it."""
    if isinstance(value, datetime):
        return days_around(instant(value, zone), zone)
    day = cut_of(value, Kind.DATE, zone)
    return day, day


_POINTS: Final = frozenset((Kind.EXACT, Kind.DOUBLE, Kind.STRING, Kind.BOOLEAN, Kind.VERSION))


def _reached(kind: Kind, domains: Mapping[Kind, Domain]) -> list[Domain]:
    """The domains that constants of a kind cut."""
    kinds = (kind, TWINS[kind]) if kind in TWINS else (kind,)
    return [domains[each] for each in kinds if each in domains]


def spans_of(
    values: Iterable[Value], bounds: Iterable[Bound], domains: Mapping[Kind, Domain], zone: tzinfo
) -> dict[Domain, list[Span]]:
    """The cells of a set, by the domains that its constants cut, in the order of their cells."""
    spans: dict[Domain, list[Span]] = {}
    for value in values:
        kind = kind_of(value)
        for domain in _reached(kind, domains):
            if kind in _POINTS:  # most are: what `span_of` gives, without a stretch made for it
                cell = domain.cell(cut_of(value, domain.kind, zone))
                spans.setdefault(domain, []).append((cell, cell))
            else:
                span = span_of(Bound(value, True, value, True), domain, zone)
                spans.setdefault(domain, []).extend([] if span is None else [span])
    for bound in bounds:
        for domain in _reached(kind_of(ends(bound)[0]), domains):
            span = span_of(bound, domain, zone)
            spans.setdefault(domain, []).extend([] if span is None else [span])
    if len(spans) > 1:
        spans = {domain: spans[domain] for domain in sorted(spans, key=lambda domain: domain.first_cell)}
    return {domain: merged_spans(found) if len(found) > 1 else found for domain, found in spans.items()}


def merged_spans(spans: Iterable[Span]) -> list[Span]:
    """The same cells as ascending spans that neither overlap nor touch."""
    joined: list[Span] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined

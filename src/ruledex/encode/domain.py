"""A domain: the ordered values of one family on one operand, cut into cells by the constants that rules name.

With n constants there are 2n + 1 cells: the gaps and the points between them.

    cell        0     1      2      3      4
    values   … < 10   10   10 < … < 20   20   20 < …          cuts: 10, 20

Numbers have up to three domains on an operand. Integers and decimals of rules compare exactly with integers and
decimals of events, and as doubles with doubles; doubles of rules always compare as doubles. So constants of the two
kinds cut separately. Exact constants that are one double (9007199254740992 and 9007199254740993) need a third
domain, which doubles of events are found in.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import IntEnum
from typing import Any, Final, TypeAlias

from ruledex.language.address import Network
from ruledex.language.tree import Bound, Value
from ruledex.language.value import as_double, instant
from ruledex.language.version import Version

Cut: TypeAlias = Any  # a number, a string, microseconds, a version's key, an address as an integer
Span: TypeAlias = tuple[int, int]  # cells from the first to the second, both inside


class Kind(IntEnum):
    """What a domain's cuts are."""

    EXACT = 0  # integers and decimals, for integers and decimals (and doubles, where no two cuts are one double)
    ROUNDED = 1  # the same constants as doubles, for doubles
    DOUBLE = 2  # doubles, for all numbers
    STRING = 3
    BOOLEAN = 4
    TIME = 5  # microseconds since 1970 in UTC
    VERSION = 6
    ADDRESS = 7


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def microseconds(moment: date | datetime, zone: tzinfo) -> int:
    """A date or time as microseconds since 1970; a date is its midnight in the zone."""
    return (instant(moment, zone) - _EPOCH) // _MICROSECOND


def cut_of(value: Value, kind: Kind, zone: tzinfo) -> Cut:
    """A constant or an event's value as a domain of this kind orders it."""
    if kind is Kind.TIME:
        return microseconds(value, zone)  # type: ignore[arg-type]  # the family is time's
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


def ends(bound: Bound) -> list[Value]:
    """The constants that a stretch ends at."""
    return [end for end in (bound.low, bound.high) if end is not None]


def merged_spans(spans: Iterable[Span]) -> list[Span]:
    """The same cells as ascending spans that neither overlap nor touch."""
    joined: list[Span] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined

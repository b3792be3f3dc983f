"""Compares many values with many others, without going over all pairs.

`compare` orders the values of one family along one line, with two exceptions: compared with a double, integers and
decimals are doubles, and compared with a time, a date is its midnight. So each family has two lines: an *exact* one,
and one to which exact values are *carried* when they are compared with a double or a time. Two exact values meet on
the first line, all other pairs on the second.

Lines are sorted rather than hashed, because it is easy to construct numbers that share a hash.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, tzinfo
from itertools import accumulate
from typing import Any, Final

from ruledex.forks import cached_property
from ruledex.language.resolve import fit_values
from ruledex.language.value import Family, as_double, family_of, instant
from ruledex.language.value_types import Network

# Up to this many pairs, going over all of them is quicker.
FEW_PAIRS: Final = 16

_SOME: Final[dict[str, Callable[[Sequence[Any], Sequence[Any]], bool]]] = {
    "=": lambda left, right: _share(sorted(left), sorted(right)),
    "<": lambda left, right: min(left) < max(right),
    "<=": lambda left, right: min(left) <= max(right),
    ">": lambda left, right: max(left) > min(right),
    ">=": lambda left, right: max(left) >= min(right),
}


class Lines:
    """Values of one family on its two lines."""

    def __init__(self, values: Iterable[Any], zone: tzinfo) -> None:
        self.exact: list[Any] = []
        self.rounded: list[Any] = []
        self._zone = zone
        for value in values:
            if isinstance(value, float | datetime):
                self.rounded.append(_carry(value, zone))
            else:
                self.exact.append(_place(value))

    @property
    def carried(self) -> list[Any]:
        """The exact values on the second line."""
        return [_carry(value, self._zone) for value in self.exact]


def some_pair(op: str, left: Sequence[Any], right: Sequence[Any], zone: tzinfo) -> bool | None:
    """Return whether `op` holds between some value of `left` and some value of `right`, or None if no two compare."""
    of_left, of_right = _by_family(left), _by_family(right)
    met = [(family, of_left[family], of_right[family]) for family in of_left if family in of_right]
    # A text compared with a date or time is read as one.
    times, texts = Family.TIME, Family.STRING
    if times in of_left and texts in of_right:
        met.append((times, of_left[times], of_right[texts]))
    if texts in of_left and times in of_right:
        met.append((times, of_left[texts], of_right[times]))
    known = False
    for family, some, others in met:
        one, other = (Lines(fit_values(values, family, zone), zone) for values in (some, others))
        pairs: list[tuple[list[Any], list[Any]]] = [(one.exact, other.exact)]
        if one.rounded or other.rounded:
            pairs += [(one.rounded, other.rounded + other.carried), (one.carried, other.rounded)]
        for on_left, on_right in pairs:
            if on_left and on_right:
                known = True
                if _SOME[op](on_left, on_right):
                    return True
    return False if known else None


class Members:
    """Values of one family, with a test whether one of them equals a given value."""

    def __init__(self, values: Iterable[Any], zone: tzinfo) -> None:
        lines = Lines(values, zone)
        self._exact = sorted(lines.exact)
        self._rounded = sorted(lines.rounded)
        self._lines = lines
        self._zone = zone

    @cached_property
    def _carried(self) -> list[Any]:
        return sorted(self._lines.carried)

    def has(self, value: Any) -> bool:
        """Return whether some member equals the value."""
        if isinstance(value, float | datetime):
            carried = _carry(value, self._zone)
            return _is_in(carried, self._rounded) or _is_in(carried, self._carried)
        if _is_in(_place(value), self._exact):
            return True
        return bool(self._rounded) and _is_in(_carry(value, self._zone), self._rounded)


class NetworkSet:
    """Networks, with a test whether one of them contains a given address."""

    def __init__(self, networks: Iterable[Network]) -> None:
        ordered = sorted((network.first, network.last) for network in networks)
        self._firsts = [first for first, _ in ordered]
        self._reach = list(accumulate((last for _, last in ordered), max))

    def has(self, value: Network) -> bool:
        """Return whether some network contains the value."""
        at = bisect_right(self._firsts, value.first)
        return at > 0 and self._reach[at - 1] >= value.last


def equal_to(constants: Sequence[Any], zone: tzinfo) -> Callable[[Any], bool]:
    """Return a test whether a value equals one of a rule's constants. An address equals each network around it."""
    return NetworkSet(constants).has if isinstance(constants[0], Network) else Members(constants, zone).has


def each_is_met(constants: Sequence[Any], values: Sequence[Any], zone: tzinfo) -> bool:
    """Return whether each of a rule's constants equals one of the values."""
    if not isinstance(constants[0], Network):
        return all(map(Members(values, zone).has, constants))
    places = sorted(value.first for value in values)
    return all(_is_reached(places, network) for network in constants)


def _by_family(values: Iterable[Any]) -> dict[Family, list[Any]]:
    found: dict[Family, list[Any]] = {}
    for value in values:
        family = family_of(value)
        if family is not None:
            found.setdefault(family, []).append(value)
    return found


def _place(value: Any) -> Any:
    """Return an exact value in a form that Python orders. An address of an event is a block of one."""
    return value.first if isinstance(value, Network) else value


def _carry(value: Any, zone: tzinfo) -> Any:
    return instant(value, zone) if isinstance(value, date) else as_double(value)


def _share(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether two sorted lists have a value in common."""
    shorter, longer = (left, right) if len(left) <= len(right) else (right, left)
    return any(_is_in(value, longer) for value in shorter)


def _is_in(value: Any, ordered: Sequence[Any]) -> bool:
    at = bisect_left(ordered, value)
    return at < len(ordered) and bool(ordered[at] == value)


def _is_reached(places: Sequence[int], network: Network) -> bool:
    at = bisect_left(places, network.first)
    return at < len(places) and places[at] <= network.last

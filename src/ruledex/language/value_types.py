"""The types of constants that Python lacks: versions, addresses and networks, intervals, and moments counted from now.

Versions have the order of semantic versioning, with dotted numbers of any length: `1.2 = 1.2.0`, `1.10 > 1.9`, a
pre-release comes before its release, and build metadata does not count. The package `semver` reads exactly three
numbers, but many applications use more or fewer. Maven's order differs: MavenVersion.

Addresses and networks are ranges of one ordered domain. An address is a network of one. All of version 4 lies below all
of version 6, so a network of either version is one range of integers.

Intervals are of Spark's two kinds: months, or microseconds. A moment is the time of the call plus intervals; clock.py
says which time that is.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Final

from ruledex.errors import quoted

_FORM = re.compile(r"[vV]?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)

# A release sorts after each of its pre-releases: (1,) is above (0, …).
_RELEASE = (1,)


@total_ordering
class Version:
    """A version and its sort key. `text` is the version as written."""

    __slots__ = ("key", "text")

    def __init__(self, text: str) -> None:
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError(f"{quoted(text)} is not a version such as 4.10.2 or 1.0.0-beta.2")
        numbers = [int(number) for number in match[1].split(".")]
        while numbers and not numbers[-1]:
            numbers.pop()
        pre_release: tuple[object, ...] = _RELEASE
        if match[2]:
            # Semantic versioning, item 11: numbers are below words, and fewer fields below more.
            pre_release = (0, tuple((0, int(f), "") if f.isdigit() else (1, 0, f) for f in match[2].split(".")))
        self.text = text
        self.key = (tuple(numbers), pre_release)

    @staticmethod
    def read(value: object) -> Version | None:
        """Return the version that a value of an event names, or None."""
        try:
            return Version(value) if isinstance(value, str) else None
        except ValueError:
            return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key == other.key

    def __lt__(self, other: Version) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Version({self.text!r})"


_V6_START = 1 << 32


class Network:
    """A block of addresses from `first` to `last`, both included. `text` is its canonical form."""

    __slots__ = ("first", "last", "text")

    def __init__(self, text: str) -> None:
        try:
            # Host bits are dropped, as routers do: 10.1.2.3/8 is 10.0.0.0/8.
            network = ipaddress.ip_network(text, strict=False)
        except ValueError as error:
            raise ValueError(f"{quoted(text)} is not an address or a network such as 10.0.0.0/8") from error
        start = 0 if network.version == 4 else _V6_START
        self.first = start + int(network.network_address)
        self.last = start + int(network.broadcast_address)
        one = network.num_addresses == 1
        self.text = str(network.network_address) if one else str(network)

    @staticmethod
    def read(value: object) -> Network | None:
        """Return the address that a value of an event names, or None. A block is not an address of an event."""
        try:
            address = Network(value) if isinstance(value, str) else None
        except ValueError:
            return None
        return address if address is not None and address.first == address.last else None

    def holds(self, other: Network) -> bool:
        """Return whether all of `other` lies in this network."""
        return self.first <= other.first and other.last <= self.last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and (self.first, self.last) == (other.first, other.last)

    def __hash__(self) -> int:
        return hash((self.first, self.last))

    def __repr__(self) -> str:
        return f"Network({self.text!r})"


MICROSECONDS_PER_DAY: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A length of time: months, or microseconds, one of them zero.

    `is_days` says that it was written in days or weeks: a date plus such an interval, or plus months, is a date. Whole
    days among the microseconds are days of the calendar, which daylight saving makes longer or shorter, and 24 hours
    are one day, as in Spark.
    """

    months: int = 0
    microseconds: int = 0
    is_days: bool = False

    @property
    def keeps_dates(self) -> bool:
        """Whether a date plus this interval is a date."""
        return self.is_days or not self.microseconds

    def negated(self) -> Interval:
        """Return the interval in the other direction."""
        return Interval(-self.months, -self.microseconds, self.is_days)


@dataclass(frozen=True, slots=True)
class Moment:
    """The time or the date of the call, plus months, and then plus microseconds. Those of a date are whole days."""

    months: int = 0
    microseconds: int = 0
    is_date: bool = False

    def steps(self) -> list[Interval]:
        """Return the intervals that are added to now, in order: months, and then the rest."""
        steps = [Interval(months=self.months)] if self.months else []
        if self.microseconds:
            is_days = self.microseconds % MICROSECONDS_PER_DAY == 0
            steps.append(Interval(microseconds=self.microseconds, is_days=is_days))
        return steps


_TOKEN: Final = re.compile(r"([.-]?)([0-9]+|[^0-9.-]+|)")
_BEFORE_RELEASE: Final = ("alpha", "beta", "milestone", "rc", "snapshot")
_ALIASES: Final = {"cr": "rc", "ga": "", "final": "", "release": ""}
_SHORT: Final = {"a": "alpha", "b": "beta", "m": "milestone"}  # if a digit follows at once

# A token as text begins with one of these, so that texts are in the order of the versions.
_IS_RELEASE, _SP, _OTHER, _HYPHEN_NUMBER, _DOT_NUMBER = (chr(len(_BEFORE_RELEASE) + place) for place in range(1, 6))


class MavenVersion(Version):
    """A version in the order of Maven (https://maven.apache.org/pom.html), and its sort key, which is a text.

    A version is a sequence of numbers and qualifiers, each with a dot or a hyphen before it. A change between digits
    and letters counts as a hyphen, and so does a dot before a qualifier. Zeros, and the qualifiers that mean a release,
    are dropped at the end and before each hyphen. Then versions compare token by token:

        alpha < beta < milestone < rc = cr < snapshot < the end = ga = final = release < sp < others < -number < .number

    Every text is a version.
    """

    __slots__ = ()
    key: str  # type: ignore[assignment]  # of another order than that of semantic versions

    def __init__(self, text: str) -> None:
        self.text = text
        self.key = "".join([_encoded(separator, token) for separator, token in _trimmed(text.lower())]) + _IS_RELEASE

    @staticmethod
    def read(value: object) -> MavenVersion | None:
        """Return the version that a value of an event names, or None."""
        return MavenVersion(value) if isinstance(value, str) else None

    def __repr__(self) -> str:
        return f"MavenVersion({self.text!r})"


def _trimmed(text: str) -> list[tuple[str, str]]:
    """Return the tokens and what is before each, without zeros and releases at the end and before a hyphen."""
    tokens: list[tuple[str, str]] = []
    for separator, token in _tokens(text):
        if separator == "-":
            _trim(tokens)
        tokens.append((separator, token))
    _trim(tokens)
    return tokens


def _trim(tokens: list[tuple[str, str]]) -> None:
    while tokens and tokens[-1][1] in ("", "0"):
        tokens.pop()


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    matches = list(_TOKEN.finditer(text))
    for place, match in enumerate(matches):
        separator, token = match.groups()
        if not separator and not token:
            continue  # the end
        if not token or token[0] in "0123456789":
            # A change from letters to digits is a hyphen. The first token has nothing before it, as if a dot.
            found.append((separator or ("-" if found else "."), token.lstrip("0") or "0"))
            continue
        following = matches[place + 1]
        if not following[1] and following[2]:  # a digit comes next
            token = _SHORT.get(token, token)
        found.append(("-", _ALIASES.get(token, token)))
    return found


def _encoded(separator: str, token: str) -> str:
    """Return a token as a text that sorts as the token does."""
    if token[:1].isascii() and token[:1].isdigit():
        length = str(len(token))
        return f"{_DOT_NUMBER if separator == '.' else _HYPHEN_NUMBER}{len(length)}{length}{token}"
    if token in _BEFORE_RELEASE:
        return chr(1 + _BEFORE_RELEASE.index(token))
    if not token or token == "sp":
        return _SP if token else _IS_RELEASE
    return _OTHER + token.replace("\0", "\0\1") + "\0\0"

"""Versions in the order of semantic versioning, for dotted numbers of any length.

`1.2 = 1.2.0`, `1.10 > 1.9`, a pre-release comes before its release, and build metadata does not count. The package
`semver` reads exactly three numbers, but many applications use more or fewer.
"""

from __future__ import annotations

import re
from functools import total_ordering

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

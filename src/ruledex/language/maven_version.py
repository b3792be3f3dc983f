"""Versions in the order of Maven, which differs from semantic versioning: https://maven.apache.org/pom.html.

A version is a sequence of numbers and qualifiers, each with a dot or a hyphen before it. A change between digits and
letters counts as a hyphen, and so does a dot before a qualifier. Zeros, and the qualifiers that mean a release, are
dropped at the end and before each hyphen. Then versions compare token by token:

    alpha < beta < milestone < rc = cr < snapshot < the end = ga = final = release < sp < others < -number < .number

Every text is a version.
"""

from __future__ import annotations

import re
from typing import Final

from ruledex.language.value_types import Version

_TOKEN: Final = re.compile(r"([.-]?)([0-9]+|[^0-9.-]+|)")
_BEFORE_RELEASE: Final = ("alpha", "beta", "milestone", "rc", "snapshot")
_ALIASES: Final = {"cr": "rc", "ga": "", "final": "", "release": ""}
_SHORT: Final = {"a": "alpha", "b": "beta", "m": "milestone"}  # if a digit follows at once

# A token as text begins with one of these, so that texts are in the order of the versions.
_RELEASE, _SP, _OTHER, _HYPHEN_NUMBER, _DOT_NUMBER = (chr(len(_BEFORE_RELEASE) + place) for place in range(1, 6))


class MavenVersion(Version):
    """A version and its sort key, which is a text."""

    __slots__ = ()
    key: str  # type: ignore[assignment]  # of another order than that of semantic versions

    def __init__(self, text: str) -> None:
        self.text = text
        self.key = "".join([_encoded(separator, token) for separator, token in _trimmed(text.lower())]) + _RELEASE

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
        return _SP if token else _RELEASE
    return _OTHER + token.replace("\0", "\0\1") + "\0\0"

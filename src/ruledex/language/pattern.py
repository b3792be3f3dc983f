"""Tests texts against LIKE patterns and regular expressions, in time linear in the text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from ruledex.language.like_pieces import Pieces, fits, pieces_of
from ruledex.language.programs import check_program, compile_regex

_PIECE = re.compile(r"\\(.)|([%_])|([^\\%_]+)", re.DOTALL)
_LONGEST_REMEMBERED: Final = 200  # characters: the cache below holds up to 1,024 patterns of this length


def like_pattern(pattern: str, escape: str) -> str:
    """Return a LIKE pattern with backslash as its escape.

    Raises ValueError if an escape is not followed by %, _ or itself.
    """
    if escape not in pattern and "\\" not in pattern:
        return pattern
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            if not escaped or escaped not in ("%", "_", escape):
                what = f"is before {escaped!r}" if escaped else "is at the end"
                raise ValueError(f"the escape {escape!r} {what}; it must be before %, _ or itself")
            parts.append("\\" + escaped if escaped in "%_\\" else escaped)
        else:
            parts.append("\\\\" if character == "\\" else character)
    return "".join(parts)


def like_to_regex(pattern: str) -> str:
    """Return the regular expression that a whole text must match to be LIKE a pattern."""
    parts = []
    for escaped, wildcard, plain in _PIECE.findall(pattern):
        if wildcard:
            parts.append(".*" if wildcard == "%" else ".")
        else:
            parts.append(re.escape(escaped or plain))
    return "(?s)" + "".join(parts)


def check_like(pattern: str, ignore_case: bool) -> None:
    """Raise ValueError for a pattern whose program would exceed a limit. Backslash is the escape."""
    if "_" not in pattern or pattern.count("%") < 2:
        return
    pattern = pattern.lower() if ignore_case else pattern
    if pieces_of(pattern).needs_regex:
        check_program(like_to_regex(pattern))


def is_like(value: str, pattern: str, ignore_case: bool) -> bool:
    """Return whether a text is LIKE a pattern. ILIKE compares both in lower case, as Spark does."""
    if ignore_case:
        value, pattern = value.lower(), pattern.lower()
    cut = _remembered_pieces if len(pattern) <= _LONGEST_REMEMBERED else pieces_of
    pieces, needs_regex = cut(pattern)
    if needs_regex:
        return _found(compile_regex(like_to_regex(pattern)).fullmatch, value)
    return fits(value, pieces) and _is_unicode(value)


def has_match(value: str, regex: str) -> bool:
    """Return whether a regular expression matches anywhere in a text."""
    return _found(compile_regex(regex).search, value)


@lru_cache(maxsize=1024)
def _remembered_pieces(pattern: str) -> Pieces:
    return pieces_of(pattern)


def _found(look: Any, value: str) -> bool:
    return _is_unicode(value) and look(value) is not None


def _is_unicode(value: str) -> bool:
    """Return whether a text has no half of a surrogate pair, which no pattern can match."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True

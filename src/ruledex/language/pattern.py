"""LIKE patterns and regular expressions, both answered by RE2, whose time is linear in the text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, TypeAlias

Regexp: TypeAlias = Any  # google-re2 names no public type for a compiled expression

_PIECE = re.compile(r"\\(.)|([%_])|([^\\%_]+)", re.DOTALL)


def like_pattern(pattern: str, escape: str) -> str:
    """A LIKE pattern with backslash as its escape. Raises ValueError where an escape stands before nothing special."""
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            if not escaped or escaped not in ("%", "_", escape):
                what = f"before {escaped!r}" if escaped else "at the end"
                raise ValueError(f"the escape {escape!r} stands {what}; it may stand before %, _ or itself")
            parts.append("\\" + escaped if escaped in "%_\\" else escaped)
        else:
            parts.append("\\\\" if character == "\\" else character)
    return "".join(parts)


def like_to_regex(pattern: str) -> str:
    """The regular expression that a whole text must fit to be LIKE a pattern."""
    parts = []
    for escaped, wildcard, plain in _PIECE.findall(pattern):
        if wildcard:
            parts.append(".*" if wildcard == "%" else ".")
        else:
            parts.append(re.escape(escaped or plain))
    return "(?s)" + "".join(parts)


@lru_cache(maxsize=65_536)
def compile_regex(regex: str) -> Regexp:
    """RE2's program for a regular expression. Raises ValueError with RE2's reason where it refuses."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        reason = error.args[0]
        raise ValueError(reason.decode() if isinstance(reason, bytes) else str(reason)) from None


def is_like(value: str, pattern: str, ignore_case: bool) -> bool:
    """Whether a text is LIKE a pattern; ILIKE compares both in lower case, as Spark does."""
    if ignore_case:
        value, pattern = value.lower(), pattern.lower()
    return _found(compile_regex(like_to_regex(pattern)).fullmatch, value)


def has_match(value: str, regex: str) -> bool:
    """Whether a regular expression is found anywhere in a text."""
    return _found(compile_regex(regex).search, value)


def _found(look: Any, value: str) -> bool:
    try:
        return look(value) is not None
    except UnicodeEncodeError:  # half of a surrogate pair, which no pattern can name
        return False

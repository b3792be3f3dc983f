"""Tests texts against LIKE patterns and regular expressions, in time linear in the text.

A LIKE pattern is cut at each %. The first piece must start the text, the last one must end it, and the others must
follow each other in between. All pieces have a fixed length, so no regular expression is needed. Only a piece between
two % that has an _ between two of its characters (`%a_b%`) cannot be found by a plain search. RE2 tests such a pattern.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ruledex.language.regex import check_program_size, compile_regex

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
        check_program_size(like_to_regex(pattern))


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


# The pieces of a LIKE pattern.


_RUN: Final = re.compile("[^_]+")
# An escaped character, or a run of characters of one kind.
_TOKEN: Final = re.compile(r"\\(.)|(%+)|(_+)|([^\\%_]+)", re.DOTALL)


class PatternPiece(NamedTuple):
    """The part of a pattern between two %."""

    length: int  # in characters
    runs: tuple[tuple[int, str], ...]  # the offsets of the texts between the _, and these texts, none of them empty


class Pieces(NamedTuple):
    """The pieces of a pattern whose escape is the backslash."""

    pieces: tuple[PatternPiece, ...]  # one more than the pattern has %, without those between %%
    needs_regex: bool


def pieces_of(pattern: str) -> Pieces:
    """Return the pieces of a pattern."""
    if "\\" in pattern:
        pieces = _with_escapes(pattern)
    else:
        first, *rest = pattern.split("%")
        pieces = [_piece(first), *(_piece(part) for part in rest[:-1] if part), *map(_piece, rest[-1:])]
    return Pieces(tuple(pieces), any(len(piece.runs) > 1 for piece in pieces[1:-1]))


def _piece(text: str) -> PatternPiece:
    """Return the piece of a text without % and without escapes."""
    if "_" not in text:
        return PatternPiece(len(text), ((0, text),) if text else ())
    return PatternPiece(len(text), tuple((run.start(), run[0]) for run in _RUN.finditer(text)))


def _with_escapes(pattern: str) -> list[PatternPiece]:
    pieces: list[PatternPiece] = []
    runs: list[tuple[int, str]] = []
    run: list[str] = []  # parts of the run that is being read
    start = at = 0  # where that run starts, and where it ends
    for escaped, percents, underscores, plain in _TOKEN.findall(pattern):
        text = escaped or plain
        if text:
            start = start if run else at
            run.append(text)
            at += len(text)
            continue
        if run:
            runs.append((start, "".join(run)))
            run = []
        if percents:
            pieces.append(PatternPiece(at, tuple(runs)))
            runs, at = [], 0
        at += len(underscores)
    if run:
        runs.append((start, "".join(run)))
    return [*pieces, PatternPiece(at, tuple(runs))]


def fits(text: str, pieces: tuple[PatternPiece, ...]) -> bool:
    """Return whether a text fits pieces that need no regular expression."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return len(text) == first.length and _stands(text, first, 0)
    at, end = first.length, len(text) - last.length
    if at > end or not (_stands(text, first, 0) and _stands(text, last, end)):
        return False
    for length, runs in pieces[1:-1]:
        if at + length > end:
            return False
        if runs:
            offset, run = runs[0]
            behind = length - offset - len(run)
            found = text.find(run, at + offset, end - behind)  # the leftmost one leaves the most room for the others
            if found < 0:
                return False
            at = found - offset
        at += length
    return True


def _stands(text: str, piece: PatternPiece, at: int) -> bool:
    """Return whether the text has a piece at an offset. The text must be long enough."""
    return all(text.startswith(run, at + offset) for offset, run in piece.runs)

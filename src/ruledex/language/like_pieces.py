"""Cuts a LIKE pattern at each %, and tests whether a text fits the pieces.

The first piece must start the text, the last one must end it, and the others must follow each other in between. All
pieces have a fixed length, so the time is linear in the pattern and in the text, without a regular expression. Only a
piece between two % that has an _ between two of its characters (`%a_b%`) cannot be found by a plain search. RE2 tests
such a pattern.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

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

"""Rewrites Lucene's regular expressions, which match whole values, as RE2's."""

from __future__ import annotations

import re
from typing import Final

from ruledex.errors import PatternError, RuleSyntaxError, did_you_mean, quoted
from ruledex.language.structured_parts import Place

_FLAGS: Final = {
    "COMPLEMENT": "~",
    "EMPTY": "#",
    "ANYSTRING": "@",
    "INTERSECTION": "&",
    "INTERVAL": "<",
}
_MOST_NUMBERS: Final = 1000  # of an interval, which becomes a list of numbers
_INTERVAL: Final = re.compile(r"<(\d{1,9})-(\d{1,9})>", re.ASCII)
_REPEATED: Final = re.compile(r"\{\d{0,4}(?:,\d{0,4})?\}", re.ASCII)
_NOTHING: Final = r"[^\x00-\x{10FFFF}]"


def re2_of(pattern: str, flags: str, place: Place) -> str:
    """Return the expression of RE2 for one of Lucene. Raises where Lucene's operators are beyond RE2."""
    return f"^(?s:{_Regexp(pattern, _operators(flags, place), place).converted()})$"


def _operators(flags: str, place: Place) -> str:
    if flags == "ALL":
        return "".join(_FLAGS.values())
    names = [name for name in flags.split("|") if name not in ("NONE", "")]
    for name in names:
        if name not in _FLAGS:
            raise RuleSyntaxError(
                f"{Place(place, 'flags')}: there is no flag {quoted(name)}; "
                f"{did_you_mean(name, _FLAGS) or 'the flags are ALL, NONE, ' + ', '.join(_FLAGS)}"
            )
    return "".join(_FLAGS[name] for name in names)


class _Regexp:
    """One regular expression while it is read from left to right."""

    def __init__(self, pattern: str, operators: str, place: Place) -> None:
        self._pattern = pattern
        self._operators = operators
        self._place = place

    def _refuse(self, at: int, why: str) -> PatternError:
        return PatternError(f"{self._place}: character {at + 1} of the regular expression: {why}")

    def converted(self) -> str:
        made, at = [], 0
        while at < len(self._pattern):
            piece, at = self._piece(at)
            made.append(piece)
        return "".join(made)

    def _piece(self, at: int) -> tuple[str, int]:
        """Return the next piece in RE2's syntax, and where it ends."""
        sign = self._pattern[at]
        if sign in self._operators:
            return self._operator(sign, at)
        if sign in ".?+*|()":
            return sign, at + 1
        if sign == "{":
            found = _REPEATED.match(self._pattern, at)
            if found is None:
                raise self._refuse(at, "a { starts a repetition such as {2,5}; write \\{ for the character")
            return re.sub(r"\{,", "{0,", found[0]), found.end()
        if sign == "[":
            return self._characters(at)
        if sign == '"':
            end = self._pattern.find('"', at + 1)
            if end < 0:
                raise self._refuse(at, 'this " has no end; write \\" for the character')
            return "(?:" + re.escape(self._pattern[at + 1 : end]) + ")", end + 1
        if sign == "\\":
            return self._escaped(at)
        return _plain(sign), at + 1

    def _operator(self, sign: str, at: int) -> tuple[str, int]:
        if sign == "@":
            return "(?:.*)", at + 1
        if sign == "#":
            return _NOTHING, at + 1
        if sign == "<":
            return self._interval(at)
        name = "complement" if sign == "~" else "intersection"
        raise self._refuse(at, f"RE2 has no {name}; write \\{sign} if the character is meant")

    def _interval(self, at: int) -> tuple[str, int]:
        found = _INTERVAL.match(self._pattern, at)
        if found is None:
            raise self._refuse(at, "a < starts an interval such as <1-100>; write \\< for the character")
        low, high = sorted((int(found[1]), int(found[2])))
        if high - low >= _MOST_NUMBERS:
            raise self._refuse(at, f"an interval has at most {_MOST_NUMBERS:,} numbers here")
        width = len(found[1]) if len(found[1]) == len(found[2]) else 0
        numbers = "|".join(str(number).zfill(width) for number in range(low, high + 1))
        return f"(?:{'' if width else '0*'}(?:{numbers}))", found.end()

    def _escaped(self, at: int, inside: bool = False) -> tuple[str, int]:
        if at + 1 >= len(self._pattern):
            raise self._refuse(at, "a backslash stands before another character")
        sign = self._pattern[at + 1]
        if sign in "dDwWsS":
            return "\\" + sign, at + 2
        return (_in_class(sign) if inside else _plain(sign)), at + 2

    def _characters(self, at: int) -> tuple[str, int]:
        start, made, at = at, "[", at + 1
        if self._pattern[at : at + 1] == "^":
            made, at = "[^", at + 1
        while True:
            if at >= len(self._pattern):
                raise self._refuse(start, "this [ has no end; write \\[ for the character")
            sign = self._pattern[at]
            if sign == "]":
                if made in ("[", "[^"):
                    raise self._refuse(start, "a class has at least one character")
                return made + "]", at + 1
            if sign == "\\":
                piece, at = self._escaped(at, inside=True)
                made += piece
            else:
                made, at = made + (sign if sign == "-" else _in_class(sign)), at + 1


def _plain(sign: str) -> str:
    return re.escape(sign) if sign.isascii() and not sign.isalnum() and sign != "_" else sign


def _in_class(sign: str) -> str:
    return "\\" + sign if sign in "\\[]^-&~" else sign

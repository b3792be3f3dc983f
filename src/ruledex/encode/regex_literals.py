"""What a text must contain to be matched by a regular expression, so that most expressions need not be tried.

The answer is a set of words, of which every match contains one at least; None where the expression does not say. RE2's
syntax is read far enough to be sure: what is not known here says nothing.

    foo.*barbaz      {barbaz}          (foo|bar)+x     {foo, bar}         [a-z]+|foo      None

Under (?i) only runs of ASCII letters without k and s are kept, in lower case: these two have a third form beyond ASCII
(the Kelvin sign and the long s) and all other letters may, so that a text in lower ASCII contains what is kept.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias


class Word(NamedTuple):
    """A run of characters; one that ignores case is to be looked for in the text with ASCII letters lowered."""

    text: str
    ignore_case: bool


Words: TypeAlias = frozenset[Word] | None

_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]*))?([:)])")
_NAMED: Final = re.compile(r"\(\?P?<\w+>")
_REPEAT: Final = re.compile(r"(?:([*+?])|\{(\d+)(?:,\d*)?\})\??")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)
_CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FOLDS_PLAINLY: Final = frozenset("abcdefghijlmnopqrtuvwxyz0123456789 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_MAX_WORDS: Final = 32
_MAX_DEPTH: Final = 50


class _UnknownError(Exception):
    """Syntax that this reader does not know."""


def required_words(regex: str) -> Words:
    """A set of words of which one is in every text that the expression matches."""
    try:
        reader = _Reader(regex)
        words = reader.alternatives(False, 0)
        return words if reader.at == len(regex) else None
    except _UnknownError:
        return None


class _Reader:
    def __init__(self, regex: str) -> None:
        self.regex = regex
        self.at = 0

    def alternatives(self, ignore_case: bool, depth: int) -> Words:
        if depth > _MAX_DEPTH:
            raise _UnknownError
        branches = []
        while True:
            # A flag set inside a branch holds in those after it too.
            words, ignore_case = self._branch(ignore_case, depth)
            branches.append(words)
            if not self.regex.startswith("|", self.at):
                break
            self.at += 1
        joined: set[Word] = set()
        for words in branches:
            if words is None:
                return None
            joined |= words
        return frozenset(joined) if len(joined) <= _MAX_WORDS else None

    def _branch(self, ignore_case: bool, depth: int) -> tuple[Words, bool]:
        best: Words = None
        run = ""

        def end_run() -> None:
            nonlocal best, run
            for part in _kept(run, ignore_case):
                best = _better(best, frozenset((Word(part, ignore_case),)))
            run = ""

        while self.at < len(self.regex) and self.regex[self.at] not in "|)":
            flags = _FLAGS.match(self.regex, self.at)
            if flags and flags[3] == ")":
                end_run()
                self.at = flags.end()
                ignore_case = _with_flags(flags, ignore_case)
                continue
            item = self._item(ignore_case, depth)
            repeat = _REPEAT.match(self.regex, self.at)
            if repeat is None:
                if isinstance(item, str):
                    run += item
                    continue
                end_run()
                best = _better(best, item)
                continue
            self.at = repeat.end()
            if _REPEAT.match(self.regex, self.at):
                raise _UnknownError  # RE2 refuses some of these and squashes others
            end_run()
            if repeat[1] == "+" or (repeat[2] or "0").strip("0"):  # at least once
                if isinstance(item, str):
                    run = item
                    end_run()
                else:
                    best = _better(best, item)
        end_run()
        return best, ignore_case

    def _item(self, ignore_case: bool, depth: int) -> str | Words:
        """A character that stands for itself, or what any other item requires."""
        character = self.regex[self.at]
        if character == "(":
            return self._group(ignore_case, depth)
        if character == "\\":
            return self._escape()
        if character == "[":
            bracket = _CLASS.match(self.regex, self.at)
            if bracket is None:
                raise _UnknownError
            self.at = bracket.end()
            return None
        if character in "*+?":
            raise _UnknownError
        self.at += 1
        return None if character in ".^$" else character

    def _group(self, ignore_case: bool, depth: int) -> Words:
        flags, named = _FLAGS.match(self.regex, self.at), _NAMED.match(self.regex, self.at)
        if flags:
            self.at = flags.end()
            ignore_case = _with_flags(flags, ignore_case)
        elif named:
            self.at = named.end()
        elif self.regex.startswith("(?", self.at):
            raise _UnknownError
        else:
            self.at += 1
        words = self.alternatives(ignore_case, depth + 1)
        if not self.regex.startswith(")", self.at):
            raise _UnknownError
        self.at += 1
        return words

    def _escape(self) -> str | None:
        escaped = self.regex[self.at + 1 : self.at + 2]
        self.at += 2
        if escaped in _CONTROL:
            return _CONTROL[escaped]
        if escaped and escaped in "dDwWsSbBAz":
            return None
        if escaped and escaped.isascii() and not escaped.isalnum():
            return escaped
        raise _UnknownError  # \Q…\E, \x, \p, octal numbers: rare enough to be tried each time


def _with_flags(flags: re.Match[str], ignore_case: bool) -> bool:
    return "i" not in (flags[2] or "") and (ignore_case or "i" in flags[1])


def _kept(run: str, ignore_case: bool) -> list[str]:
    """The parts of a run that may be looked for."""
    if not ignore_case:
        return [run] if run else []
    lowered = "".join(c.lower() if c.isascii() and c.lower() in _FOLDS_PLAINLY else "\0" for c in run)
    return [part for part in lowered.split("\0") if part]


def _better(left: Words, right: Words) -> Words:
    """The one whose shortest word is longer, and then the smaller."""
    if left is None or right is None:
        return right if left is None else left

    def worth(words: frozenset[Word]) -> tuple[int, int]:
        return min(len(word.text) for word in words), -len(words)

    return max(left, right, key=worth)

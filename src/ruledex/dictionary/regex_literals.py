r"""Find words that a text must contain to be matched by a regular expression, so that most need not be tried.

The answer is a set of words of which every match contains at least one, or None if no such set is known.

    foo.*barbaz      {barbaz}          (foo|bar)+x     {foo, bar}         [a-z]+|foo      None

google-re2 has no parser to ask and shows no atoms of its `Filter`, so this reader knows a part of RE2's syntax by
itself, of expressions that RE2 accepts. It is a list of what is known, and whatever else stands in an expression makes
the answer None:

    alternatives    branch | branch | …
    branch          (flags | item [quantifier])…     a quantifier follows an item and nothing else: after (?i), RE2
                                                     repeats what stands before the flags
    flags           (?ims-U)
    item            (alternatives)   (?flags:alternatives)   (?P<name>alternatives)   (?<name>alternatives)
                    [class]   .   ^   $   \d \D \w \W \s \S \b \B \A \z   \a \f \n \r \t \v
                    a backslash and ASCII punctuation; any character but \ [ ( ) | * + ?, and but { before a digit
    quantifier      * + ? {n} {n,} {n,m}, each also with ? behind it; never two of them
    class           [ or [^, a first ] if any, then: [:name:], a backslash and one of the letters above or punctuation,
                    any character but ] \ and [:

Under (?i) only runs of ASCII letters without k and s are kept, in lower case: these two have a third form beyond ASCII
(the Kelvin sign and the long s) and all other letters may, so that a text in lower ASCII contains what is kept.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias


class Word(NamedTuple):
    """A run of characters. One that ignores case is looked for in the text with ASCII letters lowered."""

    text: str
    ignore_case: bool


Words: TypeAlias = frozenset[Word] | None

LONGEST_WORD: Final = 128  # characters; of what is longer, a part is looked for

_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAMED: Final = re.compile(r"\(\?P?<[A-Za-z0-9_]+>")
_REPEAT: Final = re.compile(r"(?:([*+?])|\{([0-9]+)(?:,[0-9]*)?\})\??")
_NO_ITEM: Final = re.compile(r"[*+?]|\{[0-9]")
_PUNCTUATION: Final = r"\\[!-/:-@\[-^`{-~]"
_CLASS: Final = re.compile(
    # Possessive throughout: a class is read in the one way that RE2 reads it, or not at all.
    rf"\[\^?+\]?+(?:\[:\^?[a-z]+:\]|\\[dDwWsSafnrtv]|{_PUNCTUATION}|\[(?!:)|[^\[\]\\])*+\]",
    re.DOTALL,
)
_CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FOLDS_PLAINLY: Final = frozenset("abcdefghijlmnopqrtuvwxyz0123456789 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_MAX_WORDS: Final = 32
_MAX_DEPTH: Final = 50


class _UnknownError(Exception):
    """Syntax that this reader does not know."""


def required_words(regex: str) -> Words:
    """Return a set of words of which one is in every text that the expression, which RE2 accepts, matches."""
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
        joined: set[Word] | None = set()
        while True:
            # A flag set inside a branch holds in those after it too.
            words, ignore_case = self._branch(ignore_case, depth)
            joined = None if joined is None or words is None or len(joined) > _MAX_WORDS else joined | words
            if not self.regex.startswith("|", self.at):
                break
            self.at += 1
        return None if joined is None or len(joined) > _MAX_WORDS else frozenset(joined)

    def _branch(self, ignore_case: bool, depth: int) -> tuple[Words, bool]:
        best: Words = None
        run: list[str] = []  # characters that follow each other in every match

        def end_run() -> None:
            nonlocal best
            for part in _kept("".join(run), ignore_case):
                best = _better(best, frozenset((Word(part, ignore_case),)))
            run.clear()

        while self.at < len(self.regex) and self.regex[self.at] not in "|)":
            flags = _FLAGS.match(self.regex, self.at)
            if flags and flags[3] == ")":
                end_run()
                self.at = flags.end()
                ignore_case = _with_flags(flags, ignore_case)
                continue
            if _NO_ITEM.match(self.regex, self.at):
                raise _UnknownError  # a quantifier behind flags, which repeats what stands before them
            item = self._item(ignore_case, depth)
            repeat = _REPEAT.match(self.regex, self.at)
            if repeat is None:
                if isinstance(item, str):
                    run.append(item)
                    continue
                end_run()
                best = _better(best, item)
                continue
            self.at = repeat.end()
            if _NO_ITEM.match(self.regex, self.at):
                raise _UnknownError  # RE2 refuses some of these and squashes others
            end_run()
            if repeat[1] == "+" or (repeat[2] or "0").strip("0"):  # at least once
                if isinstance(item, str):
                    run.append(item)
                    end_run()
                else:
                    best = _better(best, item)
        end_run()
        return best, ignore_case

    def _item(self, ignore_case: bool, depth: int) -> str | Words:
        """Return a character that stands for itself, or what any other item requires."""
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
        if escaped and escaped.isascii() and escaped.isprintable() and not escaped.isalnum() and escaped not in "_ ":
            return escaped
        raise _UnknownError  # \Q…\E, \x, \p, \C, octal numbers: rare enough to be tried each time


def _with_flags(flags: re.Match[str], ignore_case: bool) -> bool:
    return "i" not in (flags[2] or "") and (ignore_case or "i" in flags[1])


def _kept(run: str, ignore_case: bool) -> list[str]:
    """Return the parts of a run that may be looked for."""
    if not ignore_case:
        return [run[:LONGEST_WORD]] if run else []
    lowered = "".join(c.lower() if c.isascii() and c.lower() in _FOLDS_PLAINLY else "\0" for c in run)
    return [part[:LONGEST_WORD] for part in lowered.split("\0") if part]


def _better(left: Words, right: Words) -> Words:
    """Return the one whose shortest word is longer, and then the smaller."""
    if left is None or right is None:
        return right if left is None else left

    def worth(words: frozenset[Word]) -> tuple[int, int]:
        return min(len(word.text) for word in words), -len(words)

    return max(left, right, key=worth)

"""Cuts a text of Spark SQL into tokens, and names places in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ruledex.errors import RuleSyntaxError
from ruledex.language.scanner import NAME, STRING

_TOKEN: Final = re.compile(
    rf"""
      (?P<space>  \s+ | --[^\n]* )
    | (?P<open>   /\* )
    | (?P<binary> [xX]'[^']*' )
    | (?P<raw>    [rR](?:'[^']*'|"[^"]*") )
    | (?P<word>   {NAME} )
    | (?P<number> (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+) (?:[eE][+-]?[0-9]+)? (?:[bB][dD]|[lLsSyYfFdD])? (?!\w) )
    | (?P<string> {STRING} | "[^"\\]*(?:(?:\\.|"")[^"\\]*)*" )
    | (?P<quoted> `[^`]*(?:``[^`]*)*` )
    | (?P<id>     \#[0-9]+L? )
    | (?P<sign>   <=> | :: | <= | >= | <> | != | == | -> | && | \|\| | [=<>(),%*+\-!./\[\];:] )
    """,
    re.VERBOSE | re.DOTALL,
)
_HINTS: Final = {"|": "write OR", "&": "write AND", "?": "write the value", "$": "write the value"}
_COMMENT: Final = re.compile(r"/\*|\*/")


class SparkToken(NamedTuple):
    """A token, and where it starts."""

    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """The word in capitals, the sign, or nothing."""
        return self.text.upper() if self.kind in ("word", "sign") else ""


def split_tokens(text: str) -> Iterator[SparkToken]:
    """Yield all tokens of a text but spaces and comments. Raises at a character that starts none."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise wrong_at(text, at, f"unexpected character {text[at]!r}", _HINTS.get(text[at], ""))
        kind = str(match.lastgroup)
        if kind == "open":
            at = _after_comment(text, at)
            continue
        if kind != "space":
            yield SparkToken(kind, match[0], at)
        at = match.end()


def _after_comment(text: str, start: int) -> int:
    """Return the end of a comment, which may have others inside."""
    depth = 0
    for match in _COMMENT.finditer(text, start):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    raise wrong_at(text, start, "this comment does not end", "write */")


def wrong_at(text: str, position: int, message: str, hint: str = "") -> RuleSyntaxError:
    """Return an error with its line and column."""
    return RuleSyntaxError(token_place(text, position) + message, hint=hint)


def token_place(text: str, position: int) -> str:
    """Return a line and column as the start of a message."""
    line = text.count("\n", 0, position) + 1
    return f"line {line}, column {position - text.rfind(chr(10), 0, position)}: "

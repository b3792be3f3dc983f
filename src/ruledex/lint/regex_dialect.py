"""re2-differs: finds regular expressions that RE2 reads differently from Java, and so from Spark's RLIKE.

Patterns that RE2 refuses are errors already. These are the constructs that both accept but read differently. Each is
reported once per pattern. They were compared with Java 17, whose `\\b` counts letters of every script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ruledex.language.tree import Rlike, predicates
from ruledex.lint.subject import Finding, LintSubject


class DialectDifference(NamedTuple):
    """A construct that the two read differently, its position in the pattern, and what to write instead."""

    offset: int
    message: str
    suggestion: str


# One token of a pattern. A character class is one token: its first bracket may be literal.
_TOKEN: Final = re.compile(
    r"""\\Q.*?(?:\\E|\Z)
      | (?P<escape> \\. )
      | \[ \^? \]? (?: \\. | \[:\^?\w+:\] | [^\]\\] )* \]
      | \(\? (?P<flags> [a-zA-Z]+ ) (?: -[a-zA-Z]+ )? [:)]
      | (?P<sign> [.$^] )
      | .""",
    re.VERBOSE | re.DOTALL,
)
_CASE_FOLDED: Final = re.compile(r"[kKsS]|[^\W\d_]", re.UNICODE)

_DOLLAR: Final = (
    "`$` is the very end in RE2; Java's also stands before a line end that closes the text",
    "nothing to do, unless values may end with a line end",
)
_LINES: Final = ("`^` and `$` know only \\n in RE2 lines; Java's also know \\r, U+0085, U+2028 and U+2029", "")
_DOT: Final = (
    "`.` excludes only \\n in RE2; Java's also excludes \\r, U+0085, U+2028 and U+2029",
    "write (?s) for any character, or [^\\n\\r\\x{85}\\x{2028}\\x{2029}]",
)
_BOUNDARY: Final = (
    "word boundaries see only ASCII letters in RE2; Java's see those of every script",
    "write (?:^|[^\\pL\\pN_]) for the boundary if values may have other letters",
)
_SPACE: Final = ("`\\s` does not match the vertical tab (U+000B) in RE2; Java's does", "write [\\s\\x0B] to include it")
_VERTICAL: Final = (
    "`\\v` is the vertical tab alone in RE2; in Java it is any line separator",
    "write \\x0B",
)
_UNGREEDY: Final = ("(?U) makes repetitions lazy in RE2; in Java it makes classes know Unicode", "remove the U")
_FOLDING: Final = (
    "(?i) folds the letters of every script in RE2 (K also fits U+212A); Java's folds ASCII alone",
    "nothing to do, unless letters beyond ASCII must keep their case",
)
_NESTED: Final = ("a `[` inside a class is itself in RE2; in Java it opens a class within", "escape it: \\[")
_POSIX: Final = ("[:name:] is a class of POSIX in RE2; in Java it is the letters between the colons", "use \\p{…}")
_INTERSECTION: Final = ("`&&` in a class is the sign & in RE2; in Java it is an intersection", "write one & alone")


def differences(pattern: str) -> list[DialectDifference]:
    """Return the constructs of a pattern that Java reads differently, each kind once, in their order."""
    found: dict[tuple[str, str], int] = {}
    flags = set("".join(m["flags"] or "" for m in _TOKEN.finditer(pattern)))
    for match in _TOKEN.finditer(pattern):
        for kind in _kinds(match, flags):
            found.setdefault(kind, match.start())
    if "i" in flags and _CASE_FOLDED.search(re.sub(r"\\.|\(\?[a-zA-Z-]+|[a-jl-rt-zA-JL-RT-Z]", "", pattern)):
        found.setdefault(_FOLDING, 0)
    return [DialectDifference(offset, *kind) for kind, offset in sorted(found.items(), key=lambda item: item[1])]


def _kinds(match: re.Match[str], flags: set[str]) -> Iterator[tuple[str, str]]:
    token, escape, sign = match[0], match["escape"], match["sign"]
    if escape is not None:
        yield from _of_escape(escape)
    elif sign == "." and "s" not in flags:
        yield _DOT
    elif sign == "$" and "m" not in flags:
        yield _DOLLAR
    elif sign in ("^", "$") and "m" in flags:
        yield _LINES
    elif match["flags"] and "U" in match["flags"]:
        yield _UNGREEDY
    elif token.startswith("[") and len(token) > 1:
        yield from _of_class(token)


def _of_escape(escape: str) -> Iterator[tuple[str, str]]:
    if escape in ("\\b", "\\B"):
        yield _BOUNDARY
    elif escape in ("\\s", "\\S"):
        yield _SPACE
    elif escape == "\\v":
        yield _VERTICAL


def _of_class(token: str) -> Iterator[tuple[str, str]]:
    inner = re.sub(r"\\[^sSv]", "", token[1:-1])
    if re.search(r"\[:\^?\w+:\]", inner):
        yield _POSIX
    elif "[" in inner:
        yield _NESTED
    if "&&" in inner:
        yield _INTERSECTION
    for escape in re.findall(r"\\[sSv]", inner):
        yield from _of_escape(escape)


def check_dialect(subject: LintSubject) -> Iterator[Finding]:
    """Check each regular expression of a rule."""
    for predicate in predicates(subject.tree):
        if isinstance(predicate, Rlike):
            for difference in differences(predicate.pattern):
                yield subject.note("re2-differs", predicate.position, difference.message, difference.suggestion)

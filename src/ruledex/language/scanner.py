"""Reads the tokens of a rule's text with one regular expression, and constants from tokens.

The parser asks for one token at a time by position. So it can first try to match a whole simple predicate, and scans
token by token only if that fails.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Final

from ruledex.errors import RuleSyntaxError
from ruledex.language.value import INT64_MAX

MAX_DIGITS: Final = 38  # of a decimal, as in Spark

SKIP: Final = r"(?>\s+|--[^\n]*|/\*.*?\*/)*+"
NAME: Final = r"[^\W\d]\w*+"
STRING: Final = r"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'"

TOKEN: Final = re.compile(
    rf"""{SKIP}(?:
      (?P<raw>    [rR](?:'[^']*+'|"[^"]*+") )
    | (?P<word>   {NAME} )
    | (?P<number> (?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++) (?:[eE][+-]?[0-9]++)? (?:BD|bd|[LlDd])?+ (?!\w) )
    | (?P<string> {STRING} | "[^"\\]*+(?:(?:\\.|"")[^"\\]*+)*+" )
    | (?P<quoted> `[^`]*+(?:``[^`]*+)*+` )
    | (?P<sign>   <=>|::|<=|>=|<>|!=|==|->|[=<>(),^%*+\-!.\[\]]|/(?!\*) )
    | (?P<named>  @(?:{NAME}|`[^`]*+(?:``[^`]*+)*+`) )
    | (?P<end>    \Z )
    )""",
    re.VERBOSE | re.DOTALL,
)
_LEADING: Final = re.compile(SKIP, re.DOTALL)


def scan(text: str, position: int) -> re.Match[str]:
    """Return the token at or after a position. Raises an error that says what is wrong if there is none."""
    match = TOKEN.match(text, position)
    return match if match is not None else _refuse(text, position)


def token_of(match: re.Match[str]) -> tuple[str, int]:
    """Return the text of the token and where it starts, without the blanks and comments before it."""
    kind = match.lastgroup or "end"
    return match[kind], match.start(kind)


def _refuse(text: str, position: int) -> re.Match[str]:
    start = _LEADING.match(text, position).end()  # type: ignore[union-attr]  # it also matches nothing
    found = text[start]
    if text.startswith("/*", start):
        raise RuleSyntaxError("this comment is never closed", text, start, "close it with */")
    if found in "'\"`" or (found in "rR" and text[start + 1 : start + 2] in ("'", '"')):
        what = "quoted name" if found == "`" else "string"
        sign = found if found in "'\"`" else text[start + 1]
        raise RuleSyntaxError(f"this {what} is never closed", text, start, f"close it with {sign}")
    if found.isdigit() or found == ".":
        raise RuleSyntaxError("this is not a number", text, start, "a name that starts with a digit needs `backticks`")
    hints = {"&": "write AND", "|": "write OR", "~": "write NOT", ";": "a rule is one condition", "[": "write a.b"}
    raise RuleSyntaxError(f"unexpected character {found!r}", text, start, hints.get(found, ""))


_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def read_string(token: str, text: str, position: int) -> str:
    """Return the content of a quoted token, with the escapes of Spark SQL: \\n, \\u00e9, \\', and '' for a quote."""
    quote = token[0]
    if quote in "rR":
        return token[2:-1]
    body = token[1:-1]
    if "\\" not in body:
        return body.replace(quote * 2, quote)
    parts = []
    at = 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[at : match.start()].replace(quote * 2, quote))
        short, long, octal, other = match.groups()
        try:
            parts.append(
                _ESCAPED.get(other, other) if other else chr(int(octal, 8) if octal else int(short or long, 16))
            )
        except (ValueError, OverflowError):
            raise RuleSyntaxError("this is no character of Unicode", text, position + 1 + match.start()) from None
        at = match.end()
    parts.append(body[at:].replace(quote * 2, quote))
    content = "".join(parts)
    try:
        # Two escapes may form one character beyond the first plane, as in Java: '\\uD83D\\uDE00'.
        return content.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise RuleSyntaxError("half of a surrogate pair stands alone in this string", text, position) from None


def read_name(token: str) -> str:
    """Return the name inside backticks, or of a named condition. Two backticks inside stand for one."""
    if token[0] == "@":
        token = token[1:]
        if token[0] != "`":
            return token
    return token[1:-1].replace("``", "`")


def read_number(token: str, text: str, position: int) -> int | Decimal | float:
    """Return a 64-bit integer, a decimal, or (with an exponent or a D) a double, by Spark's rules."""
    suffix = token[-1].upper()
    if token.isdigit() or suffix == "L":
        digits = token.rstrip("Ll")
        if not digits.isdigit():
            raise RuleSyntaxError("L marks integers", text, position)
        if len(digits) < 19 or (len(digits) < MAX_DIGITS and int(digits) <= INT64_MAX + 1):
            # One more than the largest integer is allowed, because a minus sign may precede it.
            return int(digits)
        if suffix == "L":
            raise RuleSyntaxError("this integer does not fit 64 bits", text, position)
        return _decimal(digits, text, position)
    if token[-2:].upper() == "BD":
        return _decimal(token[:-2], text, position)
    if suffix == "D" or "E" in token.upper():
        number = float(token.rstrip("Dd"))
        if math.isinf(number):
            raise RuleSyntaxError("this number is too large for a double", text, position)
        return number
    return _decimal(token, text, position)


def _decimal(digits: str, text: str, position: int) -> Decimal:
    try:
        number = Decimal(digits)
    except InvalidOperation:  # the exponent is far too large
        number = Decimal("NaN")
    if number.is_nan() or len(number.as_tuple().digits) > MAX_DIGITS or abs(number.adjusted()) > MAX_DIGITS:
        raise RuleSyntaxError(f"a decimal has at most {MAX_DIGITS} digits", text, position)
    return number

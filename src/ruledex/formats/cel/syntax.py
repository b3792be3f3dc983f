"""Parses expressions of the Common Expression Language (CEL) by operator precedence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from ruledex.errors import RuleSyntaxError, quoted

# The tree of an expression. `at` is the offset in the text.


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: None, a boolean, an integer, a double or a string."""

    value: Any
    at: int


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Member:
    """`operand.field`, or `operand["field"]`."""

    operand: Part
    field: str
    at: int


@dataclass(frozen=True, slots=True)
class Element:
    """`operand[index]` with anything but a string."""

    operand: Part
    index: Part
    at: int


@dataclass(frozen=True, slots=True)
class Invocation:
    """`function(arguments)`, or `target.function(arguments)`."""

    function: str
    target: Part | None
    arguments: tuple[Part, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with one, two or, for `?:`, three operands."""

    op: str
    operands: tuple[Part, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Items:
    """`[a, b]`."""

    items: tuple[Part, ...]
    at: int


Part: TypeAlias = Literal | Name | Member | Element | Invocation | Operation | Items

_TOKEN: Final = re.compile(
    r"""(?P<space>(?:\s+|//[^\n]*)+)
      | (?P<string>[rRbB]{0,2}(?:\"\"\"|'''|"|'))
      | (?P<double>\d*\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
      | (?P<integer>(?:0[xX][0-9a-fA-F]+|\d+)[uU]?)
      | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
      | (?P<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:.,()\[\]{}])
      | `(?P<quoted>[a-zA-Z0-9_.\-/ ]+)`""",
    re.VERBOSE | re.ASCII,
)
_BINDING: Final = {
    "||": 2,
    "&&": 3,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), 4),
    **dict.fromkeys("+-", 5),
    **dict.fromkeys("*/%", 6),
}
_CONDITIONAL: Final = 1
_BEYOND: Final = 1 << 63  # the least integer that is too large, but not behind a minus
_RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_ESCAPE: Final = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.?))", re.DOTALL
)
_PLAIN: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


class CelToken(NamedTuple):
    """A piece of the text. `value` is what a literal means."""

    kind: str
    text: str
    value: Any
    at: int


def refusal(text: str, at: int, why: str) -> RuleSyntaxError:
    """Return an error with the place in an expression."""
    line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
    where = f"line {line}, column {column}" if "\n" in text else f"column {column}"
    return RuleSyntaxError(f"$: {where}: {why}")


def parse_cel(text: str) -> Part:
    """Return the tree of an expression. Raises RuleSyntaxError with the column."""
    parser = _Parser(text)
    found = parser.expression(0)
    parser.expect("end")
    return found


class _Parser:
    """Reads one expression. Each method leaves the position behind what it read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0

    def _next(self) -> CelToken:
        return self._tokens[self._at]

    def _is(self, sign: str) -> bool:
        return self._next().kind == "sign" and self._next().text == sign

    def _took(self, sign: str) -> bool:
        is_next = self._is(sign)
        self._at += is_next
        return is_next

    def expect(self, sign: str) -> CelToken:
        """Read a sign, or the end. Raises if something else follows."""
        token = self._next()
        if token.kind == "end" if sign == "end" else self._is(sign):
            self._at += sign != "end"
            return token
        wanted = "the end or an operator" if sign == "end" else sign
        raise refusal(self._text, token.at, f"{wanted} is expected here, not {_named(token)}")

    def expression(self, least: int) -> Part:
        """Read an expression whose operators bind at least so tightly."""
        left = self._unary()
        while True:
            token = self._next()
            if token.kind == "sign" and token.text == "?" and least <= _CONDITIONAL:
                self._at += 1
                yes = self.expression(_CONDITIONAL + 1)
                self.expect(":")
                left = Operation("?:", (left, yes, self.expression(_CONDITIONAL)), token.at)
                continue
            op = token.text if token.kind in ("sign", "in") else ""
            binding = _BINDING.get(op)
            if binding is None or binding < least:
                return left
            self._at += 1
            left = Operation(op, (left, self.expression(binding + 1)), token.at)

    def _unary(self) -> Part:
        token = self._next()
        if token.kind == "sign" and token.text in ("!", "-"):
            self._at += 1
            if token.text == "-" and self._next().value == _BEYOND and self._next().kind == "literal":
                self._at += 1
                return Literal(-_BEYOND, token.at)
            operand = self._unary()
            if token.text == "-" and isinstance(operand, Literal) and type(operand.value) in (int, float):
                return Literal(-operand.value, token.at)
            return Operation(token.text + "x", (operand,), token.at)
        return self._members(self._primary())

    def _members(self, found: Part) -> Part:
        while True:
            token = self._next()
            if self._took("."):
                name = self._next()
                if name.kind not in ("name", "quoted", "in"):
                    raise refusal(self._text, name.at, f"a name follows after a dot, not {_named(name)}")
                self._at += 1
                if name.kind == "name" and self._is("("):
                    found = Invocation(name.text, found, self._arguments(), name.at)
                else:
                    found = Member(found, name.text, name.at)
            elif self._took("["):
                index = self.expression(0)
                self.expect("]")
                if isinstance(index, Literal) and isinstance(index.value, str):
                    found = Member(found, index.value, token.at)
                else:
                    found = Element(found, index, token.at)
            else:
                return found

    def _arguments(self) -> tuple[Part, ...]:
        self.expect("(")
        return self._list(")")

    def _list(self, end: str) -> tuple[Part, ...]:
        found: list[Part] = []
        while not self._took(end):
            found.append(self.expression(0))
            if not self._is(end):
                self.expect(",")
        return tuple(found)

    def _primary(self) -> Part:
        token = self._next()
        self._at += 1
        match token.kind:
            case "literal" if token.value == _BEYOND and token.text[-1] not in "uU":
                raise refusal(self._text, token.at, f"{token.text} is beyond 64 bits")
            case "literal":
                return Literal(token.value, token.at)
            case "name" if token.text in _RESERVED:
                raise refusal(self._text, token.at, f"{token.text} is a reserved word of CEL")
            case "name" if self._is("("):
                return Invocation(token.text, None, self._arguments(), token.at)
            case "name":
                return Name(token.text, token.at)
            case "sign" if token.text == ".":
                return self._primary()
            case "sign" if token.text == "(":
                found = self.expression(0)
                self.expect(")")
                return found
            case "sign" if token.text == "[":
                return Items(self._list("]"), token.at)
            case "sign" if token.text == "{":
                raise refusal(self._text, token.at, "maps cannot be written in the language of ruledex")
        self._at -= 1
        raise refusal(self._text, token.at, f"a value is expected here, not {_named(token)}")


def _named(token: CelToken) -> str:
    return "the end" if token.kind == "end" else quoted(token.text)


def _tokens(text: str) -> list[CelToken]:
    found, at = list[CelToken](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise refusal(text, at, f"an expression cannot have {quoted(text[at])} here")
        kind, piece, start = str(match.lastgroup), match[0], at
        at = match.end()
        if kind == "string":
            value, at = _string(text, start, piece)
            found.append(CelToken("literal", text[start:at], value, start))
        elif kind in ("double", "integer"):
            found.append(CelToken("literal", piece, _number(text, piece, kind, start), start))
        elif kind == "name" and piece in ("true", "false", "null"):
            found.append(CelToken("literal", piece, {"true": True, "false": False}.get(piece), start))
        elif kind != "space":
            found.append(CelToken("in" if piece == "in" else kind, match[kind], None, start))
    return [*found, CelToken("end", "", None, len(text))]


def _number(text: str, piece: str, kind: str, at: int) -> int | float:
    if kind == "double":
        return float(piece)
    is_unsigned = piece[-1] in "uU"
    digits = piece.rstrip("uU")
    value = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits) if len(digits) < 30 else 1 << 64
    if value >= 1 << 64 if is_unsigned else value > _BEYOND:
        raise refusal(text, at, f"{piece} is beyond 64 bits")
    return value


def _string(text: str, start: int, opening: str) -> tuple[str, int]:
    """Return the string that starts here, and where it ends."""
    prefix, quote = opening.rstrip("\"'").lower(), opening.lstrip("rRbB")
    if "b" in prefix:
        raise refusal(text, start, "bytes cannot be compared here")
    if prefix not in ("", "r"):
        raise refusal(text, start, f"a string has no prefix {quoted(prefix)}")
    at = start + len(opening)
    while not text.startswith(quote, at):
        if at >= len(text) or (len(quote) == 1 and text[at] in "\n\r"):
            raise refusal(text, start, "this string has no end")
        at += 2 if text[at] == "\\" and not prefix else 1
    content, end = text[start + len(opening) : at], at + len(quote)
    if prefix:
        return content, end

    def unescaped(found: re.Match[str]) -> str:
        if found[1] is not None:
            return _PLAIN.get(found[1], found[1])
        code = int(found[5], 8) if found[5] else int(found[2] or found[3] or found[4] or "-1", 16)
        if not 0 <= code < 0x110000 or 0xD800 <= code < 0xE000:
            raise refusal(text, start, f"a string cannot have {quoted(found[0])}")
        return chr(code)

    return _ESCAPE.sub(unescaped, content), end

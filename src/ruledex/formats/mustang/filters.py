"""Reads the filters of JSONPath, `[?(@.kind == 'a' && @.price < 10)]`, as conditions on an element."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ruledex.errors import RuleSyntaxError
from ruledex.formats.conditions import ELEMENT, all_of, any_of, equal, is_null_value, is_present, negate
from ruledex.formats.mustang.regexes import whole_match
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Attribute, Call, Compare, CompareOperands, Expression, Operand, Value

if TYPE_CHECKING:
    from ruledex.formats.mustang.paths import Location

_SPACE: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TEXT: Final = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_REGEX: Final = re.compile(r"/((?:[^/\\]|\\.)*)/([a-zA-Z]*)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_OPERATOR: Final = re.compile(r"==|!=|<=|>=|=~|<|>|[a-zA-Z]+")
_WORDS: Final = {"true": True, "false": False, "null": None}
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_DEEPEST: Final = 64
_OPERANDS: Final = (Attribute, Call)


class Filter:
    """Reads one filter from the position behind its `?`. `read_path` reads the paths in it."""

    def __init__(
        self, text: str, at: int, place: Place, read_path: Callable[[int, Operand], tuple[Location, int]]
    ) -> None:
        self._text = text
        self._at = at
        self._place = place
        self._read_path = read_path
        self._depth = 0

    def condition(self) -> tuple[Expression, int]:
        """Return the condition, and the position behind the closing bracket."""
        self._expect("(")
        found = self._any()
        self._expect(")")
        self._expect("]")
        return found, self._at

    def _any(self) -> Expression:
        parts = [self._all()]
        while self._take("||"):
            parts.append(self._all())
        return any_of(parts)

    def _all(self) -> Expression:
        parts = [self._unary()]
        while self._take("&&"):
            parts.append(self._unary())
        return all_of(parts)

    def _unary(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("the filter nests too deep")
        try:
            if not self._text.startswith("!=", self._at) and self._take("!"):
                return negate(self._unary())
            if self._take("("):
                found = self._any()
                self._expect(")")
                return found
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Expression:
        left = self._value()
        self._skip()
        match = _OPERATOR.match(self._text, self._at)
        if match is None:
            if not isinstance(left, Attribute):
                raise self._error("a comparison, or a path from @, is expected")
            return is_present(left)
        op = match[0].lower()
        self._at = match.end()
        if op == "=~":
            return self._regex(_operand(left, self))
        if op in ("in", "nin"):
            among = equal(_operand(left, self), self._list())
            return among if op == "in" else negate(among)
        if op not in _FLIPPED:
            raise self._error(f"{match[0]} is not read; there are ==, !=, <, <=, >, >=, =~, in and nin")
        return self._compared(left, op, self._value())

    def _compared(self, left: Any, op: str, right: Any) -> Expression:
        if not isinstance(left, _OPERANDS):
            left, op, right = right, _FLIPPED[op], left
        operand = _operand(left, self)
        if op == "!=":
            return negate(self._compared(operand, "==", right))
        if isinstance(right, _OPERANDS):
            return CompareOperands(operand, "=" if op == "==" else op, right)
        if right is None:
            if op != "==":
                raise self._error("null is compared with == and != only")
            return is_null_value(operand)
        if isinstance(right, bool) and op != "==":
            raise self._error("true and false are compared with == and != only")
        return Compare(operand, "=" if op == "==" else op, right)

    def _regex(self, operand: Operand) -> Expression:
        self._skip()
        match = _REGEX.match(self._text, self._at)
        if match is None:
            raise self._error("a regular expression is written /…/")
        self._at = match.end()
        if match[2] not in ("", "i"):
            raise self._error(f"of the flags of a regular expression only i is read, not {match[2]}")
        pattern = match[1].replace("\\/", "/")
        return whole_match(operand, f"(?i){pattern}" if match[2] else pattern, self._place)

    def _list(self) -> list[Value]:
        self._expect("[")
        found: list[Value] = []
        while not self._take("]"):
            value = self._value()
            if value is None or isinstance(value, _OPERANDS):
                raise self._error("a list has texts, numbers, true and false")
            found.append(value)
            self._skip()
            if not self._text.startswith("]", self._at):
                self._expect(",")
        return found

    def _value(self) -> Operand | Value | None:
        """Return an operand or a constant."""
        self._skip()
        text, at = self._text, self._at
        if text[at : at + 1] in ("@", "$"):
            start = Attribute((ELEMENT,)) if text[at] == "@" else Attribute(())
            found, self._at = self._read_path(at + 1, start)
            if found.filters:
                raise self._error("a filter inside of a filter is not read")
            if found.operand == Attribute(()):
                raise self._error("$ alone is no value")
            return found.operand
        if match := _TEXT.match(text, at):
            self._at = match.end()
            return _ESCAPED.sub(r"\1", match[1] if match[1] is not None else match[2])
        if match := _NUMBER.match(text, at):
            self._at = match.end()
            return float(match[0]) if match[1] or match[2] else int(match[0])
        for word, value in _WORDS.items():
            if text.startswith(word, at):
                self._at = at + len(word)
                return value
        raise self._error("a path or a constant is expected")

    def _skip(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _take(self, sign: str) -> bool:
        self._skip()
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._error(f"{sign!r} is expected")

    def _error(self, message: str) -> RuleSyntaxError:
        return RuleSyntaxError(f"{self._place}: {message}: {self._text[self._at :]!r} in {self._text!r}")


def _operand(value: Any, reader: Filter) -> Operand:
    if not isinstance(value, _OPERANDS):
        raise reader._error("one side of a comparison is a path")
    return value

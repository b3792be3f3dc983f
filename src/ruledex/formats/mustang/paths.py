"""Reads JSONPath, as far as Jayway's implementation has it and a rule can say it, and writes it.

A path of names is an attribute: `$.user.age`. A place in an array is an operand: `$.items[0].price`. `[*]` needs
nothing, since an attribute has all values of the arrays on its way. A filter, `$.items[?(@.kind == 'a')].price`, is a
lambda.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from ruledex.errors import RuleSyntaxError
from ruledex.formats.conditions import ELEMENT, TRUE, all_of, any_of, equal, is_null_value, is_present, negate
from ruledex.formats.mustang.regexes import whole_match
from ruledex.language.functions.arrays import FIELD, PLACE
from ruledex.language.lambdas import lambda_of
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Attribute, Call, Compare, CompareOperands, Exists, Expression, Operand, Value

_NAME: Final = re.compile(r"[^.\[\]()'\"\s*?@$,:]+")
_QUOTED: Final = re.compile(r"""\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\]""")
_POSITION: Final = re.compile(r"\[\s*(-?[0-9]{1,9})\s*\]")
_EACH: Final = re.compile(r"\[\s*\*\s*\]")
_SINGLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Location:
    """Where a path leads: an operand, or one of each element that the filters of some arrays let pass.

    `filters` has the arrays from the outside in, each with the condition on its elements; the operand then starts at
    the innermost element. A list is what JSONPath gives for every path with `[*]` or a filter.
    """

    operand: Operand
    filters: tuple[tuple[Attribute, Expression], ...] = ()
    is_list: bool = False

    def holds(self, condition: Expression, weight: float = 1.0) -> Expression:
        """Return that a condition on the operand is true. Where there are filters, it scores the weight."""
        for array, passes in reversed(self.filters):
            condition = lambda_of(array, ELEMENT, all_of((passes, condition)), 0)
        if self.filters and isinstance(condition, Exists):
            return replace(condition, weight=weight)
        return condition

    @property
    def is_root(self) -> bool:
        """Whether the path is `$`, or ends at a filter."""
        return self.operand in (_ROOT, Attribute((ELEMENT,)))


_ROOT: Final = Attribute(())


def location_of(path: str, place: Place) -> Location:
    """Return where a JSONPath leads. Raises RuleSyntaxError for what a rule cannot say."""
    text = path.strip()
    if text[:1] not in ("$", "@"):
        text = f"$.{text}"  # as Jayway takes it
    if not text.startswith("$"):
        raise RuleSyntaxError(f"{place}: a path starts at $, not {path!r}")
    found, end = _Reader(text, place).location(1, _ROOT)
    if end < len(text):
        raise RuleSyntaxError(f"{place}: cannot read the path from {text[end:]!r} on")
    return found


class _Reader:
    """Reads one path. The positions of errors are shown as the rest of the text."""

    def __init__(self, text: str, place: Place) -> None:
        self._text = text
        self._place = place

    def location(self, at: int, start: Operand) -> tuple[Location, int]:
        """Return where the path from a position leads, and the position behind it."""
        text = self._text
        operand, filters = start, list[tuple[Attribute, Expression]]()
        is_list, each = False, None  # the array of the last [*]
        while at < len(text):
            if text.startswith("..", at):
                raise self._error("'..' looks at any depth, which a rule cannot say", at)
            if text.startswith(".*", at):
                raise self._error("'.*' is any field, which a rule cannot say", at)
            if text[at] == ".":
                name = _NAME.match(text, at + 1)
                if name is None:
                    raise self._error("a name is expected after the dot", at)
                if text.startswith("(", name.end()):
                    raise self._error(f"functions such as {name[0]}() are not read", at)
                operand, at = below(operand, name[0]), name.end()
            elif match := _QUOTED.match(text, at):
                operand = below(operand, _ESCAPED.sub(r"\1", match[1] if match[1] is not None else match[2]))
                at = match.end()
            elif match := _EACH.match(text, at):
                is_list, each, at = True, operand, match.end()
            elif match := _POSITION.match(text, at):
                if each is not None:  # a place in something of each element
                    array = self._array(each, at)
                    assert isinstance(operand, Attribute)  # as an array is
                    filters.append((array, TRUE))
                    operand, each = Attribute((ELEMENT, *operand.path[len(array.path) :])), None
                operand, at = _at_place(operand, int(match[1])), match.end()
            elif text.startswith("[?", at):
                array = self._array(operand, at)
                condition, at = Filter(text, at + 2, self._place, self.location).condition()
                filters.append((array, condition))
                operand, is_list, each = Attribute((ELEMENT,)), True, None
            elif text[at] == "[":
                raise self._error("of brackets only a name, a place, [*] and one filter are read", at)
            else:
                break
        return Location(operand, tuple(filters), is_list), at

    def _array(self, operand: Operand, at: int) -> Attribute:
        if not isinstance(operand, Attribute) or not operand.path:
            raise self._error("a filter is on an array with a name, not on an element of another array", at)
        return operand

    def _error(self, message: str, at: int) -> RuleSyntaxError:
        return RuleSyntaxError(f"{self._place}: {message}: {self._text[at:]!r} in {self._text!r}")


def below(operand: Operand, name: str) -> Operand:
    """Return a field of an operand."""
    return Attribute((*operand.path, name)) if isinstance(operand, Attribute) else Call(FIELD, (operand, name))


def _at_place(operand: Operand, place: int) -> Operand:
    return Call(PLACE, (operand, place)) if place >= 0 else Call("element_at", (operand, place))


# Writing.


def write_path(operand: Operand, root: str = "$") -> str | None:
    """Return the path to an operand, or None if JSONPath has none."""
    match operand:
        case Attribute(path):
            return root + "".join(map(_step, path))
        case Call(function, (Attribute() | Call() as inner, str() as name)) if function == FIELD:
            start = write_path(inner, root)
            return None if start is None else start + _step(name)
        case Call(function, (Attribute() | Call() as inner, int() as place)) if function in (PLACE, "element_at"):
            start = write_path(inner, root)
            if function == "element_at" and place > 0:
                place -= 1
            return None if start is None else f"{start}[{place}]"
    return None


def _step(name: str) -> str:
    if _SINGLE.fullmatch(name):
        return f".{name}"
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{escaped}']"


_SPACE: Final = re.compile(r"\s*")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TEXT: Final = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_REGEX: Final = re.compile(r"/((?:[^/\\]|\\.)*)/([a-zA-Z]*)", re.DOTALL)
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

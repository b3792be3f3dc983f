"""Reads JSONPath, as far as Jayway's implementation has it and a rule can say it, and writes it.

A path of names is an attribute: `$.user.age`. A place in an array is an operand: `$.items[0].price`. `[*]` needs
nothing, since an attribute has all values of the arrays on its way. A filter, `$.items[?(@.kind == 'a')].price`, is a
lambda.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from ruledex.errors import RuleSyntaxError
from ruledex.formats.conditions import ELEMENT, TRUE, all_of
from ruledex.formats.mustang.filters import Filter
from ruledex.language.functions.arrays import FIELD, PLACE
from ruledex.language.lambdas import lambda_of
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Attribute, Call, Exists, Expression, Operand

_NAME: Final = re.compile(r"[^.\[\]()'\"\s*?@$,:]+")
_QUOTED: Final = re.compile(r"""\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\]""")
_NUMBER: Final = re.compile(r"\[\s*(-?[0-9]{1,9})\s*\]")
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
            elif match := _NUMBER.match(text, at):
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

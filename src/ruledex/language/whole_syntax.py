"""Gives array(…) and named_struct(…) their meaning: constants that a whole array or object is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from ruledex.errors import RuleSyntaxError, RuleTypeError
from ruledex.language.functions.wholes import WHOLE, whole_text
from ruledex.language.scanner import scan
from ruledex.language.tree import Attribute, Call, Compare, Expression, NullSafe, Truth

if TYPE_CHECKING:
    from ruledex.language.parser import _Parser

NAMES: Final = ("array", "named_struct")
_MOST_NESTED: Final = 100
_CONSTANTS: Final = (type(None), bool, int, float, Decimal, str, date)


class Whole:
    """An array or object of constants."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def text(self) -> str:
        """The text that it is compared by."""
        text = whole_text(self.value, _MOST_NESTED)
        assert text is not None  # it has constants only
        return text


def make(name: str, items: Sequence[Any], text: str, position: int) -> Whole:
    """Return the array or object of constants and of other arrays and objects."""
    values = [_value(name, item, text, position) for item in items]
    if name.lower() == "array":
        return Whole(values)
    fields = values[::2]
    if len(values) % 2 or not all(isinstance(field, str) for field in fields):
        raise RuleSyntaxError(
            "named_struct() takes names and values in turn", text, position, "write named_struct('a', 1, 'b', 2)"
        )
    if len(set(fields)) < len(fields):
        raise RuleSyntaxError("named_struct() names a field twice", text, position)
    return Whole(dict(zip(fields, values[1::2], strict=True)))


def read_empty(parser: _Parser, name: str, start: int) -> Whole:
    """Read the closing parenthesis of `array()`, the empty array. Other functions need an argument."""
    if name.lower() != "array":
        raise RuleSyntaxError(f"{name}() needs at least one argument", parser.text, start)
    parser.position = scan(parser.text, parser.position).end()
    return Whole([])


def _value(name: str, item: Any, text: str, position: int) -> Any:
    if isinstance(item, Whole):
        return item.value
    value = getattr(item, "value", item)
    if isinstance(value, datetime) or not isinstance(value, _CONSTANTS):
        raise RuleTypeError(f"{name}() takes numbers, strings, booleans, dates and NULL", text, position)
    if getattr(item, "weighted", False):
        raise RuleSyntaxError("an element takes no weight", text, item.position)
    return value


def whole_comparison(left: Any, op: str, right: Any, text: str, position: int) -> Expression:
    """Return `left op right` where at least one side is an array or object."""
    if op not in ("=", "<=>"):
        raise RuleTypeError("arrays and objects have no order", text, position, "use = or !=")
    if isinstance(left, Whole):
        left, right = right, left
    assert isinstance(right, Whole)
    if isinstance(left, Whole):
        return Truth(left.text == right.text)
    if not isinstance(left, Attribute):
        raise RuleTypeError("an array or object is compared with an attribute", text, position)
    operand = Call(WHOLE, (left,))
    if op == "<=>":
        return NullSafe(operand, right.text, 1.0, position)
    return Compare(operand, "=", right.text, 1.0, position)

"""Whole arrays and objects as values: `x = array(1, 2)` and `x = named_struct('a', 1)`.

An array or object is compared by one text that has its elements in order, so that equality with a constant is that of a
derived attribute. Numbers have one text for each value, whatever their type, and nulls are equal, as within Spark's
arrays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from ruledex import limits
from ruledex.errors import RuleSyntaxError, RuleTypeError
from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.plain import plain
from ruledex.language.scanner import scan
from ruledex.language.tree import Attribute, Call, Compare, Expression, NullSafe, Truth
from ruledex.language.value import Family, is_missing

if TYPE_CHECKING:
    from ruledex.language.parser import _Parser

WHOLE: Final = "whole"


def whole_text(given: Any, depth: int) -> str | None:
    """Return the text by which a value is compared as a part of a whole, or None if no rule can name it."""
    value = plain(given)
    if is_missing(value):
        return "null"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float | Decimal):
        return _number_text(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"date {value.isoformat()}"
    if not depth:
        return None
    if isinstance(value, list | tuple):
        elements = [whole_text(element, depth - 1) for element in value]
        return None if None in elements else f"[{','.join(map(str, elements))}]"
    if isinstance(value, Mapping):
        fields = [
            (json.dumps(str(name), ensure_ascii=False), whole_text(part, depth - 1)) for name, part in value.items()
        ]
        return None if any(text is None for _, text in fields) else f"{{{','.join(f'{n}:{t}' for n, t in fields)}}}"
    return None


def _number_text(value: int | float | Decimal) -> str:
    """Return one text for equal numbers: 1, 1.0 and 1.00 are 1."""
    if isinstance(value, int):
        return str(value)
    number = Decimal(repr(value)) if isinstance(value, float) else value
    if not number.is_finite():
        return str(number)
    digits = number.as_tuple().digits
    text = f"{number:f}" if abs(number.adjusted()) + len(digits) < 400 else f"{number.normalize():e}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def whole(event: Mapping[str, Any], path: tuple[str, ...], _: str) -> str | None:
    """Return the text of the array or object at a path, or None for all else. The path leads through objects only."""
    value: Any = event
    for name in path:
        value = plain(value)
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    is_whole = isinstance(plain(value), list | tuple | Mapping)
    return whole_text(value, limits.current().event_depth) if is_whole else None


FUNCTIONS: tuple[Function, ...] = (
    Function(
        name=WHOLE,
        parameters=(Parameter("x", Family.ANY),),
        result=Family.STRING,
        call=whole,
        summary="The whole of an array or object as one text; what `x = array(1, 2)` and `x = named_struct('a', 1)` "
        "compare.",
        example="x = array(1, 2)",
        spark=None,
        of_path=True,
    ),
)


CONSTRUCTORS: Final = ("array", "named_struct")
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


def make_whole(name: str, items: Sequence[Any], text: str, position: int) -> Whole:
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


def read_empty_array(parser: _Parser, name: str, start: int) -> Whole:
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


def compare_whole(left: Any, op: str, right: Any, text: str, position: int) -> Expression:
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

"""Finds what values an operand can have at all, before any event is seen: the range of numbers, the form of strings."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Operand, Value
from ruledex.language.value import INT64_MAX, INT64_MIN

Number: TypeAlias = int | Decimal | float


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`, None for no end. The ends are excluded if it is `open`."""

    low: Number | None = None
    high: Number | None = None
    whole: bool = False
    open: bool = False

    def allows(self, op: str, constant: Number) -> bool:
        """Return whether the comparison with a constant is true of some number of the range."""
        match op:
            case "=":
                inside = self.allows(">=", constant) and self.allows("<=", constant)
                return inside and not (self.whole and constant % 1 != 0)
            case "<":
                return self.low is None or self.low < constant
            case "<=":
                return self.low is None or self.low < constant or (self.low == constant and not self.open)
            case ">":
                return self.high is None or self.high > constant
            case _:
                return self.high is None or self.high > constant or (self.high == constant and not self.open)

    def describe(self) -> str:
        """Return the range in words, to follow `is always`."""
        kind = "a whole number" if self.whole else "a number"
        if (self.low, self.high) in ((None, None), (INT64_MIN, INT64_MAX)):
            return kind
        if self.high is None:
            return f"{kind} of at least {self.low}"
        between = "between" if self.open else "from"
        return f"{kind} {between} {self.low} {'and' if self.open else 'to'} {self.high}"


_RANGES: Final[dict[str, Range]] = {
    "length": Range(0, None, whole=True),
    "size": Range(0, None, whole=True),
    "abs": Range(0, None),
    "floor": Range(whole=True),
    "ceil": Range(whole=True),
    "date_diff": Range(whole=True),
    "year": Range(1, 9999, whole=True),
    "quarter": Range(1, 4, whole=True),
    "month": Range(1, 12, whole=True),
    "weekofyear": Range(1, 53, whole=True),
    "dayofyear": Range(1, 366, whole=True),
    "day": Range(1, 31, whole=True),
    "dayofweek": Range(1, 7, whole=True),
    "hour": Range(0, 23, whole=True),
    "minute": Range(0, 59, whole=True),
    "second": Range(0, 59, whole=True),
}
_INTEGER: Final = Range(INT64_MIN, INT64_MAX, whole=True)


def range_of(operand: Operand, schema: Schema) -> Range | None:
    """Return the range of the numbers that an operand can have, or None if nothing is known."""
    if isinstance(operand, Attribute):
        return _INTEGER if schema.of(operand).type == "integer" else None
    if operand.function == "%":
        dividend, divisor = operand.arguments
        if isinstance(divisor, int | Decimal | float) and divisor != 0:
            size = divisor if divisor > 0 else -divisor
            integers = isinstance(dividend, Attribute) and range_of(dividend, schema) is not None
            return Range(-size, size, whole=integers and isinstance(divisor, int), open=True)
        return None
    if operand.function == "round" and len(operand.arguments) == 1:
        return Range(whole=True)
    return _RANGES.get(operand.function)


def string_fault(operand: Operand, text: str, is_pattern: bool) -> str | None:
    """Return why an operand never equals a string, or is never LIKE a pattern, or None if it may be."""
    if isinstance(operand, Attribute):
        return None
    match operand.function:
        case "lower" if text != text.lower():
            return "is always in lower case"
        case "upper" if text != text.upper():
            return "is always in upper case"
        case "trim" if not is_pattern and text != text.strip(" "):
            return "never starts or ends with a space"
        case "substring" if not is_pattern and len(operand.arguments) == 3:
            most: Operand | Value = operand.arguments[2]
            if isinstance(most, int) and len(text) > max(most, 0):
                return f"has at most {max(most, 0)} characters"
    return None

"""type-never-fits: finds constants that their operand can never equal, and comparisons that its range decides.

What values an operand can have at all is known before any event is seen: the range of numbers, the form of strings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from typing import Final, TypeAlias

from ruledex.language.schema import Schema
from ruledex.language.text import constant_text, operand_text, predicate_text
from ruledex.language.tree import (
    Attribute,
    Between,
    Compare,
    In,
    Like,
    NullSafe,
    Operand,
    Predicate,
    SetTest,
    Value,
    predicates,
)
from ruledex.language.value import INT64_MAX, INT64_MIN, localize
from ruledex.lint.subject import Finding, LintSubject, short

Number: TypeAlias = int | Decimal | float

CODE: Final = "type-never-fits"
_OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def check_fitting(subject: LintSubject) -> Iterator[Finding]:
    """Check each predicate against the values that its operand can have."""
    for predicate in predicates(subject.tree):
        match predicate:
            case Compare(operand, op, value) if op != "=":
                yield from _check_order(subject, predicate, operand, op, value)
            case Compare(operand, _, value) | NullSafe(operand, value):
                yield from _check_values(subject, predicate, operand, (value,))
            case In(operand, values) | SetTest(operand, _, values):
                yield from _check_values(subject, predicate, operand, values)
            case Between(operand, low, high):
                yield from _check_between(subject, predicate, operand, low, high)
            case Like(operand, patterns, _, False):
                yield from _check_patterns(subject, predicate, operand, patterns)


def _fault(operand: Operand, value: Value, schema: Schema) -> str | None:
    """Return why an operand never equals a constant, or None."""
    if isinstance(value, str):
        return string_fault(operand, value, is_pattern=False)
    if isinstance(value, datetime) and isinstance(operand, Attribute) and schema.of(operand).type == "date":
        at = value if value.tzinfo is None else localize(value, schema.zone)
        return "is declared as a date, which is its midnight" if at.time() != time() else None
    if isinstance(value, int | Decimal | float) and not isinstance(value, bool):
        known = range_of(operand, schema)
        if known is not None and not known.allows("=", value):
            return f"is always {known.describe()}"
    return None


def _check_values(
    subject: LintSubject, predicate: Predicate, operand: Operand, values: tuple[Value, ...]
) -> Iterator[Finding]:
    faults = [(value, fault) for value in values if (fault := _fault(operand, value, subject.schema)) is not None]
    if not faults:
        return
    listed = short(", ".join(constant_text(value) for value, _ in faults))
    message = f"{operand_text(operand)} {faults[0][1]}, and never equals {listed}"
    if len(faults) < len(values):
        yield subject.warning(CODE, predicate.position, message, f"remove {listed} from the list")
    else:
        yield subject.warning(CODE, predicate.position, message, f"`{short(predicate_text(predicate))}` is never true")


def _check_order(
    subject: LintSubject, predicate: Predicate, operand: Operand, op: str, value: Value
) -> Iterator[Finding]:
    known = range_of(operand, subject.schema)
    if known is None or isinstance(value, bool) or not isinstance(value, int | Decimal | float):
        return
    shown, name = short(predicate_text(predicate)), operand_text(operand)
    if not known.allows(op, value):
        yield subject.warning(
            CODE, predicate.position, f"{name} is always {known.describe()}", f"`{shown}` is never true"
        )
    elif not known.allows(_OPPOSITE[op], value):
        yield subject.note(
            "true-when-present",
            predicate.position,
            f"{name} is always {known.describe()}, so `{shown}` only says that it is present",
            "write IS NOT NULL if that is intended",
        )


def _check_between(
    subject: LintSubject, predicate: Predicate, operand: Operand, low: Value, high: Value
) -> Iterator[Finding]:
    known = range_of(operand, subject.schema)
    ends = [end for end in (low, high) if isinstance(end, int | Decimal | float) and not isinstance(end, bool)]
    if known is not None and len(ends) == 2 and not (known.allows(">=", ends[0]) and known.allows("<=", ends[1])):
        message = f"{operand_text(operand)} is always {known.describe()}"
        yield subject.warning(CODE, predicate.position, message, f"`{short(predicate_text(predicate))}` is never true")


def _check_patterns(
    subject: LintSubject, predicate: Predicate, operand: Operand, patterns: tuple[str, ...]
) -> Iterator[Finding]:
    for pattern in patterns:
        fault = string_fault(operand, pattern, is_pattern=True)
        if fault is not None:
            message = f"{operand_text(operand)} {fault}, and is never LIKE {constant_text(short(pattern))}"
            yield subject.warning(CODE, predicate.position, message, "write the pattern in the same case, or use ILIKE")


# The values that an operand can have.


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

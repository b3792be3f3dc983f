"""type-never-fits: finds constants that their operand can never equal, and comparisons that its range decides."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time
from decimal import Decimal
from typing import Final

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
from ruledex.language.value import localized
from ruledex.lint.finding import Finding
from ruledex.lint.results import range_of, string_fault
from ruledex.lint.subject import LintSubject, short

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
        at = value if value.tzinfo is None else localized(value, schema.zone)
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

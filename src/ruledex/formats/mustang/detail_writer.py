"""Writes predicates as details of Mustang: a caveat with its constants."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from ruledex.formats.mustang.operations import BOOLEAN, NUMBER, TEXT
from ruledex.formats.mustang.regexes import of_whole_match
from ruledex.language.tree import (
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    In,
    Like,
    Operand,
    Rlike,
    Value,
)
from ruledex.language.value_types import MavenVersion

Detail: TypeAlias = dict[str, Any]
_LARGEST: Final = 1.7976931348623157e308
_SPECIAL: Final = re.compile(r"[\\.^$|?*+()\[\]{}/]")
_TOKEN: Final = re.compile(r"\\(.)|(.)", re.DOTALL)
_CHECKS: Final = {
    ">=": ("ABOVE", False),
    ">": ("ABOVE", True),
    "<=": ("BELOW", False),
    "<": ("BELOW", True),
}
_IGNORED_CASE: Final = "Java ignores the case of ASCII letters only"
ANY_TEXT: Final = "(?s).*"


class Tested(NamedTuple):
    """What a predicate asks of which operand. `kind` is the type of values that can satisfy it."""

    operand: Operand
    detail: Detail
    kind: str
    weight: float
    notes: tuple[str, ...] = ()


def details_of(predicate: Any) -> Tested | str:
    """Return the detail of a predicate, or the reason why there is none."""
    match predicate:
        case Compare(operand, "=", value, weight):
            return _among(operand, (value,), weight)
        case In(operand, values, weights):
            return _among(operand, values, weights[0] if weights else 1.0)
        case Compare(Call("maven_version", (Attribute() | Call() as operand,)), op, MavenVersion() as value, weight):
            check, exclude = _CHECKS[op]
            detail = {"caveat": "VERSIONING", "check": check, "baseVersion": value.text, "excludeBase": exclude}
            return Tested(operand, detail, TEXT, weight)
        case Compare(operand, op, value, weight):
            return _range(operand, {op: value}, weight)
        case Between(operand, low, high, weight):
            return _range(operand, {">=": low, "<=": high}, weight)
        case Like(operand, patterns, every, ignore_case, weight):
            if every and len(patterns) > 1:
                return "cannot ask that one text fits several patterns"
            notes = (_IGNORED_CASE,) if ignore_case else ()
            return Tested(
                operand, {"caveat": "REGEX", "regex": regex_of_like(patterns, ignore_case)}, TEXT, weight, notes
            )
        case Rlike(operand, pattern, weight):
            return Tested(operand, {"caveat": "REGEX", "regex": of_whole_match(pattern)}, TEXT, weight)
        case CompareOperands():
            return "compares values with constants only"
    return "has no caveat for this"


def kind_test(kind: str) -> Detail:
    """Return the detail that every value of a type satisfies."""
    if kind == NUMBER:
        return range_detail({})
    if kind == TEXT:
        return {"caveat": "REGEX", "regex": ANY_TEXT}
    return {"caveat": "EQUALITY", "values": [False, True]}


def _among(operand: Operand, values: tuple[Value, ...], weight: float) -> Tested | str:
    kinds = {constant_kind(value) for value in values}
    if len(kinds) != 1 or None in kinds:
        return "compares texts, numbers, true and false only"
    constants = [constant(value) for value in values]
    notes = tuple("a decimal becomes a double" for value in values if _is_rounded(value))
    (kind,) = kinds
    return Tested(operand, {"caveat": "EQUALITY", "values": constants}, str(kind), weight, notes)


def _range(operand: Operand, bounds: dict[str, Value], weight: float) -> Tested | str:
    if any(constant_kind(bound) != NUMBER for bound in bounds.values()):
        return "orders numbers and versions of Maven only"
    notes = tuple("a decimal becomes a double" for bound in bounds.values() if _is_rounded(bound))
    return Tested(operand, range_detail(bounds), NUMBER, weight, notes)


def range_detail(bounds: dict[str, Value]) -> Detail:
    """Return a range between bounds, which are given by their comparison. Those that are missing are written out."""
    low = next(((op, bounds[op]) for op in (">=", ">") if op in bounds), (">=", -_LARGEST))
    high = next(((op, bounds[op]) for op in ("<=", "<") if op in bounds), ("<=", _LARGEST))
    return {
        "caveat": "RANGE",
        "lowerBound": constant(low[1]),
        "upperBound": constant(high[1]),
        "includeLowerBound": low[0] == ">=",
        "includeUpperBound": high[0] == "<=",
    }


def constant_kind(value: Any) -> str | None:
    """Return the type of a constant that JSON has, or None."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, str):
        return TEXT
    if isinstance(value, int | Decimal) or (isinstance(value, float) and math.isfinite(value)):
        return NUMBER
    return None


def constant(value: Any) -> Any:
    """Return a constant as JSON has it."""
    return float(value) if isinstance(value, Decimal) else value


def _is_rounded(value: Any) -> bool:
    return isinstance(value, Decimal) and Decimal(repr(float(value))) != value


def regex_of_like(patterns: tuple[str, ...], ignore_case: bool) -> str:
    """Return the regular expression of patterns of LIKE, which matches a whole text."""
    branches = []
    for pattern in patterns:
        parts = []
        for match in _TOKEN.finditer(pattern):
            wild = {"%": ".*", "_": "."}.get(match[2] or "")
            parts.append(wild or _SPECIAL.sub(r"\\\g<0>", match[1] or match[2]))
        branches.append("".join(parts))
    flags = "(?is)" if ignore_case else "(?s)"
    return flags + (branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})")

"""Writes predicates as details of Mustang, a caveat with its constants, and those of lambdas as filters of JSONPath."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from ruledex.errors import RuleError, RuleLimitError
from ruledex.formats.conditions import is_null_value
from ruledex.formats.mustang.operations import BOOLEAN, NUMBER, TEXT
from ruledex.formats.mustang.paths import write_path
from ruledex.formats.mustang.regexes import of_whole_match
from ruledex.formats.writing import cannot_say
from ruledex.language.lambdas import element_name, is_of_element
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Named,
    Not,
    NullSafe,
    Operand,
    Or,
    Required,
    Rlike,
    Truth,
    Value,
    Weighed,
    Xnor,
    Xor,
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
_LONGEST: Final = 100_000
_FILTERS: Final = "cannot say this in a filter"


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


def filter_text(exists: Exists, truth: bool) -> str:
    """Return the filter that passes elements of which the body is true or, if `truth` is False, is not false."""
    return _Filter(exists).ask(exists.body, truth, truth)


class _Filter:
    """One filter. As in writer.py, `ask` takes the truth in question, and whether a part must have it."""

    def __init__(self, exists: Exists) -> None:
        self._exists = exists
        self._element = element_name(exists.level)

    def ask(self, node: Expression, truth: bool, has_it: bool) -> str:
        """Return that a part is (or is not) true (or false)."""
        holds = truth == has_it
        match node:
            case Truth(value):
                return "(@ || !@)" if (value is truth) == has_it else "(@ && !@)"
            case Not(child):
                return self.ask(child, not truth, has_it)
            case Required(child) | Weighed(child):
                return self.ask(child, truth, has_it)
            case Named():
                return self.ask(node.condition, truth, has_it)
            case And(children):
                nulls, rest = _null_tests(children)
                found = [f"{self._path(operand)} {'==' if holds else '!='} null" for operand in nulls]
                return _joined(holds, found + [self.ask(child, truth, has_it) for child in rest])
            case Or(children):
                return _joined(not holds, [self.ask(child, truth, has_it) for child in children])
            case Xor() | Xnor():
                return self._parity(node, truth, has_it)
            case Is(child, None):
                asked = [self.ask(child, True, not holds), self.ask(child, False, not holds)]
                return _joined(holds, asked)
            case Is(child, bool() as asked_truth):
                return self.ask(child, asked_truth, holds)
            case NullSafe(operand, value):
                return self.ask(Compare(operand, "=", value), True, holds)
            case Compare(Call("present", (Attribute() as attribute,)), "=", bool() as is_there):
                return f"{'' if is_there == holds else '!'}{self._path(attribute)}"
            case In(has_null=True) if not truth:
                return self.ask(Truth(True), True, not has_it)
        return self._literal(node, truth, has_it)

    def _parity(self, node: Xor | Xnor, truth: bool, has_it: bool) -> str:
        is_xor = isinstance(node, Xor)
        true, false = (self.ask(node.children[0], asked, has_it) for asked in (True, False))
        for child in node.children[1:]:
            child_true, child_false = (self.ask(child, asked, has_it) for asked in (True, False))
            differ = _joined(not has_it, [_joined(has_it, [true, child_false]), _joined(has_it, [false, child_true])])
            equal = _joined(not has_it, [_joined(has_it, [true, child_true]), _joined(has_it, [false, child_false])])
            true, false = (differ, equal) if is_xor else (equal, differ)
        return true if truth else false

    def _literal(self, node: Any, truth: bool, has_it: bool) -> str:
        holds = truth == has_it
        if isinstance(node, IsNull):
            path = self._path(node.operand)
            return f"(!{path} || {path} == null)" if holds else f"({path} && {path} != null)"
        test = self._test(node)
        if not holds:
            test = f"!({test})"
        if truth:
            return test
        if isinstance(node, CompareOperands):
            raise self._error("cannot tell false from unknown between two values")
        is_kind = self._kind_test(node)
        return f"({test} && {is_kind})" if has_it else f"({test} || !({is_kind}))"

    def _test(self, node: Any) -> str:
        match node:
            case Compare(operand, op, value):
                return f"{self._path(operand)} {'==' if op == '=' else op} {self._constant(value)}"
            case CompareOperands(left, op, right) if op != "<=>":
                return f"{self._path(left)} {'==' if op == '=' else op} {self._path(right)}"
            case In(operand, values):
                listed = ", ".join(self._constant(value) for value in values)
                return f"{self._path(operand)} in [{listed}]"
            case Between(operand, low, high):
                path = self._path(operand)
                return f"({path} >= {self._constant(low)} && {path} <= {self._constant(high)})"
            case Like(operand, patterns, every, ignore_case) if not every or len(patterns) == 1:
                return f"{self._path(operand)} =~ {_regex(regex_of_like(patterns, ignore_case))}"
            case Rlike(operand, pattern):
                return f"{self._path(operand)} =~ {_regex(of_whole_match(pattern))}"
        raise self._error(_FILTERS)

    def _kind_test(self, node: Any) -> str:
        path = self._path(node.operand)
        value = "" if isinstance(node, Like | Rlike) else node.values[0] if isinstance(node, In) else None
        if value is None:
            value = node.low if isinstance(node, Between) else node.value
        kind = constant_kind(value)
        if kind == NUMBER:
            return f"({path} >= 0 || {path} < 0)"
        return f"{path} =~ {_regex(ANY_TEXT)}" if kind == TEXT else f"{path} in [true, false]"

    def _path(self, operand: Operand) -> str:
        first: Any = operand
        while isinstance(first, Call):
            first = first.arguments[0] if first.arguments else None
        text = None
        if isinstance(first, Attribute) and first.path[0] == self._element:
            # The steps below the element: its own name is no name of JSONPath.
            text = write_path(_without_element(operand), "@")
        elif isinstance(first, Attribute) and not is_of_element(first.path):
            text = write_path(operand)
        if text is None:
            raise self._error(_FILTERS)
        return text

    def _error(self, reason: str) -> RuleError:
        return cannot_say(self._exists, "Mustang", reason)

    def _constant(self, value: Any) -> str:
        kind = constant_kind(value)
        if kind is None:
            raise self._error(_FILTERS)
        if kind == TEXT:
            return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
        return json.dumps(constant(value))


def _null_tests(children: tuple[Expression, ...]) -> tuple[list[Attribute], list[Expression]]:
    """Return the attributes that are null, as reading `== null` says it, and the other conditions of an AND."""
    found, rest = list[Attribute](), list(children)
    for child in children:
        match child:
            case Compare(Call("present", (Attribute() as attribute,)), "=", True):
                test = is_null_value(attribute)
                assert isinstance(test, And)
                if all(part in rest for part in test.children):
                    found.append(attribute)
                    rest = [part for part in rest if part not in test.children]
    return found, rest


def _without_element(operand: Operand) -> Operand:
    if isinstance(operand, Attribute):
        return Attribute(operand.path[1:])
    first, *rest = operand.arguments
    return Call(operand.function, (_without_element(first), *rest))  # type: ignore[arg-type]


def _regex(pattern: str) -> str:
    """Return a regular expression between slashes."""
    found, escaped = [], False
    for character in pattern:
        found.append("\\/" if character == "/" and not escaped else character)
        escaped = character == "\\" and not escaped
    return f"/{''.join(found)}/"


def _joined(by_and: bool, parts: list[str]) -> str:
    if sum(map(len, parts)) > _LONGEST:
        raise RuleLimitError(f"a filter would have more than {_LONGEST:,} characters")
    return f"({(' && ' if by_and else ' || ').join(parts)})" if len(parts) > 1 else parts[0]

"""Finds what reading a criteria makes of one predicate, so that writing gives that predicate again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ruledex.formats.mustang.operations import NUMBER, array_test
from ruledex.formats.mustang.predicate_writer import Detail, constant, details_of, range_detail
from ruledex.language.lambdas import element_name
from ruledex.language.tree import (
    And,
    Attribute,
    Call,
    Compare,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Not,
    Operand,
    Or,
    SetTest,
    replace,
)


class CriteriaShape(NamedTuple):
    """Several parts of a rule that are one predicate of Mustang."""

    operand: Operand
    detail: Detail
    weight: float
    part: Expression
    operations: tuple[dict[str, Any], ...] = ()


def of_conditions(children: Sequence[Expression]) -> tuple[list[CriteriaShape], list[Expression]]:
    """Return the shapes among the conditions of an AND, and the conditions that belong to none."""
    shapes, rest = list[CriteriaShape](), list(children)
    for guard in children:
        attribute = _array_of(guard)
        if attribute is not None:
            found = _set_of(attribute, rest)
            if found is not None:
                shape, used = found
                shapes.append(shape)
                rest = [child for child in rest if child is not guard and not any(child is one for one in used)]
    for test, guard in pairwise(children):
        unchanged = _unchanged(test, guard)
        if unchanged is not None:
            shapes.append(unchanged)
            rest = [child for child in rest if child is not test and child is not guard]
    for low, high in pairwise(children):
        if _is_range(low, high) and any(low is child for child in rest):
            assert isinstance(low, Compare)
            assert isinstance(high, Compare)
            shapes.append(
                CriteriaShape(low.operand, range_detail({low.op: low.value, high.op: high.value}), low.weight, low)
            )
            rest = [child for child in rest if child is not low and child is not high]
    return shapes, rest


def _unchanged(test: Expression, guard: Expression) -> CriteriaShape | None:
    """Return the shape of a test of texts that an operation leaves as they are: no array, or no time."""
    tested = details_of(test)
    if isinstance(tested, str) or tested.kind == NUMBER:
        return None
    match guard:
        case Is(Not(Like())) if _array_of(Not(guard)) == tested.operand:
            return CriteriaShape(tested.operand, tested.detail, tested.weight, test, ({"type": "SIZE"},))
        case IsNull(Call("to_timestamp", (Attribute() | Call() as inner, str() as pattern))) if inner == tested.operand:
            operation = {"type": "TO_DATETIME", "dateTimeFormat": pattern}
            return CriteriaShape(inner, tested.detail, tested.weight, test, (operation,))
    return None


def of_choice(children: Sequence[Expression]) -> CriteriaShape | None:
    """Return the shape of an OR: a test of a number that a text or an array has, or that the value is."""
    if len(children) != 2:
        return None
    first, second = children
    operation = "LENGTH"
    if isinstance(first, And) and isinstance(second, And) and len(first.children) == len(second.children) == 2:
        attribute = _array_of(first.children[1])
        if attribute is None or second.children[1] != array_test(attribute).child:  # type: ignore[union-attr]
            return None
        first, second, operation = first.children[0], second.children[0], "SIZE"
    tested = details_of(first)
    function = {"LENGTH": "length", "SIZE": "array_size"}[operation]
    if isinstance(tested, str) or not isinstance(tested.operand, Call) or tested.operand.function != function:
        return None
    (inner,) = tested.operand.arguments
    if not isinstance(inner, Attribute | Call) or replace(first, operand=inner) != second:  # type: ignore[arg-type]
        return None
    return CriteriaShape(inner, tested.detail, tested.weight, first, ({"type": operation},))


def _array_of(guard: Expression) -> Attribute | None:
    """Return the attribute of which a condition says that it is an array."""
    match guard:
        case Not(Is(Not(Like(Call("typeof", (Attribute() as attribute,)))))) if guard == array_test(attribute):
            return attribute
    return None


def _set_of(attribute: Attribute, parts: Sequence[Expression]) -> tuple[CriteriaShape, list[Expression]] | None:
    tests = [part for part in parts if isinstance(part, SetTest) and part.operand == attribute]
    tests = [test for test in tests if test.test == "superset_of"]
    forall = next((part for part in parts if _values_of_all(part, attribute) is not None), None)
    some = next((part for part in parts if _values_of_some(part, attribute) is not None), None)
    if tests:
        values = [value for test in tests for value in test.values]
        is_equal = forall is not None and _values_of_all(forall, attribute) == values
        caveat = "EQUALSET" if is_equal else "SUPERSET"
        used: list[Expression] = [*tests, *([forall] if forall is not None and is_equal else [])]
        return _shape(attribute, caveat, values, tests[0].weight, tests[0]), used
    if some is None:
        return None
    values = _values_of_some(some, attribute) or []
    weight = _weight(some)
    if forall is not None and _values_of_all(forall, attribute) == values:
        return _shape(attribute, "SUBSET", values, weight, some), [some, forall]
    return _shape(attribute, "INTERSECTION", values, weight, some), [some]


def _shape(attribute: Attribute, caveat: str, values: list[Any], weight: float, part: Expression) -> CriteriaShape:
    return CriteriaShape(attribute, {"caveat": caveat, "values": [constant(value) for value in values]}, weight, part)


def _values_of_all(part: Expression, attribute: Attribute) -> list[Any] | None:
    match part:
        case Not(Exists(operand, Not(body), level)) if operand == attribute:
            return _values_of_some(body, Attribute((element_name(level),)))
    return None


def _values_of_some(part: Expression, operand: Attribute) -> list[Any] | None:
    """Return the values of which an operand has one, if the condition says no more."""
    match part:
        case Compare(of, "=", value) if of == operand:
            return [value]
        case In(of, values, _, False) if of == operand:
            return list(values)
        case Or(children):
            groups = [_values_of_some(child, operand) for child in children]
            return None if None in groups else [value for group in groups if group is not None for value in group]
    return None


def _weight(part: Expression) -> float:
    match part:
        case Compare(weight=weight):
            return weight
        case In(weights=weights):
            return weights[0] if weights else 1.0
        case Or(children):
            return _weight(children[0])
    return 1.0


def _is_range(low: Expression, high: Expression) -> bool:
    """Return whether two comparisons are the bounds of a range, of which the second has no weight."""
    return (
        isinstance(low, Compare)
        and isinstance(high, Compare)
        and low.operand == high.operand
        and high.weight == 0
        and low.op in (">", ">=")
        and high.op in ("<", "<=")
        and all(isinstance(v, int | float) and not isinstance(v, bool) for v in (low.value, high.value))
    )

"""Finds the family of an operand's values and of a predicate's constants, before any event is seen."""

from __future__ import annotations

from collections.abc import Callable

from ruledex.language.functions.registry import Function, lookup
from ruledex.language.tree import (
    Attribute,
    Between,
    Call,
    Compare,
    In,
    Like,
    Node,
    NullSafe,
    Operand,
    Predicate,
    Rlike,
    SetTest,
    Within,
)
from ruledex.language.value import Family, family_of


def _undeclared(_: Attribute) -> Family:
    return Family.ANY


def function_of(call: Call) -> Function:
    """Return the function of a call. A tree has calls of known functions only."""
    function = lookup(call.function)
    assert function is not None, call.function
    return function


def result_family(operand: Operand, declared: Callable[[Attribute], Family] = _undeclared) -> Family:
    """Return the family of an operand's values, or ANY if it depends on the event."""
    if isinstance(operand, Attribute):
        return declared(operand)
    function = function_of(operand)
    if function.result is not Family.ANY:
        return function.result
    for argument in operand.arguments:
        if not isinstance(argument, Node):
            return family_of(argument) or Family.ANY
    first = operand.arguments[0]
    return result_family(first, declared) if isinstance(first, Attribute | Call) else Family.ANY


def constant_family(predicate: Predicate) -> Family | None:
    """Return the family of a predicate's constants. A value of another family makes the predicate unknown."""
    if isinstance(predicate, Within):  # the first asked for: an index asks this of each of its literals
        if predicate.values:
            return family_of(predicate.values[0])
        bound = predicate.bounds[0]
        return family_of(bound.high if bound.low is None else bound.low)
    match predicate:
        case Compare(_, _, value) | NullSafe(_, value) | Between(_, value):
            return family_of(value)
        case In(_, values) | SetTest(_, _, values):
            return family_of(values[0])
        case Like() | Rlike():
            return Family.STRING
    return None

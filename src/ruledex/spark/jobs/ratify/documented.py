"""Find the section of docs/differences.md that explains why Spark SQL answers a predicate differently."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

from ruledex.language.reference import truth_of
from ruledex.language.resolve import leaves_of, values_of
from ruledex.language.schema import Schema
from ruledex.language.tree import (
    Attribute,
    Call,
    CompareOperands,
    In,
    Like,
    NullSafe,
    Operand,
    Predicate,
    Rlike,
    attributes,
    operands,
)
from ruledex.language.value import Family, constant_family

ANOTHER_TYPE: Final = "A value of another type is unknown"
NAN: Final = "NaN is missing"
ARRAYS: Final = "Arrays compare by element"
REGEX: Final = "Regular expressions are those of RE2"
COMPUTED: Final = "What cannot be computed is unknown"
DIVISION: Final = "A division gives a double, and a product of decimals is exact"
OWN_TYPE: Final = "Each value keeps its own type"
TEXT_TIME: Final = "A text beside a date or time is read by its own form"
TWO_STEPS: Final = "Two functions are two steps"

_CASES: Final = {"lower", "upper"}


def documented_difference(predicate: Predicate, event: Mapping[str, Any], schema: Schema) -> str | None:
    """Return the heading that documents why a predicate differs on an event; None if no heading fits."""
    looked_at = [attribute for operand in operands(predicate) for attribute in attributes(operand)]
    functions = {name for operand in operands(predicate) for name in _functions(operand)}
    leaves = [leaf for attribute in looked_at for leaf in leaves_of(event, attribute.path)]
    if any(isinstance(leaf, float) and math.isnan(leaf) for leaf in leaves):
        return NAN
    if any(_is_through_array(event, attribute.path) for attribute in looked_at):
        return ARRAYS
    if isinstance(predicate, Rlike):
        return REGEX
    if len(functions & _CASES) == 2 or (isinstance(predicate, Like) and predicate.ignore_case and functions & _CASES):
        return TWO_STEPS
    if functions & {"/", "*"} and any(isinstance(leaf, Decimal) for leaf in leaves):
        return DIVISION
    if "coalesce" in functions or (isinstance(predicate, In) and len({type(value) for value in predicate.values}) > 1):
        return OWN_TYPE
    return _of_types(predicate, event, schema, leaves)


def is_of_times(predicate: Predicate, event: Mapping[str, Any]) -> bool:
    """Return whether a predicate compares or computes dates or times, which depend on the time zone."""
    looked_at = [attribute for operand in operands(predicate) for attribute in attributes(operand)]
    leaves = (leaf for attribute in looked_at for leaf in leaves_of(event, attribute.path))
    return constant_family(predicate) is Family.TIME or any(isinstance(leaf, date) for leaf in leaves)


def _of_types(predicate: Predicate, event: Mapping[str, Any], schema: Schema, leaves: list[Any]) -> str | None:
    if is_of_times(predicate, event) and any(isinstance(leaf, str) for leaf in leaves):
        return TEXT_TIME
    truth = truth_of(predicate, event, schema)
    is_null_safe = isinstance(predicate, NullSafe) or (isinstance(predicate, CompareOperands) and predicate.op == "<=>")
    if None in leaves or not (truth is None or (truth is False and is_null_safe)):
        return None
    # All attributes are present, and yet there is nothing to compare.
    results = [values_of(operand, event, schema) for operand in operands(predicate) if isinstance(operand, Call)]
    return COMPUTED if any(not values for values in results) else ANOTHER_TYPE


def _functions(operand: Operand) -> Iterator[str]:
    if isinstance(operand, Call):
        yield operand.function
        for argument in operand.arguments:
            if isinstance(argument, Attribute | Call):
                yield from _functions(argument)


def _is_through_array(value: Any, path: tuple[str, ...]) -> bool:
    if isinstance(value, list | tuple):
        return True
    return bool(path) and isinstance(value, Mapping) and _is_through_array(value.get(path[0]), path[1:])

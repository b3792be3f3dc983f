"""The functions of the language by name, and those of all values of an attribute. Names are found in any case."""

from __future__ import annotations

from collections.abc import Callable

from ruledex.language import any_text
from ruledex.language.functions import (
    arithmetic,
    arrays,
    calendar,
    casts,
    collation,
    hashes,
    mathematics,
    moment_places,
    presence,
    searching,
    text,
    wholes,
)
from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.tree import Attribute, Call, Node, Operand, Value
from ruledex.language.value import Family, family_of


def size(elements: tuple[Value, ...] | None) -> int | None:
    """Return the number of values: 0 for an empty array, None (unknown) for a missing attribute."""
    return None if elements is None else len(elements)


def coalesce(elements: tuple[Value, ...] | None, fallback: Value) -> Value | tuple[Value, ...]:
    """Return the values as they are, of whatever type, or the constant if there are none."""
    return elements or fallback


_OF_ALL_VALUES: tuple[Function, ...] = (
    Function(
        name="size",
        parameters=(Parameter("x", Family.ANY),),
        result=Family.NUMBER,
        call=size,
        summary="The number of values that are not null: 0 for an empty array, unknown if the attribute is missing or "
        "has only nulls.",
        example="size(interests) >= 3",
        spark="if(size({0}) > 0 and size(array_compact({0})) = 0, null, size(array_compact({0})))",
        whole=True,
    ),
    Function(
        name="coalesce",
        parameters=(Parameter("x", Family.ANY), Parameter("constant", Family.ANY, literal=True)),
        result=Family.ANY,
        call=coalesce,
        summary="The attribute, or the constant if the attribute is missing or an empty array.",
        example="coalesce(visits, 0) < 5",
        spark="coalesce({0}, {1})",
        whole=True,
    ),
)

_FAMILIES: tuple[tuple[Function, ...], ...] = (
    arithmetic.FUNCTIONS,
    mathematics.FUNCTIONS,
    text.FUNCTIONS,
    searching.FUNCTIONS,
    hashes.FUNCTIONS,
    casts.FUNCTIONS,
    collation.FUNCTIONS,
    presence.FUNCTIONS,
    arrays.FUNCTIONS,
    wholes.FUNCTIONS,
    _OF_ALL_VALUES,
    calendar.FUNCTIONS,
)
FUNCTIONS: dict[str, Function] = {function.name: function for family in _FAMILIES for function in family}
# Made by rewrites; users are not told of them.
_INTERNAL: dict[str, Function] = {function.name: function for function in moment_places.FUNCTIONS}

ALIASES: dict[str, str] = {
    "ceiling": "ceil",
    "char_length": "length",
    "character_length": "length",
    "curdate": "current_date",
    "datediff": "date_diff",
    "dayofmonth": "day",
    "now": "current_timestamp",
    "power": "pow",
    "sha": "sha1",
    "signum": "sign",
    "substr": "substring",
    **casts.ALIASES,
}


CUSTOM: dict[str, Function] = {}  # the functions that users have added (custom.py); none has a name from above


def lookup(name: str) -> Function | None:
    """Return the function with a name, sign or alias, or None."""
    lowered = name.lower()
    return FUNCTIONS.get(ALIASES.get(lowered, lowered)) or _INTERNAL.get(lowered) or CUSTOM.get(lowered)


def names() -> list[str]:
    """Return all names and aliases in order, without the signs, to suggest one for a misspelt name."""
    return sorted(name for name in (*FUNCTIONS, *ALIASES, *CUSTOM) if name.isidentifier())


def function_of(call: Call) -> Function:
    """Return the function of a call. A tree has calls of known functions only."""
    function = any_text.FUNCTION if any_text.is_any_text(call) else lookup(call.function)
    assert function is not None, call.function
    return function


def _undeclared(_: Attribute) -> Family:
    return Family.ANY


def result_family(operand: Operand, declared: Callable[[Attribute], Family] = _undeclared) -> Family:
    """Return the family of an operand's values, or ANY if it depends on the event."""
    if isinstance(operand, Attribute):
        return declared(operand)
    function = function_of(operand)
    if function.result is not Family.ANY:
        return function.result
    if function.raw:
        if declared is _undeclared:
            return Family.ANY  # the parser asks at each level of nesting: it must not go down to the array every time
        from ruledex.language.arrays import path_of  # which stands on this module

        return declared(Attribute(path_of(operand)))
    for argument in operand.arguments:
        if not isinstance(argument, Node):
            return family_of(argument) or Family.ANY
    first = operand.arguments[0]
    return result_family(first, declared) if isinstance(first, Attribute | Call) else Family.ANY


def reads_path(operand: Operand) -> bool:
    """Return whether a part of an operand is a function of what stands at a path, such as present()."""
    if isinstance(operand, Attribute):
        return False
    return function_of(operand).of_path or any(
        reads_path(a) for a in operand.arguments if isinstance(a, Attribute | Call)
    )

"""The functions of the language by name. Names are found in any case, as in SQL."""

from __future__ import annotations

from collections.abc import Callable

from ruledex.language.functions import arithmetic, elements, text, times
from ruledex.language.functions.signature import Function
from ruledex.language.tree import Attribute, Call, Node, Operand
from ruledex.language.value import Family, family_of

FUNCTIONS: dict[str, Function] = {
    function.name: function for module in (arithmetic, text, elements, times) for function in module.FUNCTIONS
}

ALIASES: dict[str, str] = {
    "ceiling": "ceil",
    "char_length": "length",
    "character_length": "length",
    "datediff": "date_diff",
    "dayofmonth": "day",
    "substr": "substring",
}


def lookup(name: str) -> Function | None:
    """Return the function with a name, sign or alias, or None."""
    lowered = name.lower()
    return FUNCTIONS.get(ALIASES.get(lowered, lowered))


def names() -> list[str]:
    """Return all names and aliases in order, without the signs, to suggest one for a misspelt name."""
    return sorted(name for name in (*FUNCTIONS, *ALIASES) if name.isidentifier())


def function_of(call: Call) -> Function:
    """Return the function of a call. A tree has calls of known functions only."""
    function = lookup(call.function)
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
    for argument in operand.arguments:
        if not isinstance(argument, Node):
            return family_of(argument) or Family.ANY
    first = operand.arguments[0]
    return result_family(first, declared) if isinstance(first, Attribute | Call) else Family.ANY

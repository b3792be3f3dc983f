"""The functions of the language, by name. Names are found in any case, as SQL's are."""

from __future__ import annotations

from ruledex.language.functions import (
    arithmetic,
    elements,
    readers,
    text,
    times,
)
from ruledex.language.functions.signature import Function, Parameter

__all__ = ["ALIASES", "FUNCTIONS", "Function", "Parameter", "lookup", "names"]

FUNCTIONS: dict[str, Function] = {
    function.name: function for module in (arithmetic, text, elements, times, readers) for function in module.FUNCTIONS
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
    """The function of a name, a sign or an alias; None if there is none."""
    lowered = name.lower()
    return FUNCTIONS.get(ALIASES.get(lowered, lowered))


def names() -> list[str]:
    """All names and aliases in order, without the signs: what a misspelt name may have meant."""
    return sorted(name for name in (*FUNCTIONS, *ALIASES) if name.isidentifier())

"""The functions of the language by name. Names are found in any case, as in SQL."""

from __future__ import annotations

from ruledex.language.functions import arithmetic, elements, readers, text, times
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
    """Return the function with a name, sign or alias, or None."""
    lowered = name.lower()
    return FUNCTIONS.get(ALIASES.get(lowered, lowered))


def names() -> list[str]:
    """Return all names and aliases in order, without the signs, to suggest one for a misspelt name."""
    return sorted(name for name in (*FUNCTIONS, *ALIASES) if name.isidentifier())

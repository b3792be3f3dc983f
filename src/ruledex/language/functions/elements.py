"""Functions of all values of an attribute at once."""

from __future__ import annotations

from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.tree import Value
from ruledex.language.value import Family


def size(elements: tuple[Value, ...] | None) -> int | None:
    """Return the number of values: 0 for an empty array, None (unknown) for a missing attribute."""
    return None if elements is None else len(elements)


def coalesce(elements: tuple[Value, ...] | None, fallback: Value) -> Value | tuple[Value, ...]:
    """Return the values as they are, of whatever type, or the constant if there are none."""
    return elements or fallback


FUNCTIONS: tuple[Function, ...] = (
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

"""Functions of all values of an attribute together."""

from __future__ import annotations

from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.tree import Value
from ruledex.language.value import Family


def size(elements: tuple[Value, ...] | None) -> int | None:
    """Zero for an empty array, unknown for a missing one."""
    return None if elements is None else len(elements)


def coalesce(elements: tuple[Value, ...] | None, fallback: Value) -> Value | tuple[Value, ...]:
    """The values as they are, also those of another type, or the constant where there are none."""
    return elements or fallback


FUNCTIONS: tuple[Function, ...] = (
    Function(
        name="size",
        parameters=(Parameter("x", Family.ANY),),
        result=Family.NUMBER,
        call=size,
        summary="The number of values that are not null: 0 for an empty array, unknown where there is nothing or "
        "only nulls.",
        example="size(interests) >= 3",
        spark="if(size({0}) > 0 and size(array_compact({0})) = 0, null, size(array_compact({0})))",
        whole=True,
    ),
    Function(
        name="coalesce",
        parameters=(Parameter("x", Family.ANY), Parameter("constant", Family.ANY, literal=True)),
        result=Family.ANY,
        call=coalesce,
        summary="The attribute, or the constant where it is missing or an empty array.",
        example="coalesce(visits, 0) < 5",
        spark="coalesce({0}, {1})",
        whole=True,
    ),
)

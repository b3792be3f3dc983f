"""Functions of whole arrays, and of one place in an array: `items[0].price`, `element_at(items, -1)`.

Those that are `raw` see nulls, structs and the order of elements, which an attribute's values do not have. What they
give is in language/arrays.py, since it needs the event.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from functools import reduce
from typing import Final

from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.tree import Value
from ruledex.language.value import Family, compare, family_of

PLACE: Final = "[]"
FIELD: Final = "."
FILTER: Final = "filter"


def array_min(values: tuple[Value, ...] | None, zone: tzinfo) -> Value | None:
    """Return the least value, None if there is none or if they are of several types."""
    return _extreme(values, zone, lambda order: order < 0)


def array_max(values: tuple[Value, ...] | None, zone: tzinfo) -> Value | None:
    """Return the largest value, None if there is none or if they are of several types."""
    return _extreme(values, zone, lambda order: order > 0)


def _extreme(values: tuple[Value, ...] | None, zone: tzinfo, is_better: Callable[[int], bool]) -> Value | None:
    families = {family_of(value) for value in values or ()}
    if not values or len(families) > 1 or None in families:
        return None
    return reduce(lambda best, value: value if is_better(compare(value, best, zone)) else best, values)


def _check_place(constants: Constants) -> str | None:
    return None if type(constants[1]) is int else "an element's place is a whole number"


def _check_place_from_one(constants: Constants) -> str | None:
    if constants[1] == 0:
        return "element_at() counts from 1, or from -1 at the end"
    return _check_place(constants)


def _check_no_constant(constants: Constants) -> str | None:
    return None if constants == (None, None) else "arrays_overlap() takes two attributes, not constants"


def _raw(*_: object) -> None:
    raise AssertionError("language/arrays.py computes it")


_ARRAY: Final = Parameter("array", Family.ANY)
_PLACE_PARAMETER: Final = Parameter("place", Family.NUMBER, literal=True)

FUNCTIONS: Final[tuple[Function, ...]] = (
    Function(
        name="array_min",
        parameters=(_ARRAY,),
        result=Family.ANY,
        call=array_min,
        summary="The least value of an array. Nulls are left out; values of several types have none.",
        example="array_min(prices) > 5",
        spark="array_min({0})",
        whole=True,
        zoned=True,
    ),
    Function(
        name="array_max",
        parameters=(_ARRAY,),
        result=Family.ANY,
        call=array_max,
        summary="The largest value of an array. Nulls are left out; values of several types have none.",
        example="array_max(prices) < 100",
        spark="array_max({0})",
        whole=True,
        zoned=True,
    ),
    Function(
        name="array_size",
        parameters=(_ARRAY,),
        result=Family.NUMBER,
        call=_raw,
        summary="The number of elements of an array, nulls included; unknown if there is no array.",
        example="array_size(items) = 3",
        spark="array_size({0})",
        raw=True,
    ),
    Function(
        name="arrays_overlap",
        parameters=(_ARRAY, Parameter("other", Family.ANY)),
        result=Family.BOOLEAN,
        call=_raw,
        summary="Whether two arrays have a value in common; unknown if they have none and one has a null.",
        example="arrays_overlap(tags, wanted)",
        spark="arrays_overlap({0}, {1})",
        raw=True,
        check=_check_no_constant,
    ),
    Function(
        name="element_at",
        parameters=(_ARRAY, _PLACE_PARAMETER),
        result=Family.ANY,
        call=_raw,
        summary="The element at a place, counted from 1, or from -1 at the end; unknown past the ends. Fields of it "
        "follow after a dot.",
        example="element_at(items, -1).price > 5",
        spark="try_element_at({0}, {1})",
        raw=True,
        check=_check_place_from_one,
    ),
    Function(
        name=PLACE,
        parameters=(_ARRAY, _PLACE_PARAMETER),
        result=Family.ANY,
        call=_raw,
        summary="The element at the place in `[]`, counted from 0; unknown past the ends.",
        example="items[0].price > 5",
        spark="get({0}, {1})",
        raw=True,
        check=_check_place,
    ),
    Function(
        name=FIELD,
        parameters=(Parameter("element", Family.ANY), Parameter("name", Family.STRING, literal=True)),
        result=Family.ANY,
        call=_raw,
        summary="A field of an element.",
        example="items[0].price > 5",
        spark="{0}.{1}",
        raw=True,
    ),
    Function(
        name=FILTER,
        parameters=(_ARRAY,),
        result=Family.ANY,
        call=_raw,
        summary="The elements of which a condition is true.",
        example="size(filter(items, i -> i.price > 5)) > 2",
        spark="{0}",
        raw=True,
    ),
)

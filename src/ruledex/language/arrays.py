"""The elements of an array in an event, and what functions of arrays give: places, fields and numbers of elements.

They read the event itself. An attribute's values have lost the nulls, the structs and the arrays inside of arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ruledex import limits
from ruledex.language.functions.arrays import FIELD, FILTER, PLACE
from ruledex.language.functions.registry import function_of
from ruledex.language.lambdas import PRODUCT, Path, element_name, nodes_in, repeats_elements
from ruledex.language.many import some_pair
from ruledex.language.plain import plain, plain_leaves
from ruledex.language.resolve import EMPTY, MISSING, Event, Values, opened_arrays, over_limit
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Call, Exists, Node, Operand
from ruledex.language.value import Family, fit, is_missing


def elements_of(event: Event, path: Path) -> list[Any] | None:
    """Return the elements of the array at a path, null ones included, or None if there is no array.

    A value that is no array is the only element. Arrays on the way are opened, as everywhere: the elements are those of
    all arrays at the end that are there.
    """
    value: Any = event
    for step, name in enumerate(path):
        if type(value) is not dict:
            value = plain(value)
            if isinstance(value, list | tuple):
                return _through_arrays(value, path[step:])
            if not isinstance(value, Mapping):
                return None
        value = value.get(name)
    value = plain(value)
    if isinstance(value, list | tuple):
        return list(value)
    return None if is_missing(value) else [value]


def _through_arrays(array: Any, below: Path) -> list[Any] | None:
    found: list[Any] = [array]
    for name in below:
        found = [v.get(name) if isinstance(v, Mapping) else None for v in opened_arrays(found)]
    elements: list[Any] = []
    n_missing = 0
    for given in found:
        value = plain(given)
        if isinstance(value, list | tuple):
            elements += value
        elif is_missing(value):
            n_missing += 1
        else:
            elements.append(value)
    return None if found and n_missing == len(found) else elements


def element_events(exists: Exists, event: Event) -> Iterator[dict[str, Any]] | None:
    """Return the event as each element sees it, or None if there is no array.

    All are the same object, changed from one to the next. There is none either where a lambda inside of another over
    an array of its own has more combinations of elements than the limit `event_products`.
    """
    elements = elements_of(event, exists.operand.path)
    if elements is None:
        return None
    n_combinations = event.get(PRODUCT, 1) * max(len(elements), 1)
    if repeats_elements(exists) and len(elements) > 1 and n_combinations > limits.current().event_products:
        over_limit.n += 1
        return None
    return _bound(exists, event, elements, n_combinations)


def _bound(exists: Exists, event: Event, elements: list[Any], n_combinations: int) -> Iterator[dict[str, Any]]:
    bound = dict(event)
    bound[PRODUCT] = n_combinations
    name = element_name(exists.level)
    for element in elements:
        bound[name] = element
        yield bound


def values_of_array(call: Call, event: Event, schema: Schema) -> Values:
    """Return the values of a call of a raw function, as `values_of` does."""
    if call.function == "array_size":
        array = _array(call.arguments[0], event, schema)  # type: ignore[arg-type]  # an operand
        return MISSING if array is None else (len(array),)
    if call.function == "arrays_overlap":
        arrays = [_array(argument, event, schema) for argument in call.arguments]  # type: ignore[arg-type]
        truth = None if None in arrays else _overlap(arrays[0], arrays[1], schema)  # type: ignore[arg-type]
        return MISSING if truth is None else (truth,)
    path = path_of(call)
    leaves = plain_leaves(_value(call, event, schema), path)
    if isinstance(leaves, list | tuple):
        if not leaves:
            return EMPTY
        leaves = [leaf for leaf in leaves if not is_missing(leaf)]
    else:
        leaves = [] if is_missing(leaves) else [leaves]
    if leaves and schema.of(Attribute(path)).family is Family.TIME:
        leaves = [fit(leaf, Family.TIME, schema.zone) or leaf for leaf in leaves]
    return tuple(leaves) or MISSING


def path_of(operand: Any) -> tuple[str, ...]:
    """Return the path whose declared type the values of an operand have."""
    below: list[str] = []
    while isinstance(operand, Call):  # without recursion: the parser asks before it checks how deep a rule nests
        if operand.function == FIELD:
            below.append(str(operand.arguments[1]))
        operand = operand.arguments[0]
    first = operand.operand if isinstance(operand, Exists) else operand
    return (*first.path, *reversed(below))


def reads_arrays(node: Node) -> bool:
    """Return whether an operand or a predicate has a function that sees whole arrays."""
    return any(isinstance(part, Call) and function_of(part).raw for part in nodes_in(node))


def _array(operand: Operand, event: Event, schema: Schema) -> list[Any] | None:
    """Return the elements of an operand, or None if it is missing. What is no array is the only element."""
    if isinstance(operand, Attribute):
        return elements_of(event, operand.path)
    value = _value(operand, event, schema)
    if isinstance(value, list | tuple):
        return list(value)
    return None if is_missing(value) else [value]


def _value(operand: Operand, event: Event, schema: Schema) -> Any:
    """Return what an operand gives as it is: a scalar, a list, a mapping or None."""
    if isinstance(operand, Attribute):
        return elements_of(event, operand.path)
    first = operand.arguments[0]
    if operand.function == FIELD:
        return _field(_value(first, event, schema), str(operand.arguments[1]))  # type: ignore[arg-type]
    if operand.function == FILTER:
        assert isinstance(first, Exists)
        return _filtered(first, event, schema)
    if operand.function in (PLACE, "element_at"):
        array = _array(first, event, schema)  # type: ignore[arg-type]
        place = operand.arguments[1]
        assert isinstance(place, int)
        if array is None:
            return None
        if operand.function == "element_at":
            place = place - 1 if place > 0 else len(array) + place
        return plain(array[place]) if 0 <= place < len(array) else None
    from ruledex.language.resolve import values_of  # another function, which gives plain values

    values = values_of(operand, event, schema)
    return values if values is None or len(values) > 1 else values[0]


def _field(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return plain(value.get(name))
    if isinstance(value, list | tuple):
        found = [v.get(name) if isinstance(v, Mapping) else None for v in opened_arrays(list(value))]
        return [leaf for given in found for leaf in _opened(plain(given))]
    return None


def _opened(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _filtered(exists: Exists, event: Event, schema: Schema) -> list[Any] | None:
    from ruledex.language.reference import truth_of  # which stands on this module

    events = element_events(exists, event)
    if events is None:
        return None
    name = element_name(exists.level)
    inner = schema.of_elements(exists.operand, name)
    return [plain(of_element[name]) for of_element in events if truth_of(exists.body, of_element, inner)]


def _overlap(left: list[Any], right: list[Any], schema: Schema) -> bool | None:
    one, other = ([v for v in map(plain, array) if not is_missing(v)] for array in (left, right))
    if some_pair("=", one, other, schema.zone):
        return True
    has_null = len(one) < len(left) or len(other) < len(right)
    return None if has_null and left and right else False

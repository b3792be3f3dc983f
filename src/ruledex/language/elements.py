"""The elements of an array in an event, and the event as each of them sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ruledex import limits
from ruledex.language.lambdas import PRODUCT, Path, element_name, repeats_elements
from ruledex.language.plain import plain
from ruledex.language.resolve import Event, opened_arrays, over_limit
from ruledex.language.tree import Exists
from ruledex.language.value import is_missing


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

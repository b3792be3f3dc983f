"""Finds what decided a predicate of many values: the fields of `*`, or the element of an array, and what it had."""

from __future__ import annotations

from ruledex.language.any_text import placed_texts, reads_any_text
from ruledex.language.elements import element_events
from ruledex.language.functions.arrays import FIELD, PLACE
from ruledex.language.lambdas import element_name, outer_attributes, paths_in
from ruledex.language.reference import truth_of
from ruledex.language.resolve import Event, mapping_of
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Call, CompareOperands, Exists, Operand, Predicate, SetTest, attributes

_MOST_FIELDS = 8  # that are named


def deciding_fields(predicate: Predicate, event: Event, schema: Schema) -> dict[Attribute, tuple[str, ...]]:
    """Return the attributes with a text that satisfies the predicate by itself, and these texts.

    Returns nothing for a predicate that is not of single texts of `*`.
    """
    if isinstance(predicate, CompareOperands | SetTest):
        return {}
    if not reads_any_text(predicate.operand) or next(attributes(predicate.operand), None) is not None:
        return {}
    found: dict[Attribute, tuple[str, ...]] = {}
    for text, path in placed_texts(mapping_of(event)):
        if truth_of(predicate, {"": text}, schema) is True:
            field = Attribute(path)
            if field not in found and len(found) == _MOST_FIELDS:
                break
            found[field] = (*found.get(field, ()), text)
    return found


def deciding_operands(exists: Exists, event: Event, schema: Schema) -> list[Operand]:
    """Return what decided a lambda: fields of the first element that made it true, or else unknown, by its place.

    A lambda that is false was decided by all elements, and one without an array by the array.
    """
    name = element_name(exists.level)
    used = [path[1:] for path in dict.fromkeys(paths_in(exists.body)) if path[0] == name]
    place, truths = _deciding_place(exists, event, schema)
    found: list[Operand] = []
    for fields in used if truths else []:
        if place is None:
            found.append(Attribute((*exists.operand.path, *fields)))
            continue
        element: Operand = Call(PLACE, (exists.operand, place))
        for field in fields:
            element = Call(FIELD, (element, field))
        found.append(element)
    return [*(found or [exists.operand]), *outer_attributes(exists)]


def _deciding_place(exists: Exists, event: Event, schema: Schema) -> tuple[int | None, list[bool | None]]:
    inner = schema.of_elements(exists.operand, element_name(exists.level))
    events = element_events(exists, event)
    truths = [] if events is None else [truth_of(exists.body, of_element, inner) for of_element in events]
    decided = True if True in truths else None
    return truths.index(decided) if decided in truths else None, truths

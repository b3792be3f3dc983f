"""Finds the fields whose text made a predicate of `*` true."""

from __future__ import annotations

from ruledex.language.any_text import placed_texts, reads_any_text
from ruledex.language.reference import truth_of
from ruledex.language.resolve import Event, mapping_of
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, CompareOperands, Predicate, SetTest, attributes

_MOST = 8  # fields that are named


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
            if field not in found and len(found) == _MOST:
                break
            found[field] = (*found.get(field, ()), text)
    return found

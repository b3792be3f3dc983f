"""Operands and predicates of a dictionary as JSON values, and back.

An attribute is the list of its path's steps, so that names are found without a parser.
"""

from __future__ import annotations

from typing import Any

from ruledex.language.parser import parse_operand
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.structured_parts import Place, constant_in, constant_out
from ruledex.language.text import operand_text
from ruledex.language.tree import (
    PREDICATES,
    Attribute,
    Bound,
    Call,
    CompareOperands,
    Operand,
    Predicate,
    SetTest,
    Value,
    Within,
)


def operand_out(operand: Operand | CompareOperands | SetTest) -> Any:
    """What a slot looks at."""
    if isinstance(operand, Attribute):
        return list(operand.path)
    if isinstance(operand, Call):
        return operand_text(operand)
    return {"predicate": to_structured(operand)}


def operand_in(document: Any) -> Operand | CompareOperands | SetTest:
    """The operand again."""
    if isinstance(document, list):
        return Attribute(tuple(document))
    if isinstance(document, str):
        return parse_operand(document)
    predicate = from_structured(document["predicate"])
    assert isinstance(predicate, CompareOperands | SetTest)
    return predicate


def predicate_out(predicate: Predicate) -> Any:
    """A predicate with a cell of its own; only rewrites make a `Within`, which has no structured form."""
    if not isinstance(predicate, Within):
        return to_structured(predicate)
    bounds = [[_out(b.low), b.low_closed, _out(b.high), b.high_closed] for b in predicate.bounds]
    values = [constant_out(value) for value in predicate.values]
    return {"op": "within", "operand": operand_out(predicate.operand), "values": values, "bounds": bounds}


def predicate_in(document: Any) -> Predicate:
    """The predicate again."""
    if document["op"] != "within":
        predicate = from_structured(document)
        assert isinstance(predicate, PREDICATES)
        return predicate
    operand = operand_in(document["operand"])
    assert isinstance(operand, Attribute | Call)
    values = tuple(_in(value) for value in document["values"])
    assert None not in values
    bounds = tuple(Bound(_in(low), low_in, _in(high), high_in) for low, low_in, high, high_in in document["bounds"])
    return Within(operand, tuple(v for v in values if v is not None), bounds)


def _out(end: Value | None) -> Any:
    return None if end is None else constant_out(end)


def _in(document: Any) -> Value | None:
    return constant_in(document, Place()).value

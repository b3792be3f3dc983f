"""What literals mean, read off the table that they were entered in, without a dictionary made for them.

Most literals of most rules are a set of integers or strings, one stretch of integers, a pattern, or a presence. What
these mean is plain from how they are written; for all others cells are cut and read (`meanings_of`).
"""

from __future__ import annotations

from ruledex.encode.domain import Kind
from ruledex.encode.growing_literals import Mark, Meanings, Negative, Positive, SlotOperand, Stretch, keys_of
from ruledex.encode.literal_table import LiteralTable, PositiveLiteral
from ruledex.encode.merging import Name, name_of_operand
from ruledex.language.families import constant_family
from ruledex.language.text import to_text
from ruledex.language.tree import Bound, Predicate, Within
from ruledex.language.value import Family


def plain_meanings(literals: LiteralTable) -> Meanings | None:
    """What the literals of a table mean, in the order that its Program has them in; None where one is not plain."""
    names = [name_of_operand(operand) for operand in literals.operands]
    predicates: dict[Mark, tuple[Predicate, Family]] = {}
    positives = []
    for literal in literals.positives:
        meaning = _plain(literal, names[literal.slot], predicates)
        if meaning is None:
            return None
        positives.append(meaning)
    negatives = []
    for positive, (slot, word, family) in literals.negatives():
        presence = None if family is None else Mark(names[slot], word, family)
        negatives.append((positive, Negative(presence, positives[positive])))
    operands: dict[Name, SlotOperand] = dict(zip(names, literals.operands, strict=True))
    keys = keys_of(positives, negatives)
    return Meanings(positives, [negative for _, negative in negatives], keys, operands, predicates)


def _plain(literal: PositiveLiteral, name: Name, predicates: dict[Mark, tuple[Predicate, Family]]) -> Positive | None:
    if literal.not_null:
        return Positive((Mark(name, "not null"),), ())
    if literal.key is not None:
        mark, family = Mark(name, "key", to_text(literal.key)), constant_family(literal.key)
        assert family is not None
        predicates[mark] = literal.key, family
        return Positive((mark,), ())
    if literal.outside or literal.misfit is not None:
        return None
    assert literal.within is not None
    stretches = _stretches(literal.within, name)
    return None if stretches is None else Positive((), tuple(stretches))


def _stretches(within: Within, name: Name) -> list[Stretch] | None:
    values, bounds = within.values, within.bounds
    if values and not bounds:
        types = set(map(type, values))
        if types == {int}:
            return [Stretch(name, Kind.EXACT, value, True, value, True) for value in sorted(set(values))]  # type: ignore[type-var]
        if types == {str}:
            return [Stretch(name, Kind.STRING, value, True, value, True) for value in sorted(set(values))]  # type: ignore[type-var]
    elif len(bounds) == 1 and not values:
        return _stretch(bounds[0], name)
    return None


def _stretch(bound: Bound, name: Name) -> list[Stretch] | None:
    low, high = bound.low, bound.high
    if not {type(low), type(high)} <= {int, type(None)} or (low is None and high is None):
        return None
    if low is not None and high is not None and low >= high:  # type: ignore[operator]  # both are integers
        return None  # a point at the most
    return [Stretch(name, Kind.EXACT, low, bound.low_closed, high, bound.high_closed)]

"""The meanings of literals apart from any dictionary, so that they can be given cells of one later.

A meaning keeps constants as rules name them, not as a domain orders them. Whether two constants are one double or one
moment matters only beside the other constants of the dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from ruledex.dictionary.domain import ends
from ruledex.dictionary.literal_cells import PositiveLiteral
from ruledex.dictionary.literal_table import LiteralTable
from ruledex.dictionary.merging import Name, name_of_operand
from ruledex.language.text import tree_text
from ruledex.language.tree import Bound, CompareOperands, Exists, Operand, Predicate, SetTest, Value
from ruledex.language.value import Family, constant_family

SlotOperand: TypeAlias = Operand | CompareOperands | SetTest | Exists


class OperandMark(NamedTuple):
    """A cell that says something of an operand as a whole: a word, and a family or the text of a predicate."""

    slot: Name
    word: str  # "not null", "present", "misfit", "settled" or "key"
    what: Family | str | None = None


class Values(NamedTuple):
    """Some values of an operand: constants and ranges; with `outside`, all other values of their domains."""

    slot: Name
    constants: tuple[Value, ...]
    bounds: tuple[Bound, ...]
    outside: bool = False

    def cutting(self) -> list[Value]:
        """Return all of its constants, each as often as it is named."""
        return [*self.constants, *(end for bound in self.bounds for end in ends(bound))]


class Positive(NamedTuple):
    """A positive literal: true of an operand that has the mark or one of the values."""

    mark: OperandMark | None
    values: Values | None


class Negative(NamedTuple):
    """A negative literal: true where the positive one is not and the presence is there; None is always there."""

    presence: OperandMark | None
    positive: Positive


class Meanings(NamedTuple):
    """The literals of a Program in the order of their ids, and what a dictionary needs to know of its slots.

    `keys` has one text per literal, positives first, by which it is looked up: literals are deep tuples, and hashing
    one takes longer than everything else. Literals with equal texts mean the same.
    """

    positives: list[Positive]
    negatives: list[Negative]
    keys: list[str]
    operands: dict[Name, SlotOperand]
    predicates: dict[OperandMark, tuple[Predicate, Family]]  # of the marks that are keys


def meanings_of(literals: LiteralTable) -> Meanings:
    """Return the meanings of a table's literals, in the order of the Program."""
    names = [name_of_operand(operand) for operand in literals.operands]
    predicates: dict[OperandMark, tuple[Predicate, Family]] = {}
    positives = [_meaning(literal, names[literal.slot], predicates) for literal in literals.positives]
    negatives = []
    for positive, (slot, word, family) in literals.negatives():
        presence = None if family is None else OperandMark(names[slot], word, family)
        negatives.append((positive, Negative(presence, positives[positive])))
    operands: dict[Name, SlotOperand] = dict(zip(names, literals.operands, strict=True))
    keys = _keys_of(positives, negatives)
    return Meanings(positives, [negative for _, negative in negatives], keys, operands, predicates)


def _meaning(literal: PositiveLiteral, name: Name, predicates: dict[OperandMark, tuple[Predicate, Family]]) -> Positive:
    if literal.not_null:
        return Positive(OperandMark(name, "not null"), None)
    if literal.presence is not None:
        return Positive(OperandMark(name, *literal.presence), None)
    if literal.key is not None:
        mark, family = OperandMark(name, "key", tree_text(literal.key)), constant_family(literal.key)
        assert family is not None
        predicates[mark] = literal.key, family
        return Positive(mark, None)
    within = literal.within
    assert within is not None
    misfit = None if literal.misfit is None else OperandMark(name, "misfit", literal.misfit)
    return Positive(misfit, Values(name, within.values, within.bounds, literal.outside))


# Texts are written by hand: the repr of a named tuple takes longer than the look-up.


def meaning_key(positive: Positive) -> str:
    """Return the text by which a positive literal is looked up."""
    return f"{_text_of_mark(positive.mark)}; {_text_of_values(positive.values)}"


def _keys_of(positives: Sequence[Positive], negatives: Iterable[tuple[int, Negative]]) -> list[str]:
    """Return one text per literal, positives first; `negatives` have the index of the one that they negate."""
    keys = list(map(meaning_key, positives))
    for positive, (presence, _) in negatives:
        keys.append(f"NOT {_text_of_mark(presence)}: {keys[positive]}")
    return keys


def _text_of_mark(mark: OperandMark | None) -> str:
    if mark is None:
        return ""
    what = repr(mark.what) if mark.word == "key" else mark.what  # a pattern, else the name of a family
    return f"{mark.slot} {mark.word} {what}"


def _text_of_values(values: Values | None) -> str:
    if values is None:
        return ""
    slot, constants, bounds, outside = values
    stretches = [f"{b.low!r} {b.low_closed:d} {b.high!r} {b.high_closed:d}" for b in bounds]
    return f"{slot} {outside:d} {constants!r} {stretches}"

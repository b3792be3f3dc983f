"""What literals mean, apart from any dictionary: read off the table that they were entered in, to be given cells later.

A literal keeps its constants as rules name them, and not as any domain orders them: what two constants are to each
other (one double, one moment) is known only beside the others that a dictionary has by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from ruledex.dictionary.domain import ends
from ruledex.dictionary.literal_table import LiteralTable, PositiveLiteral
from ruledex.dictionary.merging import Name, name_of_operand
from ruledex.language.families import constant_family
from ruledex.language.text import to_text
from ruledex.language.tree import (
    Bound,
    CompareOperands,
    Operand,
    Predicate,
    SetTest,
    Value,
)
from ruledex.language.value import Family

SlotOperand: TypeAlias = Operand | CompareOperands | SetTest


class Mark(NamedTuple):
    """A cell that says something of all values of an operand: its word, and a family or the text of a predicate."""

    slot: Name
    word: str  # "not null", "present", "misfit", "settled" or "key"
    what: Family | str | None = None


class Values(NamedTuple):
    """Some values of an operand: constants, and what lies in stretches; or, outside, all others of their domains."""

    slot: Name
    constants: tuple[Value, ...]
    bounds: tuple[Bound, ...]
    outside: bool = False

    def cutting(self) -> list[Value]:
        """All of its constants, as often as it names them."""
        return [*self.constants, *(end for bound in self.bounds for end in ends(bound))]


class Positive(NamedTuple):
    """A positive literal: true of what has the mark, or one of the values."""

    mark: Mark | None
    values: Values | None


class Negative(NamedTuple):
    """A negative literal: true where there is the presence, None for that of every event, and the positive is not."""

    presence: Mark | None
    positive: Positive


class Meanings(NamedTuple):
    """The literals of a Program in the order of their ids, and of its slots what a dictionary needs to know.

    `keys` has a text for each literal, positives first, by which it is found: literals are deep tuples, and to hash
    one takes longer than all else that there is to do with it. Equal texts mean the same.
    """

    positives: list[Positive]
    negatives: list[Negative]
    keys: list[str]
    operands: dict[Name, SlotOperand]
    predicates: dict[Mark, tuple[Predicate, Family]]  # of the marks that are keys


def meanings_of(literals: LiteralTable) -> Meanings:
    """What the literals of a table mean, in the order that its Program has them in."""
    names = [name_of_operand(operand) for operand in literals.operands]
    predicates: dict[Mark, tuple[Predicate, Family]] = {}
    positives = [_meaning(literal, names[literal.slot], predicates) for literal in literals.positives]
    negatives = []
    for positive, (slot, word, family) in literals.negatives():
        presence = None if family is None else Mark(names[slot], word, family)
        negatives.append((positive, Negative(presence, positives[positive])))
    operands: dict[Name, SlotOperand] = dict(zip(names, literals.operands, strict=True))
    keys = _keys_of(positives, negatives)
    return Meanings(positives, [negative for _, negative in negatives], keys, operands, predicates)


def _meaning(literal: PositiveLiteral, name: Name, predicates: dict[Mark, tuple[Predicate, Family]]) -> Positive:
    if literal.not_null:
        return Positive(Mark(name, "not null"), None)
    if literal.key is not None:
        mark, family = Mark(name, "key", to_text(literal.key)), constant_family(literal.key)
        assert family is not None
        predicates[mark] = literal.key, family
        return Positive(mark, None)
    within = literal.within
    assert within is not None
    misfit = None if literal.misfit is None else Mark(name, "misfit", literal.misfit)
    return Positive(misfit, Values(name, within.values, within.bounds, literal.outside))


# Texts, written out: those that named tuples give of themselves take longer than to look them up.


def _keys_of(positives: Sequence[Positive], negatives: Iterable[tuple[int, Negative]]) -> list[str]:
    """A text for each literal, positives first; `negatives` say which of them they negate."""
    keys = [f"{_text_of_mark(mark)}; {_text_of_values(values)}" for mark, values in positives]
    for positive, (presence, _) in negatives:
        keys.append(f"NOT {_text_of_mark(presence)}: {keys[positive]}")
    return keys


def _text_of_mark(mark: Mark | None) -> str:
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

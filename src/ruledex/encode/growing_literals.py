"""What literals mean, apart from any dictionary: read off the cells of a Program, to be given other cells elsewhere.

Rules that come later are encoded by themselves, as any Program is. Its cells are those of its own constants; the ends
of an interval of cells are constants again, and these are what two Programs can have in common.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ruledex.encode.dictionary import Dictionary
from ruledex.encode.domain import Cut, Domain, Kind
from ruledex.encode.merging import Name, name_of
from ruledex.encode.program import EVERY, Program
from ruledex.encode.slot import Slot
from ruledex.language.text import to_text
from ruledex.language.tree import CompareOperands, Operand, Predicate, SetTest
from ruledex.language.value import Family

SlotOperand: TypeAlias = Operand | CompareOperands | SetTest


class Mark(NamedTuple):
    """A cell that says something of all values of an operand: its word, and a family or the text of a predicate."""

    slot: Name
    word: str  # "not null", "present", "misfit", "settled" or "key"
    what: Family | str | None = None


class Stretch(NamedTuple):
    """The values between two constants of a domain; None is the end of the domain."""

    slot: Name
    kind: Kind
    low: Cut | None
    low_closed: bool
    high: Cut | None
    high_closed: bool


class Positive(NamedTuple):
    """A positive literal: true of what has one of the marks, or a value in one of the stretches."""

    marks: tuple[Mark, ...]
    stretches: tuple[Stretch, ...]


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


def meanings_of(program: Program, dictionary: Dictionary) -> Meanings:
    """What the literals of a Program mean."""
    reader = _Reader(dictionary)
    offsets = program.interval_offsets.tolist()
    low, high = program.interval_low.tolist(), program.interval_high.tolist()
    positives = []
    for first, last in pairwise(offsets):
        found = [reader.read(low[at], high[at]) for at in range(first, last)]
        marks = [mark for mark in found if isinstance(mark, Mark)]
        stretches = [stretch for stretch in found if isinstance(stretch, Stretch)]
        positives.append(Positive(tuple(marks), tuple(stretches)))
    negatives = [
        (positive, Negative(reader.mark(presence), positives[positive]))
        for presence, positive in zip(program.negative_presence.tolist(), program.negative_of.tolist(), strict=True)
    ]
    keys = keys_of(positives, negatives)
    return Meanings(positives, [negative for _, negative in negatives], keys, reader.operands, reader.predicates)


def keys_of(positives: Sequence[Positive], negatives: Iterable[tuple[int, Negative]]) -> list[str]:
    """A text for each literal, positives first; `negatives` say which of them they negate."""
    keys = ["; ".join([*map(_text_of_mark, marks), *map(_text_of_stretch, of)]) for marks, of in positives]
    for positive, (presence, _) in negatives:
        keys.append(f"NOT {'' if presence is None else _text_of_mark(presence)}: {keys[positive]}")
    return keys


# Written out: the text that a named tuple gives of itself takes longer than to look it up.


def _text_of_mark(mark: Mark) -> str:
    what = repr(mark.what) if mark.word == "key" else mark.what  # a pattern, else the name of a family
    return f"{mark.slot} {mark.word} {what}"


def _text_of_stretch(stretch: Stretch) -> str:
    slot, kind, low, low_closed, high, high_closed = stretch
    return f"{slot} {kind:d} {low!r} {low_closed:d} {high!r} {high_closed:d}"


class _Reader:
    """Finds out what cells stand for."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.operands: dict[Name, SlotOperand] = {}
        self.predicates: dict[Mark, tuple[Predicate, Family]] = {}
        self._at: dict[int, Mark | tuple[Name, Domain]] = {}
        for slot in dictionary.slots:
            self._add(slot)
        self._starts = sorted(self._at)

    def _add(self, slot: Slot) -> None:
        name = name_of(slot)
        self.operands[name] = slot.operand
        if slot.not_null >= 0:
            self._at[slot.not_null] = Mark(name, "not null")
        for word, cells in (("present", slot.present), ("misfit", slot.misfit), ("settled", slot.settled)):
            self._at.update({cell: Mark(name, word, family) for family, cell in cells.items()})
        for key in slot.keys:
            mark = Mark(name, "key", to_text(key.predicate))
            self._at[key.cell] = mark
            self.predicates[mark] = key.predicate, key.family
        self._at.update({domain.first_cell: (name, domain) for domain in slot.domains.values()})

    def mark(self, cell: int) -> Mark | None:
        """The mark that a cell is; None for that of every event."""
        if cell == EVERY:
            return None
        mark = self._at[cell]
        assert isinstance(mark, Mark)
        return mark

    def read(self, low: int, high: int) -> Mark | Stretch | None:
        """What an interval of cells stands for; None for the doubles of exact constants, which follow from these."""
        found = self._at[self._starts[bisect_right(self._starts, low) - 1]]
        if isinstance(found, Mark):
            return found
        name, domain = found
        if domain.kind is Kind.ROUNDED:
            return None
        first, low_is_point = divmod(low - domain.first_cell, 2)
        last, high_is_point = divmod(high - domain.first_cell, 2)
        below = domain.cuts[first] if low_is_point else domain.cuts[first - 1] if first else None
        above = domain.cuts[last] if last < len(domain.cuts) else None
        return Stretch(name, domain.kind, below, bool(low_is_point), above, bool(high_is_point))

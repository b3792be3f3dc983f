"""The table of distinct literals of all rules, which get their cells at the end.

While rules are added, literals get ids in the order of their first use, and their constants are collected. `finish`
cuts the domains, numbers the cells, and gives each positive literal its intervals of cells. program/program.py says
what positive and negative literals mean.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import AND, CELL, EVERY, NODE, OR, PLACE
from ruledex.dictionary.dictionary import Dictionary, SlotPlan, make_dictionary
from ruledex.dictionary.domain import KIND_OF_TYPE, Kind, Span, cut_of, cuts_of, kind_of, needs_days, spans_of
from ruledex.dictionary.slot import Slot
from ruledex.language.lambdas import not_false_for_some, of_any_element
from ruledex.language.schema import Schema
from ruledex.language.text import operand_text, tree_text
from ruledex.language.tree import (
    Attribute,
    Between,
    CompareOperands,
    Exists,
    Expression,
    IsNull,
    Like,
    Not,
    NullSafe,
    Operand,
    Predicate,
    Rlike,
    SetTest,
    Truth,
    Untrue,
    Value,
    Weak,
    Within,
)
from ruledex.language.value import Family, constant_family

# A leaf of a match tree as literals: the id of one, a constant, or an operation (AND or OR) on several forms.
Form: TypeAlias = "int | bool | tuple[int, list[Form]]"

_AS_THEY_ARE = (Kind.EXACT, Kind.STRING)  # kinds whose constants are cuts themselves; most are of these

Presence: TypeAlias = tuple[int, str, Family | None]  # a slot, what it must have, and of which family
_EVERY: Presence = (-1, "every", None)  # what each event has
Whole: TypeAlias = CompareOperands | SetTest | Exists  # predicates of a whole event, not of one value


@dataclass(slots=True)
class PositiveLiteral:
    """A positive literal before its cells are known."""

    slot: int
    within: Within | None = None  # the values and ranges
    key: Predicate | None = None  # or a predicate with a cell of its own
    not_null: bool = False  # or the presence of any value
    misfit: Family | None = None  # the weak form: values of other families count too
    presence: tuple[str, Family] | None = None  # or what a negative literal needs to be there
    outside: bool = False  # all cells of the family but these


class LiteralArrays(NamedTuple):
    """The literals as a Program has them, and the final id of each id given while building."""

    interval_offsets: NDArray[np.int32]
    interval_low: NDArray[np.int32]
    interval_high: NDArray[np.int32]
    negative_presence: NDArray[np.int32]
    negative_of: NDArray[np.int32]
    final_id: NDArray[np.int32]


class LiteralTable:
    """Distinct literals. Ids are given in the order of first use, positive and negative ones mixed."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._slots: dict[Hashable, int] = {}
        self._asked: list[SlotPlan] = []
        self._ids: dict[Hashable, int] = {}
        self.positives: list[PositiveLiteral] = []
        # One entry per literal: for a positive one its index in `positives` and -1; for a negative one the id of the
        # positive one and the index of its presence.
        self._of = array("i")
        self._presence = array("i")
        self._presences: dict[Presence, int] = {_EVERY: 0}
        self._list_of_presences = [_EVERY]
        self.complement = array("i")  # the literal that is never true together with this one, or -1
        self.is_negative = array("B")

    def __len__(self) -> int:
        return len(self._of)

    def form(self, leaf: Expression) -> Form:
        """Return the literals of a leaf in canonical form (see rewrite/literals.py)."""
        if isinstance(leaf, Within):
            return self._value_set(leaf)
        if isinstance(leaf, Not) and isinstance(leaf.child, Within):
            within = leaf.child
            presence = (self._slot(within.operand), "present", constant_family(within))
            return self._negative(self._value_set(within), presence)
        match leaf:
            case Truth(value):
                return value is True
            case Not(SetTest() as test):
                return self._set_test(test, negated=True)
            case SetTest():
                return self._set_test(leaf, negated=False)
            case Not(CompareOperands() as pair):
                return self._whole(pair, False)
            case CompareOperands():
                return self._whole(leaf, True)
            case Exists():
                return self._some_element(leaf)
            case Not(Exists() as exists):
                there = (self._slot_of_elements(exists), "present", Family.ANY)
                return self._negative(self._some_element(not_false_for_some(exists)), there)
            case Untrue(literal):
                return self._complement(self.form(literal))
            case IsNull(operand):
                return self._negative(self._not_null(operand), _EVERY)
            case Not(IsNull(operand)):
                return self._not_null(operand)
            case Weak(Within() as within):
                family = constant_family(within)
                slot = self._slot(within.operand)
                positive = self._add(f"weak {tree_text(within)}", PositiveLiteral(slot, within, misfit=family))
                return self._negative(positive, _EVERY)
            case Not(NullSafe(operand, value)):
                return self._negative(self._value_set(Within(operand, (value,), ())), _EVERY)
            case Not(child):
                assert isinstance(child, Between | Like | Rlike | Within)
                return self._negative(
                    self._positive(child), (self._slot(child.operand), "present", constant_family(child))
                )
        assert isinstance(leaf, Like | Rlike | Within), leaf
        return self._positive(leaf)

    # Positive literals.

    def _positive(self, predicate: Between | Like | Rlike | Within) -> int:
        return self._value_set(predicate) if isinstance(predicate, Within) else self._key(predicate)

    def _value_set(self, within: Within, outside: bool = False) -> int:
        slot = self._slot(within.operand)
        constants: list[Value | None] = list(within.values)
        for bound in within.bounds:
            low, high = bound.low, bound.high
            if low is not None and high is not None and kind_of(low) is not kind_of(high):
                return self._key(within)  # a range from an exact number to a double lies in no single domain
            constants += (bound.low_closed, low, bound.high_closed, high)
        # 1, 1.0 and TRUE are equal and hash alike, so their types are part of the name.
        name = (slot, outside, len(within.values), *constants, *map(type, constants))
        known = self._ids.get(name)
        return self._add(name, PositiveLiteral(slot, within, outside=outside)) if known is None else known

    def _key(self, predicate: Between | Like | Rlike | Within) -> int:
        return self._add(tree_text(predicate), PositiveLiteral(self._slot(predicate.operand), key=predicate))

    def _not_null(self, operand: Operand) -> int:
        slot = self._slot(operand)
        return self._add((slot, "not null"), PositiveLiteral(slot, not_null=True))

    def _whole(self, predicate: Whole, truth: bool) -> int:
        """Return the literal of a predicate of a whole event: a boolean operand of its own, which must be `truth`."""
        text = tree_text(predicate)
        slot = self._slot_of(f"({text})", predicate)
        operand = predicate.left if isinstance(predicate, CompareOperands) else predicate.operand
        return self._add((slot, truth), PositiveLiteral(slot, Within(operand, (truth,), ())))

    def _some_element(self, exists: Exists) -> int:
        """Return the literal of a lambda: a key of the array's slot, true where the body is of some element."""
        return self._add(tree_text(exists), PositiveLiteral(self._slot_of_elements(exists), key=exists))

    def _slot_of_elements(self, exists: Exists) -> int:
        array = of_any_element(exists)
        return self._slot_of((tree_text(array),), array)

    def _set_test(self, test: SetTest, negated: bool) -> Form:
        """Return the literals of a set test, by the values inside and outside of the set.

        subset_of(x, S)      settled, and no value outside S        its negation: a value outside S
        superset_of(x, S)    each of S                              its negation: settled, and one of S not there
        """
        kinds = {kind_of(value) for value in test.values}
        if len(kinds) > 1 or Kind.ADDRESS in kinds:
            return self._whole(test, not negated)  # the values outside are not the cells of one domain
        settled = (self._slot(test.operand), "settled", constant_family(test))
        values = tuple(dict.fromkeys(test.values))
        stranger = self._value_set(Within(test.operand, values, ()), outside=True)
        each = [self._value_set(Within(test.operand, (value,), ())) for value in values]
        subset: Form = stranger if negated else self._negative(stranger, settled)
        superset: Form = (OR, [self._negative(literal, settled) for literal in each]) if negated else (AND, list(each))
        if test.test == "subset_of":
            return subset
        return superset if test.test == "superset_of" else (OR if negated else AND, [subset, superset])

    # Negative literals.

    def _complement(self, form: Form) -> Form:
        """Return what is true where a form is not."""
        if isinstance(form, bool):
            return not form
        if isinstance(form, tuple):
            operation, parts = form
            return (OR if operation == AND else AND, [self._complement(part) for part in parts])
        if not self.is_negative[form]:
            return self._negative(form, _EVERY)
        slot, word, family = self._list_of_presences[self._presence[form]]
        if family is None:
            return self._of[form]
        presence = self._add((slot, word, family), PositiveLiteral(slot, presence=(word, family)))
        return (OR, [self._of[form], self._negative(presence, _EVERY)])

    def _negative(self, positive: int, presence: Presence) -> int:
        slot, word, family = presence
        name = (positive, presence)
        known = self._ids.get(name)
        if known is None:
            known = self._ids[name] = len(self._of)
            self._of.append(positive)
            if presence not in self._presences:
                self._presences[presence] = len(self._presences)
                self._list_of_presences.append(presence)
            self._presence.append(self._presences[presence])
            self.complement.append(positive)
            self.is_negative.append(1)
            if self.complement[positive] < 0:
                self.complement[positive] = known
            if family is not None:
                self._ask_presence(slot, word, family)
        return known

    def _add(self, name: Hashable, positive: PositiveLiteral) -> int:
        known = self._ids.get(name)
        if known is None:
            known = self._ids[name] = len(self._of)
            self._of.append(len(self.positives))
            self._presence.append(-1)
            self.complement.append(-1)
            self.is_negative.append(0)
            self.positives.append(positive)
        return known

    def _ask_presence(self, slot: int, word: str, family: Family) -> None:
        (self._asked[slot].present if word == "present" else self._asked[slot].settled).add(family)

    def _ask(self, positive: PositiveLiteral) -> None:
        """Add the cells that a literal needs to the plan of its slot."""
        asked = self._asked[positive.slot]
        asked.not_null |= positive.not_null
        if positive.presence is not None:
            self._ask_presence(positive.slot, *positive.presence)
        if positive.misfit is not None:
            asked.misfit.add(positive.misfit)
        if positive.key is not None:
            asked.keys[tree_text(positive.key)] = positive.key
        if positive.within is not None:
            for value in positive.within.values:
                self._cut(asked, value)
            for bound in positive.within.bounds:
                if bound.low is not None:
                    self._cut(asked, bound.low)
                if bound.high is not None:
                    self._cut(asked, bound.high)

    def _cut(self, asked: SlotPlan, value: Value) -> None:
        kind = KIND_OF_TYPE[type(value)]
        known = asked.cuts.get(kind)
        if known is None:
            known = asked.cuts[kind] = set()
        if kind in _AS_THEY_ARE:
            known.add(value)
            return
        known.update(cuts_of(value, kind, self.schema.zone))
        if needs_days(value, self.schema.zone):
            asked.cuts.setdefault(Kind.DATE, set()).add(cut_of(value, Kind.DATE, self.schema.zone))

    def _slot(self, operand: Operand) -> int:
        return self._slot_of(operand.path if isinstance(operand, Attribute) else operand_text(operand), operand)

    def _slot_of(self, name: Hashable, operand: Operand | Whole) -> int:
        known = self._slots.get(name)
        if known is None:
            known = self._slots[name] = len(self._asked)
            self._asked.append(SlotPlan(operand))
        return known

    @property
    def operands(self) -> list[Operand | Whole]:
        """The operands of all slots."""
        return [asked.operand for asked in self._asked]

    def negatives(self) -> list[tuple[int, Presence]]:
        """Return for each negative literal, by id, the index of the positive one that it negates, and its presence."""
        presences = list(self._presences)
        found = zip(self._of, self._presence, strict=True)
        return [(self._of[positive], presences[at]) for positive, at in found if at >= 0]

    def final_ids(self) -> NDArray[np.int32]:
        """Return the final id of each literal: positive literals come first."""
        of, presence = np.array(self._of, NODE), np.array(self._presence, np.int32)
        is_negative = presence >= 0
        final = np.where(is_negative, len(self.positives) - 1 + np.cumsum(is_negative, dtype=NODE), of)
        return final.astype(NODE)

    def finish(self) -> tuple[LiteralArrays, Dictionary]:
        """Cut the domains, number the cells and give each literal its cells. Nothing may be added afterwards."""
        for positive in self.positives:
            self._ask(positive)
        dictionary = make_dictionary(self.schema, self._asked)
        slots = dictionary.slots
        keys = [{tree_text(key.predicate): key.cell for key in slot.keys} for slot in slots]
        offsets, lows, highs = array("q", [0]), array("i"), array("i")
        for positive in self.positives:
            for low, high in _intervals(positive, slots[positive.slot], keys[positive.slot]):
                lows.append(low)
                highs.append(high)
            offsets.append(len(lows))
        presence_cells = np.array([_presence_cell(slots, presence) for presence in self._presences], CELL)
        of, presence = np.array(self._of, NODE), np.array(self._presence, np.int32)
        is_negative = presence >= 0
        final = self.final_ids()
        arrays = LiteralArrays(
            np.array(offsets, PLACE),
            np.array(lows, CELL),
            np.array(highs, CELL),
            presence_cells[presence[is_negative]],
            final[of[is_negative]],
            final,
        )
        return arrays, dictionary


def _presence_cell(slots: Sequence[Slot], presence: Presence) -> int:
    slot, word, family = presence
    if family is None:
        return EVERY
    return (slots[slot].present if word == "present" else slots[slot].settled)[family]


def _intervals(positive: PositiveLiteral, slot: Slot, keys: dict[str, int]) -> list[Span]:
    if positive.not_null:
        return [(slot.not_null, slot.not_null)]
    if positive.presence is not None:
        cell = _presence_cell([slot], (0, *positive.presence))
        return [(cell, cell)]
    if positive.key is not None:
        cell = keys[tree_text(positive.key)]
        return [(cell, cell)]
    assert positive.within is not None
    plain = None if positive.outside or positive.misfit is not None else _plain_spans(positive.within, slot)
    if plain is not None:
        return plain
    spans = spans_of(positive.within.values, positive.within.bounds, slot.domains, slot.schema.zone)
    if positive.outside:
        return [span for domain, inside in spans.items() for span in domain.outside(inside)]
    misfit = [] if positive.misfit is None else [(slot.misfit[positive.misfit],) * 2]
    return [*misfit, *(span for inside in spans.values() for span in inside)]


def _plain_spans(within: Within, slot: Slot) -> list[Span] | None:
    """Return the cells of integers or strings that lie in one domain, the usual case; None for all other sets."""
    values, bounds = within.values, within.bounds
    if len(bounds) + bool(values) != 1 or Kind.ROUNDED in slot.domains:
        return None
    if values:
        kinds = set(map(type, values))
        if kinds not in ({int}, {str}):
            return None
        cell_of = slot.domains[KIND_OF_TYPE[type(values[0])]].cell
        return [(cell, cell) for cell in sorted(map(cell_of, values))]
    (bound,) = bounds
    kinds = {type(bound.low), type(bound.high)}
    if not kinds <= {int, type(None)}:
        return None
    span = slot.domains[Kind.EXACT].span(bound.low, bound.low_closed, bound.high, bound.high_closed)
    return [] if span is None else [span]

"""The table of distinct literals of all rules, which get their cells at the end.

While rules are added, literals get ids in the order of their first use, and their constants are collected. `finish`
cuts the domains, numbers the cells, and gives each positive literal its intervals of cells. program/program.py says
what positive and negative literals mean.

A table of many literals keeps the plain ones as arrays (plain_literals.py). Until then, each is an object.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import lengthen
from ruledex.compiled.constants import AND, CELL, NODE, OR, PLACE
from ruledex.dictionary.dictionary import Dictionary, make_dictionary
from ruledex.dictionary.domain import KIND_OF_TYPE, Kind, cut_of, cuts_of, kind_of, needs_days
from ruledex.dictionary.literal_cells import (
    PlainCells,
    PositiveLiteral,
    Presence,
    cell_intervals,
    intervals_of_literals,
    presence_cells,
)
from ruledex.dictionary.plain_literals import (
    FAMILIES,
    N_FAMILIES,
    N_LITERALS,
    N_NEW_PRESENCES,
    N_NEW_SLOTS,
    N_POSITIVES,
    NO_LITERAL,
    NOT_NULL,
    LiteralColumns,
    PlainLiterals,
    Predicates,
    SlotRows,
    add_record,
    make_literals,
)
from ruledex.dictionary.slot import SlotPlan
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

_EVERY: Presence = (-1, "every", None)  # what each event has
Whole: TypeAlias = CompareOperands | SetTest | Exists  # predicates of a whole event, not of one value


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
        self._positives: list[PositiveLiteral | None] = []  # None for those that are arrays
        # One entry per literal: for a positive one its index in `positives` and -1; for a negative one the id of the
        # positive one and the index of its presence.
        self._of = array("i")
        self._presence = array("i")
        self._presences: dict[Presence, int] = {_EVERY: 0}
        self._list_of_presences = [_EVERY]
        self.complement = array("i")  # the literal that is never true together with this one, or -1
        self.is_negative = array("B")
        # The negations of each literal: where its operand has a value of its family, and in every event; or -1.
        self._negation = array("i")
        self._absence = array("i")
        self._plain: PlainLiterals | None = None
        self._attributes: dict[tuple[str, ...], int] = {}  # of plain predicates
        self._list_of_attributes: list[Attribute] = []

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
        if known is not None:
            return known
        record = None if self._plain is None or outside else self._plain.record_of(within)
        if record is not None:
            known = self._ids[name] = self._add_record(slot, *record)
            return known
        return self._add(name, PositiveLiteral(slot, within, outside=outside))

    def _key(self, predicate: Between | Like | Rlike | Within) -> int:
        return self._add(tree_text(predicate), PositiveLiteral(self._slot(predicate.operand), key=predicate))

    def _not_null(self, operand: Operand) -> int:
        slot = self._slot(operand)
        if self._plain is not None:
            return self._add_record(slot, N_FAMILIES * NOT_NULL, [])
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
        """Return the negation of a literal where something is present. A literal has at most one "present"."""
        slot, word, family = presence
        name = (positive, presence)
        if word == "settled":
            known = self._ids.get(name, NO_LITERAL)
        else:
            known = (self._absence if family is None else self._negation)[positive]
        if known == NO_LITERAL:
            known = len(self._of)
            if presence not in self._presences:
                self._presences[presence] = len(self._presences)
                self._list_of_presences.append(presence)
                if self._plain is not None and word == "present" and family in FAMILIES:
                    self._plain.presences[slot, FAMILIES.index(family)] = self._presences[presence]
            self._append(positive, self._presences[presence], positive, is_negative=1)
            if self.complement[positive] < 0:
                self.complement[positive] = known
            if word == "settled":
                self._ids[name] = known
            else:
                (self._absence if family is None else self._negation)[positive] = known
            if family is not None:
                self._ask_presence(slot, word, family)
        return known

    def _add(self, name: Hashable, positive: PositiveLiteral) -> int:
        known = self._ids.get(name)
        if known is None:
            known = self._ids[name] = len(self._of)
            n_positives = len(self._positives)
            self._append(n_positives, -1, NO_LITERAL, is_negative=0)
            self._positives.append(positive)
            if self._plain is not None:
                self._plain.add_odd(n_positives)
        return known

    def _append(self, of: int, presence: int, complement: int, is_negative: int) -> None:
        self._of.append(of)
        self._presence.append(presence)
        self.complement.append(complement)
        self.is_negative.append(is_negative)
        self._negation.append(NO_LITERAL)
        self._absence.append(NO_LITERAL)

    # Plain literals.

    def keep_plain(self) -> PlainLiterals:
        """Keep plain literals as arrays from now on, those that there are included."""
        if self._plain is not None:
            return self._plain
        plain = self._plain = PlainLiterals()
        plain.presences = np.full((len(self._asked) + 1, N_FAMILIES), -1, np.int32)
        for (slot, word, family), number in self._presences.items():
            if word == "present" and family in FAMILIES:
                plain.presences[slot, FAMILIES.index(family)] = number
        ids = np.flatnonzero(np.array(self._presence, np.int32) < 0).tolist()
        for number, (literal, positive) in enumerate(zip(ids, self._positives, strict=True)):
            assert positive is not None
            record = None
            if positive.not_null:
                record = N_FAMILIES * NOT_NULL, list[int]()
            elif positive.within is not None and positive.misfit is None and not positive.outside:
                record = plain.record_of(positive.within)
            if record is None:
                plain.add_odd(number)
            else:
                plain.add_known(number, literal, positive.slot, *record)
                self._positives[number] = None
        return plain

    def attribute_number(self, attribute: Attribute) -> int:
        """Return the number by which plain predicates name an attribute."""
        assert self._plain is not None
        known = self._attributes.get(attribute.path)
        if known is None:
            known = self._attributes[attribute.path] = len(self._attributes)
            self._list_of_attributes.append(attribute)
            self._plain.add_attribute(known, self._slots.get(attribute.path, -1))
        return known

    def add_plain(
        self, predicates: Predicates, first: int, last: int, positive: NDArray[np.int32], negative: NDArray[np.int32]
    ) -> None:
        """Write the literals of plain predicates and of their negations, as far as these are used."""
        plain = self._plain
        assert plain is not None
        n_more = last - first
        n_constants = int(predicates.offsets[last] - predicates.offsets[first])
        n_slots = len(self._asked)
        counts = np.array([len(self), len(self._positives), n_slots, len(self._presences), 0, 0])
        records = plain.make_room(len(self._positives), n_more, n_constants)
        plain.presences = lengthen(plain.presences, n_slots + n_more)
        new_slots, new_presences = np.empty(n_more, np.int32), np.empty(n_more, np.int32)
        slots = SlotRows(plain.slot_of, plain.presences, new_slots, new_presences)
        columns = self._with_room(2 * n_more)
        make_literals(predicates, first, last, records, columns, slots, counts, positive, negative)
        del columns
        self._cut_off(counts)
        for number in new_slots[: counts[N_NEW_SLOTS]].tolist():
            attribute = self._list_of_attributes[number]
            self._slots[attribute.path] = len(self._asked)
            self._asked.append(SlotPlan(attribute))
        for code in new_presences[: counts[N_NEW_PRESENCES]].tolist():
            slot, family = code // N_FAMILIES, FAMILIES[code % N_FAMILIES]
            assert family is not None
            self._presences[slot, "present", family] = len(self._presences)
            self._list_of_presences.append((slot, "present", family))
            self._ask_presence(slot, "present", family)

    def _add_record(self, slot: int, shape: int, constants: list[int]) -> int:
        assert self._plain is not None
        n_positives = len(self._positives)
        records = self._plain.make_room(n_positives, 1, len(constants))
        start = records.offsets[n_positives]
        records.constants[start : start + len(constants)] = constants
        counts = np.array([len(self), n_positives, 0, 0, 0, 0])
        columns = self._with_room(1)
        literal = add_record(records, columns, counts, shape, slot, len(constants))
        del columns
        self._cut_off(counts)
        return literal

    def _with_room(self, n_more: int) -> LiteralColumns:
        """Return the columns as arrays that have room for more literals. They must be dropped before `_cut_off`."""
        for column in (self._of, self._presence, self.complement, self._negation, self._absence):
            column.frombytes(bytes(4 * n_more))
        self.is_negative.frombytes(bytes(n_more))
        return LiteralColumns(
            np.frombuffer(self._of, np.int32),
            np.frombuffer(self._presence, np.int32),
            np.frombuffer(self.complement, np.int32),
            np.frombuffer(self.is_negative, np.uint8),
            np.frombuffer(self._negation, np.int32),
            np.frombuffer(self._absence, np.int32),
        )

    def _cut_off(self, counts: NDArray[np.int64]) -> None:
        """Drop the room that was not used, and count new positive literals."""
        n_literals = int(counts[N_LITERALS])
        for column in (self._of, self._presence, self.complement, self.is_negative, self._negation, self._absence):
            del column[n_literals:]
        self._positives += [None] * int(counts[N_POSITIVES] - len(self._positives))

    @property
    def n_positives(self) -> int:
        """The number of positive literals."""
        return len(self._positives)

    @property
    def positives(self) -> list[PositiveLiteral]:
        """The positive literals as objects."""
        return [self._positive_at(number) for number in range(len(self._positives))]

    def _positive_at(self, number: int) -> PositiveLiteral:
        known = self._positives[number]
        if known is not None:
            return known
        assert self._plain is not None
        slot, operation = self._plain.slot_and_operation(number)
        if operation == NOT_NULL:
            return PositiveLiteral(slot, not_null=True)
        return PositiveLiteral(slot, self._plain.within(number, self._asked[slot].operand))

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
            if self._plain is not None:
                attribute = self._attributes.get(operand.path) if isinstance(operand, Attribute) else None
                self._plain.add_slot(known, attribute)
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
        final = np.where(is_negative, len(self._positives) - 1 + np.cumsum(is_negative, dtype=NODE), of)
        return final.astype(NODE)

    def finish(self) -> tuple[LiteralArrays, Dictionary]:
        """Cut the domains, number the cells and give each literal its cells. Nothing may be added afterwards."""
        plain = None if self._plain is None else PlainCells(self._plain, len(self._positives))
        for positive in filter(None, self._positives):
            self._ask(positive)
        if plain is not None:
            plain.ask(self._asked)
        dictionary = make_dictionary(self.schema, self._asked)
        slots = dictionary.slots
        special = range(len(self._positives)) if plain is None else plain.special(slots).tolist()
        found = intervals_of_literals([self._positive_at(number) for number in special], slots)
        intervals = plain.intervals(slots, dict(zip(special, found, strict=True))) if plain else cell_intervals(found)
        cells = np.array(presence_cells(slots, self._presences), CELL)
        of, presence = np.array(self._of, NODE), np.array(self._presence, np.int32)
        is_negative, final = presence >= 0, self.final_ids()
        arrays = LiteralArrays(
            intervals.offsets.astype(PLACE),
            intervals.low.astype(CELL),
            intervals.high.astype(CELL),
            cells[presence[is_negative]],
            final[of[is_negative]],
            final,
        )
        return arrays, dictionary

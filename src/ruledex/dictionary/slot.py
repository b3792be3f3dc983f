"""A slot: one operand of the rules, and the cells of its values in an event.

Beside the cells of its values an operand has cells that say which types of values it has. Each is made only if a
literal needs it:

    not_null        it has a value of any type                               IS NOT NULL
    present[f]      it has a value of the family f                           x NOT IN (…)
    misfit[f]       it has values, and none of the family f                  what the weak form excludes
    settled[f]      it has a value of f, or is an empty array                subset_of(x, …)
    keys            one cell per predicate that no domain can answer         LIKE, RLIKE
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import EVERY
from ruledex.dictionary.domain import TWINS, Cut, Domain, Kind, cut_of, twin_cuts
from ruledex.dictionary.patterns import PatternMatcher
from ruledex.dictionary.remembered import Remembered
from ruledex.forks import cached_property
from ruledex.language.reference import satisfies
from ruledex.language.resolve import Prepared, prepare
from ruledex.language.schema import Schema
from ruledex.language.tree import CompareOperands, Exists, Like, Operand, Predicate, Rlike, SetTest
from ruledex.language.value import FAMILY_OF_TYPE, Family, as_double, constant_family, fit, instant, is_missing

KINDS_OF_FAMILY: Final[dict[Family, tuple[Kind, ...]]] = {
    Family.NUMBER: (Kind.EXACT, Kind.ROUNDED, Kind.DOUBLE),
    Family.STRING: (Kind.STRING,),
    Family.BOOLEAN: (Kind.BOOLEAN,),
    Family.TIME: (Kind.TIME, Kind.DATE),
    Family.VERSION: (Kind.VERSION,),
    Family.MAVEN: (Kind.MAVEN,),
    Family.ADDRESS: (Kind.ADDRESS,),
}
_FAMILY_OF_KIND: Final = {kind: family for family, kinds in KINDS_OF_FAMILY.items() for kind in kinds}


class Key(NamedTuple):
    """A predicate that is tested on each value, and the cell of the values that satisfy it."""

    predicate: Predicate
    family: Family
    cell: int


class StoredElements(NamedTuple):
    """The index of the lambdas of one slot as it lies on disk."""

    arrays: Mapping[str, NDArray[Any]]
    document: Mapping[str, Any]
    key_cells: NDArray[np.int32]
    paths: list[tuple[str, ...]]  # into the event that the lambdas use
    uses_now: bool


class Slot:
    """One operand, or one predicate of a whole event, and its cells. Immutable but for what it remembers."""

    def __init__(self, operand: Operand | CompareOperands | SetTest | Exists, schema: Schema) -> None:
        self.operand = operand
        self.schema = schema
        self.domains: dict[Kind, Domain] = {}
        self.not_null = -1
        self.present: dict[Family, int] = {}
        self.misfit: dict[Family, int] = {}
        self.settled: dict[Family, int] = {}
        self.keys: Sequence[Key] = ()
        # Of a slot of lambdas: their index, which events/elements.py makes, and what is on disk of it.
        self.element_index: Any = None
        self.stored_elements: StoredElements | None = None
        self._remembered: Remembered | None = None  # made for the first value: an event needs few slots of many
        self._known: dict[type, dict[Any, tuple[int, ...]]] = {}  # its tables
        self._families: tuple[Family, ...] = ()
        self._misfits: frozenset[int] = frozenset()

    @property
    def known(self) -> dict[type, dict[Any, tuple[int, ...]]]:
        """The cells of values that were seen before, by type and value. It stays the same object once it has any."""
        return self._known

    def key_cells(self) -> list[int]:
        """Return the cells of all keys. Makes no key."""
        stored = self.stored_elements
        return [key.cell for key in self.keys] if stored is None else stored.key_cells.tolist()

    def finish(self) -> None:
        """Finish the slot, after all domains and special cells were added."""
        if isinstance(self.operand, Exists):  # its elements have families, not the array
            return
        asked = {_FAMILY_OF_KIND[kind] for kind in self.domains}
        asked.update(self.present, self.misfit, self.settled, [key.family for key in self.keys])
        self._families = tuple(sorted(asked))
        self._misfits = frozenset(self.misfit.values())

    def cells(self, value: Any) -> tuple[int, ...] | list[int]:
        """Return the cells of an operand's value in an event: a scalar, an array, or None."""
        known = self._known.get(type(value))
        if known is not None:
            try:
                cells = known.get(value)
            except TypeError:  # a signalling NaN, which has no hash
                return ()
            if cells is not None:
                return cells
        elif isinstance(value, list | tuple):
            return self._cells_of_array(value)
        return self._remember(value)

    def _remember(self, value: Any) -> tuple[int, ...]:
        if is_missing(value):
            return ()
        cells = self.cells_of_scalar(value)
        if type(value) in _HASHABLE:
            if self._remembered is None:
                self._remembered = Remembered()
                self._known = self._remembered.tables
            self._remembered.remember(value, value, cells)
        return cells

    def _cells_of_array(self, elements: Iterable[Any]) -> list[int]:
        given = list(elements)
        values = [element for element in given if not is_missing(element)]
        if not given:
            return list(self.settled.values())
        if len(values) > 1 and self._is_single():
            return list(self._untyped())
        each = [self.cells(value) if not isinstance(value, list | tuple) else self._untyped() for value in values]
        # An array misfits a family where all of its elements do.
        misfits = self._misfits.intersection(*each) if each else frozenset()
        return [*{cell for cells in each for cell in cells if cell not in self._misfits}, *misfits]

    def _is_single(self) -> bool:
        return not isinstance(self.operand, CompareOperands | SetTest | Exists) and self.schema.is_single(self.operand)

    def _untyped(self) -> tuple[int, ...]:
        """Return the cells of a value that no rule can name, such as a struct."""
        return (*((self.not_null,) if self.not_null >= 0 else ()), *self._misfits)

    def cells_of_scalar(self, value: Any) -> tuple[int, ...]:
        """Return the cells of a value that is neither an array nor missing, without remembering them."""
        cells = [self.not_null] if self.not_null >= 0 else []
        own = FAMILY_OF_TYPE.get(type(value))
        for family in self._families:
            if family is Family.TIME:  # which a text may be, too
                fitted = fit(value, family, self.schema.zone)
            else:
                fitted = value if own is family or family is Family.ANY else None
            if fitted is None:
                cells += [self.misfit[family]] if family in self.misfit else []
                continue
            cells += [special[family] for special in (self.present, self.settled) if family in special]
            cells += self._in_domains(fitted, family)
            cells += self._in_keys(fitted, family)
        return tuple(cells)

    def _in_keys(self, value: Any, family: Family) -> Iterable[int]:
        if not self.keys:
            return []
        others = [k.cell for k in self._plain_keys[family] if satisfies(value, k.predicate, self.schema)]
        return [*others, *self._patterns.cells(value)] if family is Family.STRING else others

    @cached_property
    def prepared(self) -> Prepared | None:
        """The operand, ready for events with a plain value, if it is a function of one attribute."""
        assert not isinstance(self.operand, CompareOperands | SetTest | Exists)
        return prepare(self.operand, self.schema)

    @cached_property
    def _patterns(self) -> PatternMatcher:
        """Made for the first text, so that an index of patterns opens without it."""
        return PatternMatcher((p, cell) for p, _, cell in self.keys if isinstance(p, Like | Rlike))

    @cached_property
    def _plain_keys(self) -> dict[Family, list[Key]]:
        plain = [key for key in self.keys if not isinstance(key.predicate, Like | Rlike)]
        return {family: [key for key in plain if key.family is family] for family in Family}

    def _in_domains(self, value: Any, family: Family) -> Iterable[int]:
        for kind in KINDS_OF_FAMILY[family]:
            domain = self.domains.get(kind)
            if domain is None or not self._is_found_in(kind, type(value)):
                continue
            if kind is Kind.EXACT and isinstance(value, float):
                yield domain.cell_of_double(value)
            elif kind is Kind.TIME:
                yield domain.cell(self.moment_of(value))
            else:
                is_cut = kind is Kind.EXACT or kind is Kind.STRING
                yield domain.cell(value if is_cut else cut_of(value, kind, self.schema.zone))

    def moment_of(self, value: date | datetime) -> int:
        """Return a date or time as the domain of times orders it."""
        return instant(value, self.schema.zone)

    def _is_found_in(self, kind: Kind, type_: type) -> bool:
        """Return whether values of a type have cells in a domain, and not in its twin."""
        twin = TWINS.get(kind)
        if twin is not None:
            return twin not in self.domains or type_ is not _OF_TWIN[twin]
        return kind not in _OF_TWIN or type_ is _OF_TWIN[kind]


_OF_TWIN: Final = {Kind.ROUNDED: float, Kind.DATE: date}
_HASHABLE: Final = frozenset((int, float, str, bool, Decimal, date))


@dataclass(slots=True)
class SlotPlan:
    """The cells that literals need of one operand."""

    operand: Operand | CompareOperands | SetTest | Exists
    # All kinds but ROUNDED, which follows from EXACT. Cuts of DATE may be incomplete: the others follow from TIME.
    cuts: dict[Kind, set[Cut]] = field(default_factory=dict)
    not_null: bool = False
    present: set[Family] = field(default_factory=set)
    misfit: set[Family] = field(default_factory=set)
    settled: set[Family] = field(default_factory=set)
    keys: dict[str, Predicate] = field(default_factory=dict)  # by their texts
    sorted_cuts: dict[Kind, list[Cut]] = field(default_factory=dict)  # of other kinds: ascending, none twice


def make_slots(schema: Schema, plans: Iterable[SlotPlan]) -> tuple[list[Slot], list[int], int]:
    """Return one slot per plan, the offsets of their domains of cells, and the number of cells. `EVERY` comes first."""
    slots = []
    domain_offsets = [EVERY]
    next_cell = EVERY + 1

    def take(n_cells: int) -> int:
        nonlocal next_cell
        domain_offsets.append(next_cell)
        next_cell += n_cells
        return domain_offsets[-1]

    for plan in plans:
        slot = Slot(plan.operand, schema)
        slot.not_null = take(1) if plan.not_null else -1
        for special, families in (
            (slot.present, plan.present),
            (slot.misfit, plan.misfit),
            (slot.settled, plan.settled),
        ):
            special.update({family: take(1) for family in sorted(families)})
        slot.keys = [_key(predicate, take(1)) for predicate in plan.keys.values()]
        for kind, cuts in sorted(_sorted_cuts(plan, schema).items()):
            slot.domains[kind] = Domain(kind, cuts, take(2 * len(cuts) + 1))
        slot.finish()
        slots.append(slot)
    domain_offsets.append(next_cell)
    return slots, domain_offsets, next_cell


def _key(predicate: Predicate, cell: int) -> Key:
    family = constant_family(predicate)
    assert family is not None
    return Key(predicate, family, cell)


def _sorted_cuts(plan: SlotPlan, schema: Schema) -> dict[Kind, list[Cut]]:
    cuts = {kind: sorted(values) for kind, values in plan.cuts.items()} | plan.sorted_cuts
    exact = cuts.get(Kind.EXACT, [])
    if not _are_doubles(exact) and len(rounded := {as_double(number) for number in exact}) < len(exact):
        cuts[Kind.ROUNDED] = sorted(rounded)
    if Kind.DATE in plan.cuts:
        days = plan.cuts[Kind.DATE].union(*(twin_cuts(moment, Kind.DATE, schema.zone) for moment in cuts[Kind.TIME]))
        cuts[Kind.DATE] = sorted(days)
    return cuts


def _are_doubles(exact: list[Cut]) -> bool:
    """Return whether each of these numbers, which ascend, is surely a double of its own."""
    return len(exact) < 2 or (exact[0] >= -(2**53) and exact[-1] <= 2**53 and set(map(type, exact)) == {int})

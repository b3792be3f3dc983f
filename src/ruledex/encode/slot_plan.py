"""What literals ask of each operand, and the dictionary that answers all of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import tzinfo

from ruledex.encode.dictionary import Dictionary
from ruledex.encode.domain import Cut, Domain, Kind, twin_cuts
from ruledex.encode.program import EVERY
from ruledex.encode.slot import Key, Slot
from ruledex.language.families import constant_family
from ruledex.language.schema import Schema
from ruledex.language.tree import CompareOperands, Operand, Predicate, SetTest
from ruledex.language.value import Family, as_double


@dataclass(slots=True)
class SlotPlan:
    """The cells that a slot is to have."""

    operand: Operand | CompareOperands | SetTest
    # Of all kinds but ROUNDED, which follows from EXACT. Of DATE some or all: the others follow from TIME.
    cuts: dict[Kind, set[Cut]] = field(default_factory=dict)
    not_null: bool = False
    present: set[Family] = field(default_factory=set)
    misfit: set[Family] = field(default_factory=set)
    settled: set[Family] = field(default_factory=set)
    keys: dict[str, Predicate] = field(default_factory=dict)  # by their texts


def make_dictionary(schema: Schema, plans: Iterable[SlotPlan]) -> Dictionary:
    """Cut the domains and number the cells: slot after slot in the order given, and within a slot always alike."""
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
        for predicate in plan.keys.values():
            family = constant_family(predicate)
            assert family is not None
            slot.keys.append(Key(predicate, family, take(1)))
        for kind, cuts in sorted(_sorted_cuts(plan.cuts, schema.zone).items()):
            slot.domains[kind] = Domain(kind, cuts, take(2 * len(cuts) + 1))
        slot.finish()
        slots.append(slot)
    domain_offsets.append(next_cell)
    return Dictionary(schema, slots, next_cell, domain_offsets)


def _sorted_cuts(given: dict[Kind, set[Cut]], zone: tzinfo) -> dict[Kind, list[Cut]]:
    cuts = {kind: sorted(values) for kind, values in given.items()}
    exact = cuts.get(Kind.EXACT, [])
    rounded = {as_double(number) for number in exact}
    if len(rounded) < len(exact):
        cuts[Kind.ROUNDED] = sorted(rounded)
    if Kind.DATE in given:
        days = given[Kind.DATE].union(*(twin_cuts(moment, Kind.DATE, zone) for moment in cuts[Kind.TIME]))
        cuts[Kind.DATE] = sorted(days)
    return cuts

"""Merge several dictionaries into one, and map the cells of each to those of the merged one.

Parts of the rules that are compiled apart become shards of one index, and events are encoded once for all of them. A
part's domain has some of the cuts of the merged one, so a gap between two of its constants becomes a run of cells, and
a point stays a point:

    part        …   10   …                20   …
    merged      …   10   …   12   …   15  …  20   …
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL, EVERY
from ruledex.dictionary.dictionary import Dictionary, make_dictionary
from ruledex.dictionary.domain import TWINS, Cut, Domain, Kind, days_around
from ruledex.dictionary.slot import Slot, SlotPlan
from ruledex.errors import RuledexError
from ruledex.language.text import operand_text, tree_text
from ruledex.language.tree import CompareOperands, Exists, Operand, SetTest
from ruledex.language.value import as_double

Name = tuple[bool, str]
Cells = NDArray[np.int32]

NOWHERE = -1


class CellMap(NamedTuple):
    """For each cell of a part, its first and its last cell in the merged dictionary.

    A domain without a twin in its part may have one in the merged dictionary: exact constants need a twin if those of
    another part round to the same doubles, and times need one if another part names a date that the zone skipped. Such
    cells also have cells in the twin, `twin_first` to `twin_last`, or none if the last lies before the first. All
    others have `NOWHERE` there.
    """

    first: Cells
    last: Cells
    twin_first: Cells
    twin_last: Cells


def merge_dictionaries(dictionaries: Sequence[Dictionary]) -> Dictionary:
    """Return a dictionary with the cells that any of the given ones needs. It does not depend on their order."""
    if not dictionaries:
        raise RuledexError("there is no dictionary to merge")
    schema = dictionaries[0].schema
    if any(dictionary.schema.to_mapping() != schema.to_mapping() for dictionary in dictionaries):
        raise RuledexError("dictionaries of different schemas cannot be merged")
    plans: dict[Name, SlotPlan] = {}
    for dictionary in dictionaries:
        for slot in dictionary.slots:
            _add(plans.setdefault(name_of(slot), SlotPlan(slot.operand)), slot)
    for plan in plans.values():
        plan.keys = dict(sorted(plan.keys.items()))
    return make_dictionary(schema, (plans[name] for name in sorted(plans)))


def name_of(slot: Slot) -> Name:
    """Return the name of a slot, which tells slots apart."""
    return name_of_operand(slot.operand)


def name_of_operand(operand: Operand | CompareOperands | SetTest | Exists) -> Name:
    """Return the name of an operand's slot: whether it is a predicate, which may read like an operand, and its text."""
    if isinstance(operand, CompareOperands | SetTest | Exists):
        return True, tree_text(operand)
    return False, operand_text(operand)


def _add(plan: SlotPlan, slot: Slot) -> None:
    plan.not_null |= slot.not_null >= 0
    plan.present |= slot.present.keys()
    plan.misfit |= slot.misfit.keys()
    plan.settled |= slot.settled.keys()
    plan.keys |= {tree_text(key.predicate): key.predicate for key in slot.keys}
    for kind, domain in slot.domains.items():
        if kind is not Kind.ROUNDED:
            plan.cuts.setdefault(kind, set()).update(domain.cuts)


def cell_map(part: Dictionary, merged: Dictionary) -> CellMap:
    """Return where the cells of one of the merged dictionaries went."""
    found = CellMap(*(np.full(part.n_cells, NOWHERE, CELL) for _ in CellMap._fields))
    found.first[EVERY] = found.last[EVERY] = EVERY
    places = {name_of(slot): slot for slot in merged.slots}
    for slot in part.slots:
        try:
            _map_slot(slot, places[name_of(slot)], found)
        except KeyError as error:
            raise RuledexError(f"the merged dictionary lacks {error} of {name_of(slot)[1]}") from error
    return found


def _map_slot(slot: Slot, merged: Slot, found: CellMap) -> None:
    keys = {tree_text(key.predicate): key.cell for key in merged.keys}
    pairs = [(key.cell, keys[tree_text(key.predicate)]) for key in slot.keys]
    if slot.not_null >= 0:
        pairs.append((slot.not_null, merged.not_null))
    for special, there in (
        (slot.present, merged.present),
        (slot.misfit, merged.misfit),
        (slot.settled, merged.settled),
    ):
        pairs += [(cell, there[family]) for family, cell in special.items()]
    for cell, new in pairs:
        found.first[cell] = found.last[cell] = new
    for kind, domain in slot.domains.items():
        _map_domain(domain, [(cut, cut) for cut in domain.cuts], merged.domains[kind], found.first, found.last)
        twin = TWINS.get(kind)
        if twin in merged.domains and twin not in slot.domains:
            ends = [_ends_in_twin(cut, twin, slot) for cut in domain.cuts]
            _map_domain(domain, ends, merged.domains[twin], found.twin_first, found.twin_last)


def _ends_in_twin(cut: Cut, twin: Kind, slot: Slot) -> tuple[Cut, Cut]:
    if twin is Kind.DATE:
        return days_around(cut, slot.schema.zone)
    return as_double(cut), as_double(cut)


def _map_domain(domain: Domain, ends: Sequence[tuple[Cut, Cut]], merged: Domain, first: Cells, last: Cells) -> None:
    """Map points to the cells between their two ends, and gaps to the cells between points. Both may be empty."""
    theirs = list(merged.cuts)

    def points_at(cuts: Iterable[Cut]) -> Cells:
        places, at = [], 0
        for cut in cuts:
            at = bisect_left(theirs, cut, at)
            if at == len(theirs) or theirs[at] != cut:
                raise KeyError(cut)
            places.append(at)
        return merged.first_cell + 2 * np.array(places, CELL) + 1

    begins, stops = points_at(begin for begin, _ in ends), points_at(stop for _, stop in ends)
    end = merged.first_cell + merged.n_cells
    cells = slice(domain.first_cell, domain.first_cell + domain.n_cells)
    first[cells][0::2] = np.concatenate([[merged.first_cell], stops + 1])
    last[cells][0::2] = np.concatenate([begins - 1, [end - 1]])
    first[cells][1::2] = begins
    last[cells][1::2] = stops

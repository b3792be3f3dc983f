"""The dictionary of an index: one slot per operand of its rules, found by the names that an event has.

`make_dictionary` makes it from plans, which say what literals need of each operand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL
from ruledex.dictionary.domain import Kind
from ruledex.dictionary.slot import Slot, SlotPlan, make_slots
from ruledex.errors import RuledexError
from ruledex.forks import cached_property
from ruledex.language.any_text import WHOLE_EVENT, reads_any_text
from ruledex.language.functions.registry import function_of
from ruledex.language.schema import Schema
from ruledex.language.time_syntax import moments_of
from ruledex.language.tree import (
    Attribute,
    Call,
    CompareOperands,
    Exists,
    Operand,
    Predicate,
    SetTest,
    attributes,
    operands,
    predicates,
)
from ruledex.language.value import Family, constant_family

Path = tuple[str, ...]

_OF_NOW = ("current_timestamp", "current_date", "moment_place")
MAX_CELLS = int(np.iinfo(CELL).max)


class Names:
    """What rules use of an event under one name: its slot, if it has one, and the names below it.

    A slot is made on first use, since one event needs few slots of a large index.
    """

    __slots__ = ("_make", "below", "slot")

    def __init__(self) -> None:
        self.slot: Slot | None = None
        self.below: dict[str, Names] = {}

    def defer(self, make: Callable[[], Slot]) -> None:
        """Set what makes the slot on first use."""
        self._make = make
        del self.slot

    def __getattr__(self, name: str) -> Slot:
        # Python calls this only for a missing attribute, so that a slot costs nothing more once it is made.
        if name != "slot":
            raise AttributeError(name)
        slot = self.slot = self._make()
        return slot

    def slots(self) -> Iterator[Slot]:
        """Yield all slots at and below this name."""
        if self.slot is not None:
            yield self.slot
        for name in self.below.values():
            yield from name.slots()


class Dictionary:
    """All slots, and the number of their cells. Immutable once made.

    `paths` returns the path of each slot that is a plain attribute, and None for the others. It may be left out: then
    the slots themselves are asked.
    """

    def __init__(
        self,
        schema: Schema,
        slots: Sequence[Slot],
        n_cells: int,
        domain_offsets: NDArray[np.int32] | list[int],
        paths: Callable[[], list[Path | None]] | None = None,
    ) -> None:
        self.schema = schema
        self.slots = slots
        self.n_cells = n_cells
        self.domain_offsets: NDArray[np.int32] = np.asarray(domain_offsets, CELL)
        self.domain_offsets.flags.writeable = False
        self._read_paths = paths
        self._known_paths: list[Path | None] | None = None
        if paths is None:  # the slots are made, so their names are known at once
            self._known_paths = [slot.operand.path if isinstance(slot.operand, Attribute) else None for slot in slots]
            self.names, self.derived = Names(), []
            for slot, path in zip(slots, self._known_paths, strict=True):
                if path is None:
                    self.derived.append(slot)
                else:
                    _at(self.names, path).slot = slot

    def _paths(self) -> list[Path | None]:
        known = self._known_paths
        if known is None:
            assert self._read_paths is not None
            known = self._known_paths = self._read_paths()
        return known

    @cached_property
    def names(self) -> Names:
        """The slots that are plain attributes, by name."""
        names = Names()
        for number, path in enumerate(self._paths()):
            if path is not None:
                _at(names, path).defer(partial(self.slots.__getitem__, number))
        return names

    @cached_property
    def derived(self) -> list[Slot]:
        """The slots that must be computed."""
        return [self.slots[number] for number, path in enumerate(self._paths()) if path is None]

    @cached_property
    def uses_now(self) -> bool:
        """Whether cells of events depend on the time of the call."""
        return any(map(slot_uses_now, self.derived))

    @cached_property
    def uses_zone(self) -> bool:
        """Whether cells of events may depend on the time zone of the schema. Makes every slot."""
        return any(map(_slot_uses_zone, self.slots))

    @cached_property
    def used_paths(self) -> list[Path]:
        """All paths into an event that some rule uses, sorted. `*` has the path `WHOLE_EVENT`."""
        found = {path for path in self._paths() if path is not None}
        for slot in self.derived:
            found.update(inputs_of(slot))
        return sorted(found)


def slot_uses_now(slot: Slot) -> bool:
    """Return whether the cells that a slot gives to an event depend on the time of the call."""
    if slot.stored_elements is not None:
        return slot.stored_elements.uses_now
    return any(map(uses_now, (slot.operand, *(key.predicate for key in slot.keys))))


def uses_now(part: Operand | Predicate) -> bool:
    """Return whether the values of an operand, or the truth of a predicate, depend on the time of the call."""
    match part:
        case Attribute():
            return False
        case Call(function, arguments):
            return function in _OF_NOW or any(uses_now(a) for a in arguments if isinstance(a, Attribute | Call))
        case Exists(_, body):
            return any(map(uses_now, predicates(body)))
    return bool(moments_of(part)) or any(map(uses_now, operands(part)))


def _slot_uses_zone(slot: Slot) -> bool:
    if not {Kind.TIME, Kind.DATE}.isdisjoint(slot.domains):
        return True
    operand = slot.operand
    if isinstance(operand, Exists):
        return any(_part_uses_zone(key.predicate) for key in slot.keys)
    return any(map(_uses_zone, operands(operand) if isinstance(operand, CompareOperands | SetTest) else (operand,)))


def _part_uses_zone(part: Predicate) -> bool:
    if isinstance(part, Exists):
        return any(map(_part_uses_zone, predicates(part.body)))
    return constant_family(part) is Family.TIME or any(map(_uses_zone, operands(part)))


def _uses_zone(operand: Operand) -> bool:
    if isinstance(operand, Attribute):
        return False
    function = function_of(operand)
    families = {function.result, *(parameter.family for parameter in function.parameters)}
    if Family.TIME in families or (function.zoned and function.result is Family.STRING):  # a time as a text
        return True
    return any(_uses_zone(argument) for argument in operand.arguments if isinstance(argument, Attribute | Call))


def inputs_of(slot: Slot) -> list[Path]:
    """Return the paths that a slot's operand is computed from, in the order of its text; `*` is the whole event."""
    operand = slot.operand
    if slot.stored_elements is not None:
        return slot.stored_elements.paths
    if isinstance(operand, Exists):
        sides = tuple(side for key in slot.keys for side in operands(key.predicate)) or (operand.operand,)
    else:
        sides = operands(operand) if isinstance(operand, CompareOperands | SetTest) else (operand,)
    named = [attribute.path for side in sides for attribute in attributes(side)]
    return list(dict.fromkeys(named + [WHOLE_EVENT] * any(map(reads_any_text, sides))))


def _at(names: Names, path: Path) -> Names:
    for step in path:
        names = names.below.setdefault(step, Names())
    return names


def make_dictionary(schema: Schema, plans: Iterable[SlotPlan]) -> Dictionary:
    """Return a dictionary with one slot per plan, in the given order; cells are numbered slot by slot."""
    slots, domain_offsets, n_cells = make_slots(schema, plans)
    if n_cells > MAX_CELLS:
        raise RuledexError(f"an index has at most {MAX_CELLS:,} cells, not {n_cells:,}: divide the rules among several")
    return Dictionary(schema, slots, n_cells, domain_offsets)

"""The dictionary of an index: every operand that its rules look at, as slots, found from an event's own names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.program import CELL
from ruledex.encode.slot import Slot
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute


class Names:
    """What rules use of an event under one name: its own value, and what lies below it."""

    __slots__ = ("below", "slot")

    def __init__(self) -> None:
        self.slot: Slot | None = None
        self.below: dict[str, Names] = {}

    def slots(self) -> Iterator[Slot]:
        """All slots at and below this name."""
        if self.slot is not None:
            yield self.slot
        for name in self.below.values():
            yield from name.slots()


class Dictionary:
    """All slots, and how many cells they have together. Immutable once made."""

    def __init__(self, schema: Schema, slots: list[Slot], n_cells: int, domain_offsets: list[int]) -> None:
        self.schema = schema
        self.slots = slots
        self.n_cells = n_cells
        self.domain_offsets: NDArray[np.int32] = np.array(domain_offsets, CELL)
        self.domain_offsets.flags.writeable = False
        self.names = Names()  # of slots that are plain attributes
        self.derived: list[Slot] = []  # of slots that must be computed
        for slot in slots:
            slot.finish()
            if isinstance(slot.operand, Attribute):
                _put(self.names, slot)
            else:
                self.derived.append(slot)


def _put(names: Names, slot: Slot) -> None:
    assert isinstance(slot.operand, Attribute)
    for step in slot.operand.path:
        names = names.below.setdefault(step, Names())
    names.slot = slot

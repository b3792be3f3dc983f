"""The lambdas over one array are an index of their own, and the elements of the array are its events.

Its rules are the bodies of the keys of the array's slot. What is true of some element gives the event the cell of the
key. So all lambdas over an array are asked at once, by the same structures as all rules are.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL
from ruledex.dictionary.slot import Slot
from ruledex.errors import EventError
from ruledex.events.batch import EventBatch
from ruledex.language.elements import element_events
from ruledex.language.lambdas import PRODUCT, element_name
from ruledex.language.tree import Exists
from ruledex.language.value import Family

if TYPE_CHECKING:
    from ruledex.events.mappings import EventEncoder


class InnerMatches(Protocol):
    """The rules of each element."""

    offsets: NDArray[np.int64]
    rule: NDArray[np.int32]


class InnerEngine(Protocol):
    """What finds the bodies that are true of elements."""

    def match(self, batch: EventBatch) -> InnerMatches:
        """Return the bodies that are true of each element."""


def element_cells(slot: Slot, event: Mapping[str, Any]) -> list[int]:
    """Return the cells that the elements of an event's array give it."""
    return element_index(slot).cells(event)


def element_index(slot: Slot) -> ElementIndex:
    """Return the index of a slot's lambdas, which is made once."""
    index: ElementIndex | None = slot.element_index
    if index is None:
        index = slot.element_index = ElementIndex(slot)
    return index


class ElementIndex:
    """The index of the lambdas over one array. Safe to use from several threads."""

    def __init__(self, slot: Slot) -> None:
        from ruledex.events.mappings import EventEncoder  # which uses this module
        from ruledex.program.builder import ProgramBuilder

        exists = slot.operand
        assert isinstance(exists, Exists)
        self.exists = exists
        self.element = element_name(exists.level)
        builder = ProgramBuilder(slot.schema.of_elements(exists.operand, self.element))
        for key in slot.keys:
            assert isinstance(key.predicate, Exists)
            builder.add(key.predicate.body)
        built = builder.finish()
        self.encoder: EventEncoder = EventEncoder(built.dictionary)
        # Engines stand on this family, and so this one is found by its name, as the registry finds all of them.
        self.engine: InnerEngine = import_module("ruledex.engines.sparse.engine").SparseEngine.build(built.program)
        self.key_cells = np.array([key.cell for key in slot.keys], CELL)
        self.there = slot.present.get(Family.ANY, -1)
        self.outer_names = sorted({path[0] for path in built.dictionary.used_paths} - {self.element})
        self._names = {*self.outer_names, exists.operand.path[0], PRODUCT}

    def cells(self, event: Mapping[str, Any]) -> list[int]:
        """Return the cells of the bodies that are true of some element of an event."""
        seen = {name: event[name] for name in self._names if name in event}
        events = element_events(self.exists, seen)
        if events is None:
            return []
        cells = [] if self.there < 0 else [self.there]
        try:
            batch = self.encoder.encode(events)
        except EventError as error:  # its number is that of an element
            raise EventError(str(error).removeprefix(f"events[{error.number}]: ")) from error.__cause__
        if len(self.key_cells) and batch.n_events:
            cells += self.key_cells[self.engine.match(batch).rule].tolist()
        return cells

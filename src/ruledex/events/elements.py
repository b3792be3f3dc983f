"""The lambdas over one array are an index of their own, and the elements of the array are its events.

Its rules are the bodies of the keys of the array's slot. What is true of some element gives the event the cell of the
key. So all lambdas over an array are asked at once, by the same structures as all rules are.

The index is made when the index around it is built, and is stored with the dictionary (`stored_with_elements`). Live
rules have one that grows with them (`GrowingElements`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL
from ruledex.dictionary.dictionary import Dictionary, Path, inputs_of
from ruledex.dictionary.growing import GrowingSlot
from ruledex.dictionary.slot import Slot, StoredElements
from ruledex.dictionary.stored import StoredDictionary, arrays_below, restore, store
from ruledex.errors import ArtifactError, EventError, RuledexError
from ruledex.events.batch import EventBatch
from ruledex.forks import ForkSafeLock
from ruledex.language.arrays import element_events
from ruledex.language.lambdas import PRODUCT, element_name
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Exists
from ruledex.language.value import Family

if TYPE_CHECKING:
    from ruledex.events.mappings import EventEncoder

_NO_CELLS: Final = np.empty(0, CELL)


class InnerMatches(Protocol):
    """The rules of each element."""

    offsets: NDArray[np.int64]
    rule: NDArray[np.int32]


class InnerEngine(Protocol):
    """What finds the bodies that are true of elements."""

    def match(self, batch: EventBatch) -> InnerMatches:
        """Return the bodies that are true of each element."""


def element_cells(slot: Slot, event: Mapping[str, Any]) -> NDArray[np.int32]:
    """Return the cells that the elements of an event's array give it, in any order."""
    return element_index(slot).cells(event)


def element_index(slot: Slot) -> ElementIndex:
    """Return the index of a slot's lambdas, which is made once."""
    index: ElementIndex | None = slot.element_index
    if index is None:
        if isinstance(slot, GrowingSlot):
            index = GrowingElements(slot)
        elif slot.stored_elements is not None and "n_cells" in slot.stored_elements.document:
            index = _opened(slot, slot.stored_elements)
        else:
            index = _built(slot)
        slot.element_index = index
    if isinstance(index, GrowingElements):
        index.catch_up()
    return index


def make_elements(dictionary: Dictionary) -> None:
    """Make the index of all lambdas now, so that the first event finds it."""
    for slot in dictionary.derived:
        if isinstance(slot.operand, Exists):
            make_elements(element_index(slot).encoder.dictionary)


class ElementIndex:
    """The index of the lambdas over one array. Safe to use from several threads."""

    def __init__(self, slot: Slot, encoder: EventEncoder, engine: InnerEngine, key_cells: NDArray[np.int32]) -> None:
        exists = slot.operand
        assert isinstance(exists, Exists)
        self.exists = exists
        self.element = element_name(exists.level)
        self.there = slot.present.get(Family.ANY, -1)
        self._set(encoder, engine, key_cells, encoder.dictionary.used_paths)

    def _set(
        self, encoder: EventEncoder, engine: InnerEngine, key_cells: NDArray[np.int32], paths: Iterable[Path]
    ) -> None:
        self.encoder, self.engine, self.key_cells = encoder, engine, key_cells
        self.outer_names = sorted({path[0] for path in paths} - {self.element})
        self._names = {*self.outer_names, self.exists.operand.path[0], PRODUCT}

    def cells(self, event: Mapping[str, Any]) -> NDArray[np.int32]:
        """Return the cells of the bodies that are true of some element of an event."""
        seen = {name: event[name] for name in self._names if name in event}
        events = element_events(self.exists, seen)
        if events is None:
            return _NO_CELLS
        try:
            batch = self.encoder.encode(events)
        except EventError as error:  # its number is that of an element
            raise EventError(str(error).removeprefix(f"events[{error.number}]: ")) from error.__cause__
        cells = _NO_CELLS
        if len(self.key_cells) and batch.n_events:
            cells = self.key_cells[self.engine.match(batch).rule]
        return cells if self.there < 0 else np.append(cells, CELL(self.there))


def _schema_of(slot: Slot) -> Schema:
    """Return the schema of the events that elements are."""
    exists = slot.operand
    assert isinstance(exists, Exists)
    return slot.schema.of_elements(exists.operand, element_name(exists.level))


def _sparse_engine() -> Any:
    # Engines stand on this family, and so this one is found by its name, as the registry finds all of them.
    return import_module("ruledex.engines.sparse.engine").SparseEngine


def _built(slot: Slot) -> ElementIndex:
    from ruledex.events.mappings import EventEncoder  # which uses this module
    from ruledex.program.builder import ProgramBuilder

    builder = ProgramBuilder(_schema_of(slot))
    for key in slot.keys:
        assert isinstance(key.predicate, Exists)
        builder.add_unscored(key.predicate.body)
    program, dictionary = builder.finish()
    cells = np.array([key.cell for key in slot.keys], CELL)
    return ElementIndex(slot, EventEncoder(dictionary), _sparse_engine().build(program), cells)


# On disk.


def stored_with_elements(dictionary: Dictionary, n_elements: int = 0) -> StoredDictionary:
    """Return a dictionary as it is written to disk, with the indexes of its lambdas.

    elements/<slot>/program/…       the Program of the bodies, in the order of the slot's keys
    elements/<slot>/engine/…        the arrays of its engine, `sparse`
    elements/<slot>/dictionary/…    the dictionary of elements, which may have lambdas itself
    """
    arrays, document = store(dictionary, n_elements)
    for number, slot in enumerate(dictionary.slots):
        if isinstance(slot.operand, Exists):
            index: Any = element_index(slot)
            inner = stored_with_elements(index.encoder.dictionary, slot.operand.level + 1)
            program = index.engine.program
            parts = {f"program/{name}": part for name, part in program._asdict().items() if name != "n_cells"}
            parts |= {f"engine/{name}": part for name, part in index.engine.arrays().items()}
            parts |= {f"dictionary/{name}": part for name, part in inner.arrays.items()}
            arrays |= {f"elements/{number}/{name}": part for name, part in parts.items()}
            document["elements"][str(number)] |= {"n_cells": program.n_cells, "dictionary": inner.document}
    return StoredDictionary(arrays, document)


def _opened(slot: Slot, stored: StoredElements) -> ElementIndex:
    """Return the index of a stored slot over its arrays as they lie."""
    from ruledex.events.mappings import EventEncoder  # which uses this module
    from ruledex.program.invariants import program_of

    arrays, document = stored.arrays, stored.document
    try:
        program = program_of(arrays_below(arrays, "program/"), document["n_cells"])
        offsets, inner = program.domain_offsets, document["dictionary"]
        parts = arrays_below(arrays, "dictionary/")
        dictionary = restore(_schema_of(slot), parts, lambda: inner, program.n_cells, offsets)
        engine = _sparse_engine().from_arrays(program, arrays_below(arrays, "engine/"))
        if program.n_rules != len(stored.key_cells):
            raise ValueError(f"{program.n_rules:,} bodies for {len(stored.key_cells):,} lambdas")
    except (RuledexError, KeyError, ValueError, TypeError) as error:
        raise ArtifactError(f"the stored index of the elements of an array cannot be used: {error}") from error
    return ElementIndex(slot, EventEncoder(dictionary), engine, stored.key_cells)


# Live rules.


class GrowingElements(ElementIndex):
    """The index of the lambdas of live rules: an A-Tree of their bodies, which grows and shrinks with the slot.

    The slot changes only while nobody reads it. The first reader afterwards brings the tree up to date, and others
    wait for it.
    """

    def __init__(self, slot: GrowingSlot) -> None:
        live = import_module("ruledex.engines.atree.live")  # found by name, as all engines are
        self._slot, self._live = slot, live
        self._tree = live.Replica(_schema_of(slot), import_module("ruledex.engines.atree.tree").Switches())
        self._rows: dict[int, tuple[Any, int]] = {}  # for each cell of a key, its predicate and its row in the tree
        self._keys: Any = None  # the keys that the tree has
        self._lock = ForkSafeLock()
        super().__init__(slot, self._tree.encoder, self._tree, _NO_CELLS)

    def copy(self, slot: GrowingSlot) -> GrowingElements:
        """Return the same index for a copy of its slot."""
        made = GrowingElements(slot)
        with self._lock:
            made._tree, made._rows = self._tree.copy(), self._rows.copy()
        return made

    def catch_up(self) -> None:
        """Add and remove the bodies of keys that were added to the slot or removed from it."""
        keys = self._slot.keys
        if self._keys is keys:
            return
        with self._lock:
            if self._keys is not keys:
                self._change({key.cell: key.predicate for key in keys})
                self.there = self._slot.present.get(Family.ANY, -1)
                self._keys = keys

    def _change(self, wanted: Mapping[int, Any]) -> None:
        old = [cell for cell, (predicate, _) in self._rows.items() if wanted.get(cell) is not predicate]
        removed = [self._rows.pop(cell)[1] for cell in old]
        added = {cell: predicate for cell, predicate in wanted.items() if cell not in self._rows}
        changes: list[Any] = [self._live.Deletion(np.array(removed, np.int32))] if removed else []
        if added:
            encode = import_module("ruledex.engines.atree.new_rules").encode_bodies
            bodies = [predicate.body for predicate in added.values()]
            changes.append(self._live.Insertion(encode(self._tree.schema, bodies)))
        if changes:
            self._tree.apply(changes)
        if added:
            rows = changes[-1].rules.tolist()
            self._rows |= {cell: (added[cell], row) for cell, row in zip(added, rows, strict=True)}
        cells = np.zeros(max((row for _, row in self._rows.values()), default=-1) + 1, CELL)
        for cell, (_, row) in self._rows.items():
            cells[row] = cell
        slots = self._tree.dictionary.slots
        self._set(self._tree.encoder, self._tree, cells, (path for slot in slots for path in _paths_of(slot)))


def _paths_of(slot: Slot) -> list[Path]:
    return [slot.operand.path] if isinstance(slot.operand, Attribute) else inputs_of(slot)

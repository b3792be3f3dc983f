"""Encode events that are Arrow tables as an EventBatch, column by column.

The result is the same as for the rows as mappings (`EventEncoder`), with maps as mappings too. A column that no rule
uses is not read, and neither is one without any value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL, OFFSET, WEIGHT
from ruledex.dictionary.dictionary import Dictionary, Names
from ruledex.dictionary.growing import GrowingDictionary
from ruledex.dictionary.slot import Slot
from ruledex.errors import EventError, quoted
from ruledex.events.arrow.columns import EventColumns, Path, is_plain
from ruledex.events.arrow.computing import Computation
from ruledex.events.arrow.derived import DerivedColumns, Inputs, inputs_at, inputs_of_events
from ruledex.events.arrow.elements import ElementColumns
from ruledex.events.arrow.packed import packed_in
from ruledex.events.arrow.rows import rows_of
from ruledex.events.arrow.slots import SlotColumns
from ruledex.events.arrow.straight import StraightCells, StraightColumns
from ruledex.events.arrow.tables import ArrowEvents, as_table
from ruledex.events.batch import EventBatch, join_batches
from ruledex.events.cells import Pairs, count_pairs, order_cells, place_cells
from ruledex.forks import cached_property
from ruledex.language.any_text import WHOLE_EVENT
from ruledex.language.text import path_text
from ruledex.language.tree import Exists

# Events that are encoded together: enough that a column's fixed cost is small beside that of its values.
ROWS_PER_BLOCK: Final = 1 << 18


_MOST_PLANS: Final = 4


class _Plan(NamedTuple):
    """How tables of one schema are encoded."""

    straight: StraightColumns
    rest: list[tuple[SlotColumns, Path]]  # which are encoded column by column
    is_whole: bool  # whether there is nothing but straight columns


class ArrowEncoder:
    """Encodes tables for one dictionary, and keeps its constants as arrays. Safe to use from several threads."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._slots: dict[str, list[tuple[SlotColumns, Path]]] = {}  # at and below a name
        self._derived: list[DerivedColumns] | None = None
        self._elements: list[ElementColumns] | None = None
        self._plans: list[tuple[Any, _Plan | None]] = []  # of the schemas of recent tables

    def encode(self, events: ArrowEvents) -> EventBatch:
        """Return the cells of each row."""
        table = as_table(events)
        plan = self._plan_of(table.schema)
        n_events = table.num_rows
        if n_events <= ROWS_PER_BLOCK:
            return self._encode_part(plan, table, n_events, 0)
        starts = range(0, n_events, ROWS_PER_BLOCK)
        parts = [(start, min(ROWS_PER_BLOCK, n_events - start)) for start in starts]
        return join_batches([self._encode_part(plan, table.slice(*part), part[1], part[0]) for part in parts])

    def is_straight(self, schema: Any) -> bool:
        """Whether all that rules use of such a table is encoded in one pass, which is quick for a few rows too."""
        plan = self._plan_of(schema)
        return plan is not None and plan.is_whole

    def _plan_of(self, schema: Any) -> _Plan | None:
        """Return how tables of a schema are encoded; None if no column is encoded straight."""
        for known, plan in self._plans:
            if schema.equals(known, check_metadata=True):  # at once if it is the same schema
                return plan
        self._check_names(schema.names)
        # What packed columns hold differs by batch.
        made = None if packed_in(schema) else self._make_plan(schema)
        self._plans = [(schema, made), *self._plans[: _MOST_PLANS - 1]]
        return made

    def _make_plan(self, schema: Any) -> _Plan | None:
        straight: list[tuple[int, Any, StraightCells, int]] = []
        rest: list[tuple[SlotColumns, Path]] = []
        for place, field in enumerate(schema):
            for slot, path in self.slots_below(field.name):
                cells = slot.straight(field.type) if len(path) == 1 else None
                if cells is not None:
                    straight.append((place, field.type, cells, slot.first_cell))
                elif len(path) == 1 or not is_plain(field.type):
                    rest.append((slot, path))
        if not straight:
            return None
        straight.sort(key=lambda column: column[-1])
        rest.sort(key=lambda slot_and_path: slot_and_path[0].first_cell)
        is_whole = not rest and not self.dictionary.derived
        return _Plan(StraightColumns([column[:-1] for column in straight]), rest, is_whole)

    def _encode_part(self, plan: _Plan | None, table: Any, n_events: int, first: int) -> EventBatch:
        """Encode some rows of a table; `first` is the number of the first."""
        batch = None if plan is None else plan.straight.select(table)
        if plan is None or batch is None:
            return self.encode_columns(EventColumns(table, n_events, first))
        pairs = Pairs()
        if not plan.is_whole:
            columns = EventColumns(table, n_events, first)
            self._collect(columns, [each for each in plan.rest if not columns.is_null(each[1][0])], pairs)
        return plan.straight.encode(batch, pairs)

    def by_value(self) -> dict[str, int]:
        """Return how many values of each operand were looked at one by one, in Python, most first.

        All others were encoded on whole columns. An operand without such values is left out.
        """
        counts: Counter[str] = Counter()
        for slots in list(self._slots.values()):
            for slot, path in slots:
                counts[path_text(path)] += slot.n_by_value
        for derived in self._derived or ():
            counts[derived.text] += derived.n_by_value
        return {text: n_values for text, n_values in counts.most_common() if n_values}

    def _check_names(self, names: list[str]) -> None:
        """Refuse two columns of one name that rules use: it is not clear which is meant."""
        if len(set(names)) == len(names):
            return
        for name, n_columns in Counter(names).items():
            if n_columns > 1 and (name in self.dictionary.names.below or WHOLE_EVENT in self.dictionary.used_paths):
                raise EventError(f"the events have {n_columns:,} columns named {quoted(name)}")

    def encode_columns(self, columns: EventColumns) -> EventBatch:
        """Return the cells of each event of some columns."""
        pairs = Pairs()
        self._collect(columns, self._used(columns), pairs)
        return _batch(columns.n_events, pairs)

    def _collect(self, columns: EventColumns, slots: list[tuple[SlotColumns, Path]], pairs: Pairs) -> None:
        """Add the pairs of some slots, and of all functions and lambdas."""
        path: Path = ()
        try:
            for slot, path in slots:
                slot.encode(columns.at(path), columns.n_events, pairs)
            inputs: dict[Path, Inputs] = {}
            rows: list[dict[str, Any]] | None = None
            computation = Computation(columns, self.dictionary.schema)
            zone = self.dictionary.schema.zone
            for derived in self._derived_columns():
                if derived.is_any_text:
                    path = WHOLE_EVENT
                    derived.encode_texts(columns, pairs)
                    continue
                if derived.needs_rows:
                    path = derived.paths[0]
                    derived.encode_rows(columns, pairs)
                    continue
                if derived.reads_arrays:
                    path = derived.paths[0]
                    if rows is None:
                        rows = rows_of(columns, self._names_in_rows, zone)
                    derived.encode_arrays(rows, pairs)
                    continue
                path = derived.paths[0] if derived.paths else ()
                left = derived.compute(computation, columns.n_events, pairs)
                if left is not None:
                    if len(left):
                        given = [inputs_of_events(columns, path, left, zone) for path in derived.paths]
                        derived.encode(given, len(left), pairs, columns.first, left)
                    continue
                for path in derived.paths:
                    if path not in inputs:
                        inputs[path] = inputs_at(columns, path, zone)
                derived.encode([inputs[path] for path in derived.paths], columns.n_events, pairs, columns.first)
            for lambdas in self._element_columns():
                path = lambdas.path
                lambdas.encode(columns, pairs)
        except pa.ArrowException as error:
            raise EventError(f"{path_text(path)}: its Arrow type cannot be read: {error}") from None

    def _used(self, columns: EventColumns) -> list[tuple[SlotColumns, Path]]:
        """Return the slots that have values here, in the order of their cells, so that cells come nearly sorted."""
        found = [self.slots_below(name) for name in columns.names if not columns.is_null(name)]
        return sorted(chain.from_iterable(found), key=lambda slot_and_path: slot_and_path[0].first_cell)

    def slots_below(self, name: str) -> list[tuple[SlotColumns, Path]]:
        """Return the slots at and below a name of a column, which are made for the first table that has it."""
        slots = self._slots.get(name)
        if slots is None:
            names = self.dictionary.names.below.get(name)
            if names is None:
                return []
            slots = self._slots[name] = [(SlotColumns(slot), path) for slot, path in _slots((name,), names)]
        return slots

    def _derived_columns(self) -> list[DerivedColumns]:
        if self._derived is None:
            slots = [slot for slot in self.dictionary.derived if not isinstance(slot.operand, Exists)]
            self._derived = [DerivedColumns(slot) for slot in slots]
        return self._derived

    @cached_property
    def _names_in_rows(self) -> set[str]:
        """The names of what functions of whole arrays look at."""
        return {path[0] for derived in self._derived_columns() if derived.reads_arrays for path in derived.paths}

    def _element_columns(self) -> list[ElementColumns]:
        if self._elements is None:
            slots = [slot for slot in self.dictionary.derived if isinstance(slot.operand, Exists)]
            self._elements = [ElementColumns(slot) for slot in slots]
        return self._elements


class GrowingArrowEncoder(ArrowEncoder):
    """Encodes for a growing dictionary as it is now: with a fixed copy of it, whose cells it then renames."""

    def __init__(self, dictionary: GrowingDictionary) -> None:
        fixed, self._names = dictionary.freeze()
        super().__init__(fixed)

    def encode(self, events: ArrowEvents) -> EventBatch:
        """Return the cells of each row."""
        batch = super().encode(events)
        offsets, cells = batch.offsets.copy(), self._names[batch.cells]
        n_cells = order_cells(offsets, cells)
        return EventBatch(offsets, cells[:n_cells], batch.weights, batch.single)


def encode_arrow(dictionary: Dictionary, events: ArrowEvents) -> EventBatch:
    """Return the cells of each row of a table, a record batch, or a frame of pandas or polars.

    For many batches, keep an `ArrowEncoder`.
    """
    return ArrowEncoder(dictionary).encode(events)


def _slots(path: Path, names: Names) -> Iterator[tuple[Slot, Path]]:
    if names.slot is not None:
        yield names.slot, path
    for name, below in names.below.items():
        yield from _slots((*path, name), below)


def _batch(n_events: int, pairs: Pairs) -> EventBatch:
    """Return the cells of each event, sorted and without duplicates."""
    events, cells = pairs.all()
    offsets = np.zeros(n_events + 1, OFFSET)
    count_pairs(events, offsets)
    placed: NDArray[np.int32] = np.empty(offsets[-1], CELL)
    place_cells(events, cells, offsets, np.empty(n_events, OFFSET), placed)
    n_cells = order_cells(offsets, placed)
    return EventBatch(offsets, placed[:n_cells], np.empty(0, WEIGHT), pairs.single)

"""Encode a slot on whole columns: the cells of all values at once, as `Slot.cells` gives them one by one."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL, OFFSET
from ruledex.dictionary.domain import Kind
from ruledex.dictionary.slot import Slot
from ruledex.events.arrow.columns import Leaves, is_text
from ruledex.events.arrow.taking import Array
from ruledex.events.arrow.values import (
    OPAQUE,
    Distinct,
    distinct,
    is_nameless,
    is_number,
    present,
    take_numbers,
    timestamp_microseconds,
    to_python,
    utc_microseconds,
)
from ruledex.events.cells import double_cells, gather_pairs, integer_cells, text_cells
from ruledex.forks import cached_property
from ruledex.language.tree import Attribute
from ruledex.language.value import INT64_MAX, INT64_MIN, Family, as_double

_EVENT: Final = np.int32
_INTEGERS_PER_CUT: Final = 16  # the most whose cells are kept ready: this takes a few times the memory of the cuts
_A_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


class Pairs:
    """Pairs of an event and a cell, in any order."""

    def __init__(self) -> None:
        self.single = True  # whether no event has two values of one attribute
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int32] | int]] = []

    def add(self, events: NDArray[np.int64], cells: NDArray[np.int32] | int) -> None:
        """Add one cell per event, or one cell for all of them."""
        self._parts.append((events, cells))

    def add_each(self, events: NDArray[np.int64], cells: Iterable[int]) -> None:
        """Add each of the cells for each event."""
        for cell in cells:
            self.add(events, cell)

    def gather(self, events: NDArray[np.int64], codes: NDArray[np.int64], table: CellTable) -> None:
        """Add all cells of its code for each event."""
        n_pairs = int(np.diff(table.offsets)[codes].sum())
        if n_pairs:
            out_events, out_cells = np.empty(n_pairs, np.int64), np.empty(n_pairs, CELL)
            gather_pairs(events, codes, *table, out_events, out_cells)
            self.add(out_events, out_cells)

    def all(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the events and the cells of all pairs."""
        n_pairs = sum(len(events) for events, _ in self._parts)
        all_events, all_cells = np.empty(n_pairs, _EVENT), np.empty(n_pairs, CELL)
        begin = 0
        for events, cells in self._parts:
            end = begin + len(events)
            all_events[begin:end] = events
            all_cells[begin:end] = cells
            begin = end
        return all_events, all_cells


class CellTable(NamedTuple):
    """The cells of each code, as CSR lists."""

    offsets: NDArray[np.int64]
    cells: NDArray[np.int32]


def cell_table(cells: Sequence[Sequence[int]]) -> CellTable:
    """Return the table of codes with these cells."""
    offsets = np.zeros(len(cells) + 1, OFFSET)
    np.cumsum([len(row) for row in cells], out=offsets[1:])
    return CellTable(offsets, np.array([cell for row in cells for cell in row], CELL))


class SlotColumns:
    """Encodes one slot of a plain attribute, with its constants as arrays. Made once for many batches."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._misfits = frozenset(slot.misfit.values())
        marks = (slot.not_null, *slot.present.values(), *slot.settled.values(), *self._misfits)
        self._specials = frozenset(cell for cell in marks if cell >= 0)
        domains = [domain.first_cell for domain in slot.domains.values()]
        self.first_cell = min((*self._specials, *domains, *(key.cell for key in slot.keys)))
        self._keyed = {key.family for key in slot.keys}
        assert isinstance(slot.operand, Attribute)
        self._is_single = slot.schema.is_single(slot.operand)

    def encode(self, leaves: Leaves, n_events: int, pairs: Pairs) -> None:
        """Add the pairs of all values of a batch."""
        values = leaves.values
        kind = values.type
        coded: Distinct | None = None
        chosen: NDArray[Any] | None = None
        places: NDArray[np.int64]
        if is_number(kind) and Family.NUMBER not in self._keyed:
            places, chosen = take_numbers(values)
        elif pa.types.is_dictionary(kind):
            coded = distinct(values)
            is_there = np.zeros(len(coded.values) + 1, np.bool_)  # the last is that of the code -1
            is_there[present(coded.values)] = True
            places = np.flatnonzero(is_there[coded.codes])
        else:
            places = present(values)
        events = places
        if leaves.events is not None:
            events = leaves.events[places]
        if leaves.events is not None and leaves.nulls is not None:
            kept = self._count_values(np.concatenate([leaves.events, leaves.nulls]), events, n_events, pairs)
            places, events = places[kept], events[kept]
            chosen = None if chosen is None else chosen[kept]
        if not len(places):
            return
        if chosen is not None and not (pa.types.is_uint64(kind) and chosen.min() < 0):
            self._encode_numbers(chosen, events, pairs)
        elif coded is None and is_nameless(kind):
            pairs.add_each(events, self._slot.cells(OPAQUE))
        elif coded is not None or not self._encode_times(values, places, events, pairs):
            self._encode_distinct(coded or distinct(values), places, events, n_events, pairs)

    def _count_values(
        self, owners: NDArray[np.int64], events: NDArray[np.int64], n_events: int, pairs: Pairs
    ) -> NDArray[np.bool_]:
        """Add the cells of events without elements, or with too many; return which values stay."""
        n_elements = np.bincount(owners, minlength=n_events)
        pairs.single &= not (n_elements > 1).any()
        pairs.add_each(np.flatnonzero(n_elements == 0), self._slot.settled.values())
        if not self._is_single:
            return np.ones(len(events), np.bool_)
        has_several = np.bincount(events, minlength=n_events) > 1
        pairs.add_each(np.flatnonzero(has_several), self._slot.cells(OPAQUE))
        return ~has_several[events]

    # Numbers and times: their cells are found without distinct values.

    def _encode_numbers(self, values: NDArray[Any], events: NDArray[np.int64], pairs: Pairs) -> None:
        if values.dtype.kind == "f":
            pairs.add_each(events, self._double_marks)
            self._add_doubles(events, values, Kind.ROUNDED if Kind.ROUNDED in self._slot.domains else Kind.EXACT, pairs)
        else:
            pairs.add_each(events, self._integer_marks)
            self._add_integers(events, values, Kind.EXACT, pairs)
        self._add_doubles(events, values, Kind.DOUBLE, pairs)

    def _encode_times(self, values: Array, places: NDArray[np.int64], events: NDArray[np.int64], pairs: Pairs) -> bool:
        """Encode timestamps, if the values are timestamps and no key asks for times. Returns True if it did."""
        kind = values.type
        if not pa.types.is_timestamp(kind) or Family.TIME in self._keyed:
            return False
        pairs.add_each(events, self._marks(_A_TIME))
        if Kind.TIME in self._slot.domains:
            moments = timestamp_microseconds(values, places)
            if kind.tz is None:
                moments = utc_microseconds(moments, self._slot.moment_of)
            self._add_integers(events, moments, Kind.TIME, pairs)
        return True

    def _marks(self, example: Any) -> tuple[int, ...]:
        """Return the cells that say which type a value has, which are the same for all values of the type."""
        return tuple(cell for cell in self._slot.cells(example) if cell in self._specials)

    @cached_property
    def _integer_marks(self) -> tuple[int, ...]:
        return self._marks(0)

    @cached_property
    def _double_marks(self) -> tuple[int, ...]:
        return self._marks(0.0)

    def _add_integers(self, events: NDArray[np.int64], values: NDArray[np.int64], kind: Kind, pairs: Pairs) -> None:
        domain = self._slot.domains.get(kind)
        if domain is not None:
            cuts = self._times if kind is Kind.TIME else self._integers
            cells = np.empty(len(values), CELL)
            first_cell = domain.first_cell + 2 * cuts.n_below
            integer_cells(values, cuts.floors, cuts.is_whole, cuts.near, first_cell, cells)
            pairs.add(events, cells)

    def _add_doubles(self, events: NDArray[np.int64], values: NDArray[Any], kind: Kind, pairs: Pairs) -> None:
        domain = self._slot.domains.get(kind)
        if domain is not None:
            cells = np.empty(len(values), CELL)
            double_cells(values.astype(np.float64, copy=False), self._doubles[kind], domain.first_cell, cells)
            pairs.add(events, cells)

    @cached_property
    def _integers(self) -> _IntegerCuts:
        return _integer_cuts(self._slot.domains[Kind.EXACT].cuts)

    @cached_property
    def _times(self) -> _IntegerCuts:
        return _integer_cuts(self._slot.domains[Kind.TIME].cuts)

    @cached_property
    def _doubles(self) -> dict[Kind, NDArray[np.float64]]:
        kinds = (Kind.EXACT, Kind.ROUNDED, Kind.DOUBLE)
        domains = {kind: domain for kind, domain in self._slot.domains.items() if kind in kinds}
        return {kind: np.array([as_double(cut) for cut in domain.cuts]) for kind, domain in domains.items()}

    # Everything else, by distinct values.

    def _encode_distinct(
        self, coded: Distinct, places: NDArray[np.int64], events: NDArray[np.int64], n_events: int, pairs: Pairs
    ) -> None:
        codes = coded.codes[places]
        if is_text(coded.values.type) and not self._keyed & {Family.STRING} and not self._reads_times:
            pairs.add_each(events, self._marks(""))
            if Kind.STRING in self._slot.domains:
                pairs.add(events, self._text_cells(coded.values)[codes])
            return
        if is_nameless(coded.values.type):
            pairs.add_each(events, self._slot.cells(OPAQUE))
            return
        cells = [self._slot.cells(value) for value in to_python(coded.values)]
        pairs.gather(events, codes, cell_table([[c for c in row if c not in self._misfits] for row in cells]))
        # An event misfits a family if all of its values do.
        for misfit in self._misfits:
            fits = np.array([misfit not in row for row in cells])[codes]
            has_value, has_fitting = np.zeros(n_events, np.bool_), np.zeros(n_events, np.bool_)
            has_value[events] = True
            has_fitting[events[fits]] = True
            pairs.add_each(np.flatnonzero(has_value & ~has_fitting), (misfit,))

    @property
    def _reads_times(self) -> bool:
        """Whether a text may be a time here."""
        slot = self._slot
        return Kind.TIME in slot.domains or any(
            Family.TIME in families for families in (slot.present, slot.misfit, slot.settled)
        )

    def _text_cells(self, values: Array) -> NDArray[np.int32]:
        cells = np.empty(len(values), CELL)
        text_cells(*_bytes_of(values), *self._texts, self._slot.domains[Kind.STRING].first_cell, cells)
        return cells

    @cached_property
    def _texts(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        # Half surrogates, which no Arrow text has, keep their place in the order.
        texts = [cut.encode("utf-8", "surrogatepass") for cut in self._slot.domains[Kind.STRING].cuts]
        offsets = np.zeros(len(texts) + 1, OFFSET)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return offsets, np.frombuffer(b"".join(texts), np.uint8)


class _IntegerCuts(NamedTuple):
    """Cuts rounded down to integers of 64 bits, for integers of 64 bits."""

    floors: NDArray[np.int64]
    is_whole: NDArray[np.bool_]
    near: NDArray[np.int32]  # the cells of all integers from the first cut to the last; empty if they are many
    n_below: int  # cuts below all such integers, which are left out; those above all are left out too


def _integer_cuts(cuts: Sequence[Any]) -> _IntegerCuts:
    first, last = bisect_left(cuts, INT64_MIN), bisect_left(cuts, INT64_MAX + 1)
    given = cuts[first:last]
    floors = np.array([math.floor(cut) for cut in given], np.int64)
    is_whole = np.array([floor == cut for floor, cut in zip(floors.tolist(), given, strict=True)], np.bool_)
    near = np.empty(0, CELL)
    if len(floors) and int(floors[-1]) - int(floors[0]) < _INTEGERS_PER_CUT * len(floors):
        # Count from the first: what comes after the last may not fit 64 bits.
        between = floors[0] + np.arange(int(floors[-1]) - int(floors[0]) + 1)
        cells = np.empty(len(between), CELL)
        integer_cells(between, floors, is_whole, near, 0, cells)
        near = cells
    return _IntegerCuts(floors, is_whole, near, first)


def _bytes_of(values: Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the offsets and the bytes of texts."""
    texts = values.cast(pa.large_string())
    _, offsets, text = texts.buffers()
    begins = np.frombuffer(offsets, np.int64, texts.offset + len(texts) + 1)[texts.offset :]
    return begins, np.frombuffer(text or b"", np.uint8)

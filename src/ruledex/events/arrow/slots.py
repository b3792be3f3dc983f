"""Encode a slot on whole columns: the cells of all values at once, as `Slot.cells` gives them one by one."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL, OFFSET
from ruledex.dictionary.domain import Kind
from ruledex.dictionary.slot import Slot
from ruledex.events.arrow import straight_kernels
from ruledex.events.arrow.clocks import unsafe_moments, utc_of_wall, wall_time
from ruledex.events.arrow.columns import Leaves, is_text
from ruledex.events.arrow.decimals import (
    Decimals,
    Thresholds,
    double_thresholds,
    exact_thresholds,
    is_narrow_decimal,
    take_decimals,
    wide_cells,
)
from ruledex.events.arrow.straight import StraightCells, double_keys, reading_of, text_keys
from ruledex.events.arrow.straight_kernels import IN_FIRST, IN_SECOND
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
)
from ruledex.events.cells import Pairs, cell_table, double_cells, integer_cells, text_cells
from ruledex.forks import cached_property
from ruledex.language.tree import Attribute
from ruledex.language.value import INT64_MAX, INT64_MIN, Family, as_double


class SlotColumns:
    """Encodes one slot of a plain attribute, with its constants as arrays. Made once for many batches."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._cells = TypedCells(slot)
        self.first_cell = self._cells.first_cell
        assert isinstance(slot.operand, Attribute)
        self._is_single = slot.schema.is_single(slot.operand)

    @property
    def n_by_value(self) -> int:
        """The values that were looked at one by one, in Python."""
        return self._cells.n_by_value

    def straight(self, kind: Any) -> StraightCells | None:
        """Return what values of a type have; None if they cannot be read straight from their buffers."""
        return self._cells.straight(kind)

    def encode(self, leaves: Leaves, n_events: int, pairs: Pairs) -> None:
        """Add the pairs of all values of a batch."""
        values = leaves.values
        kind = values.type
        coded: Distinct | None = None
        chosen: NDArray[Any] | None = None
        places: NDArray[np.int64]
        if is_number(kind) and not self._cells.has_keys(Family.NUMBER):
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
            self._cells.add_numbers(chosen, events, pairs)
        elif coded is None and is_nameless(kind):
            self._cells.add_opaque(events, pairs)
        elif coded is not None or not self._encode_ordered(values, places, events, pairs):
            self._cells.add_distinct(coded or distinct(values), places, events, n_events, pairs)

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
        self._cells.add_opaque(np.flatnonzero(has_several), pairs)
        return ~has_several[events]

    def _encode_ordered(
        self, values: Array, places: NDArray[np.int64], events: NDArray[np.int64], pairs: Pairs
    ) -> bool:
        """Encode decimals and timestamps by their order, unless keys ask for them. Returns True if it did."""
        kind = values.type
        if is_narrow_decimal(kind) and not self._cells.has_keys(Family.NUMBER):
            self._cells.add_decimals(take_decimals(values, places), events, pairs)
            return True
        if not pa.types.is_timestamp(kind) or self._cells.has_keys(Family.TIME):
            return False
        moments = np.empty(0, np.int64)
        if self._cells.has_moments:
            moments = timestamp_microseconds(values, places, self._slot.schema.zone)
            if kind.tz is None:
                moments = self._in_utc(moments)
        self._cells.add_moments(moments, events, pairs)
        return True

    def _in_utc(self, moments: NDArray[np.int64]) -> NDArray[np.int64]:
        converted = utc_of_wall(moments, self._slot.schema.zone)
        at_ends = unsafe_moments(moments)
        if at_ends is not None:  # the slots of old indexes have a conversion of their own there
            converted = converted.copy()
            for place in np.flatnonzero(at_ends).tolist():
                converted[place] = self._slot.moment_of(wall_time(int(moments[place])))
        return converted


_INTEGERS_PER_CUT: Final = 16  # the most whose cells are kept ready: this takes a few times the memory of the cuts
_FEW_INTEGERS: Final = 1 << 10  # whose cells are kept ready even if the cuts are few
_A_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


class TypedCells:
    """The constants of one slot as arrays. Made once for many batches."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._misfits = frozenset(slot.misfit.values())
        marks = (slot.not_null, *slot.present.values(), *slot.settled.values(), *self._misfits)
        self._specials = frozenset(cell for cell in marks if cell >= 0)
        domains = [domain.first_cell for domain in slot.domains.values()]
        self.first_cell = min((*self._specials, *domains, *(key.cell for key in slot.keys)))
        self._keyed = {key.family for key in slot.keys}
        self._thresholds: dict[tuple[Kind, int], Thresholds] = {}
        self.n_by_value = 0  # values that were looked at one by one

    def has_keys(self, family: Family) -> bool:
        """Whether some predicate has to be tested on each distinct value of a family."""
        return family in self._keyed

    # Plain types, whose cells are found straight from their buffers.

    def straight(self, kind: Any) -> StraightCells | None:
        """Return what values of a type have; None if they cannot be read straight from their buffers."""
        match reading_of(kind):
            case straight_kernels.INTEGER if not self.has_keys(Family.NUMBER) and Kind.DOUBLE not in self._slot.domains:
                return self._straight_integers()
            case straight_kernels.DOUBLE if not self.has_keys(Family.NUMBER):
                return self._straight_doubles()
            case straight_kernels.BOOLEAN if not self.has_keys(Family.BOOLEAN):
                false, true = sorted(self._slot.cells(False)), sorted(self._slot.cells(True))
                return StraightCells(false, near=np.array([*false, *true], CELL)) if len(false) == len(true) else None
            case straight_kernels.TEXT if not self.has_keys(Family.STRING) and not self._reads_times:
                return self._straight_texts()
        return None

    def _straight_integers(self) -> StraightCells:
        domain = self._slot.domains.get(Kind.EXACT)
        if domain is None:
            return StraightCells(sorted(self._integer_marks))
        cuts = self._integers
        first_cell = domain.first_cell + 2 * cuts.n_below
        emissions = _emissions(self._integer_marks, domain.first_cell)
        return StraightCells(emissions, first_cell, cuts.floors, cuts.is_whole.view(np.uint8), near=cuts.near)

    def _straight_doubles(self) -> StraightCells:
        domains = self._slot.domains
        exact = domains.get(Kind.ROUNDED if Kind.ROUNDED in domains else Kind.EXACT)
        double = domains.get(Kind.DOUBLE)
        firsts = [-1 if domain is None else domain.first_cell for domain in (exact, double)]
        found = StraightCells(_emissions(self._double_marks, *firsts))
        if exact is not None:
            found = found._replace(first_cell=exact.first_cell, cuts=double_keys(self._doubles[exact.kind]))
        if double is not None:
            found = found._replace(second_cell=double.first_cell, second_cuts=double_keys(self._doubles[Kind.DOUBLE]))
        return found

    def _straight_texts(self) -> StraightCells:
        domain = self._slot.domains.get(Kind.STRING)
        if domain is None:
            return StraightCells(sorted(self._marks("")))
        offsets, text = self._texts
        keys = text_keys([bytes(text[begin:end]) for begin, end in pairwise(offsets.tolist())])
        return StraightCells(_emissions(self._marks(""), domain.first_cell), domain.first_cell, keys, text, offsets)

    # Numbers and times: their cells are found without distinct values.

    def add_numbers(self, values: NDArray[Any], events: NDArray[np.int64], pairs: Pairs) -> None:
        """Add the pairs of integers or doubles of 64 bits, none of them NaN."""
        if values.dtype.kind == "f":
            pairs.add_each(events, self._double_marks)
            self._add_doubles(events, values, Kind.ROUNDED if Kind.ROUNDED in self._slot.domains else Kind.EXACT, pairs)
        else:
            pairs.add_each(events, self._integer_marks)
            self._add_integers(events, values, Kind.EXACT, pairs)
        self._add_doubles(events, values, Kind.DOUBLE, pairs)

    def add_decimals(self, values: Decimals, events: NDArray[np.int64], pairs: Pairs) -> None:
        """Add the pairs of decimals."""
        pairs.add_each(events, self._integer_marks)
        for kind, make in ((Kind.EXACT, exact_thresholds), (Kind.DOUBLE, double_thresholds)):
            domain = self._slot.domains.get(kind)
            if domain is None:
                continue
            found = self._thresholds.get((kind, values.scale))
            if found is None:
                found = self._thresholds[kind, values.scale] = make(domain.cuts, values.scale)
            cells: NDArray[np.int32] = np.empty(len(events), CELL)
            if values.high is None:
                cells[:] = np.searchsorted(found.narrow, values.low, side="right")
                cells += domain.first_cell + found.n_below
            else:
                first_cell = domain.first_cell + found.n_below_wide
                wide_cells(values.low.view(np.uint64), values.high, found.low, found.high, first_cell, cells)
            pairs.add(events, cells)

    def add_moments(self, moments: NDArray[np.int64], events: NDArray[np.int64], pairs: Pairs) -> None:
        """Add the pairs of times, in microseconds since 1970 in UTC."""
        pairs.add_each(events, self._time_marks)
        self._add_integers(events, moments, Kind.TIME, pairs)

    @property
    def has_moments(self) -> bool:
        """Whether times have cells by their order."""
        return Kind.TIME in self._slot.domains

    def add_opaque(self, events: NDArray[np.int64], pairs: Pairs) -> None:
        """Add the pairs of values that no rule can name."""
        pairs.add_each(events, self._slot.cells(OPAQUE))

    def _marks(self, example: Any) -> tuple[int, ...]:
        """Return the cells that say which type a value has, which are the same for all values of the type."""
        return tuple(cell for cell in self._slot.cells(example) if cell in self._specials)

    @cached_property
    def _integer_marks(self) -> tuple[int, ...]:
        return self._marks(0)

    @cached_property
    def _time_marks(self) -> tuple[int, ...]:
        return self._marks(_A_TIME)

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

    def add_booleans(self, values: NDArray[np.bool_], events: NDArray[np.int64], pairs: Pairs) -> None:
        """Add the pairs of truth values."""
        for value in (True, False):
            cells = self._slot.cells(value)
            if len(cells):
                pairs.add_each(events[values == value], cells)

    # Everything else, by distinct values.

    def add_texts(self, values: Array, events: NDArray[np.int64], pairs: Pairs) -> bool:
        """Add the pairs of texts, none of them null, by their order, unless keys ask for them. Returns True if so."""
        if self.has_keys(Family.STRING) or self._reads_times:
            return False
        pairs.add_each(events, self._marks(""))
        if Kind.STRING in self._slot.domains:
            pairs.add(events, self._text_cells(values))
        return True

    def add_distinct(
        self, coded: Distinct, places: NDArray[np.int64], events: NDArray[np.int64], n_events: int, pairs: Pairs
    ) -> None:
        """Add the pairs of the values at some places, each distinct value as Python has it if there is no other way."""
        codes = coded.codes[places]
        if is_text(coded.values.type) and not self._keyed & {Family.STRING} and not self._reads_times:
            pairs.add_each(events, self._marks(""))
            if Kind.STRING in self._slot.domains:
                pairs.add(events, self._text_cells(coded.values)[codes])
            return
        if is_nameless(coded.values.type):
            pairs.add_each(events, self._slot.cells(OPAQUE))
            return
        codes, rows = self._rows_of(to_python(coded.values, self._slot.schema.zone), codes)
        pairs.gather(events, codes, cell_table([[c for c in row if c not in self._misfits] for row in rows]))
        # An event misfits a family if all of its values do.
        for misfit in self._misfits:
            fits = np.array([misfit not in row for row in rows])[codes]
            has_value, has_fitting = np.zeros(n_events, np.bool_), np.zeros(n_events, np.bool_)
            has_value[events] = True
            has_fitting[events[fits]] = True
            pairs.add_each(np.flatnonzero(has_value & ~has_fitting), (misfit,))

    def _rows_of(self, values: list[Any], codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[tuple[int, ...]]]:
        """Return the number of the row of cells for each code, and the rows. The values have one type, or are None."""
        slot = self._slot
        self.n_by_value += len(values)
        # Batches repeat values, and many values have the same cells: most are found without a step of Python.
        known = slot.known.get(type(values[0]), {}) if values else {}
        cells: list[Any] = list(map(known.get, values))
        for place in [place for place, found in enumerate(cells) if found is None]:
            cells[place] = tuple(slot.cells(values[place]))
        numbers = {row: number for number, row in enumerate(dict.fromkeys(cells))}
        of_values = np.fromiter(map(numbers.__getitem__, cells), np.int64, len(cells))
        return of_values[codes], list(numbers)

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


def _emissions(marks: Sequence[int], first: int, second: int = -1) -> list[int]:
    """Return marks and the signs of domains, in the order of their cells. A domain that begins at -1 is not there."""
    given = [(cell, cell) for cell in marks]
    given += [(cell, sign) for cell, sign in ((first, IN_FIRST), (second, IN_SECOND)) if cell >= 0]
    return [sign for _, sign in sorted(given)]


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
    most = max(_INTEGERS_PER_CUT * len(floors), _FEW_INTEGERS)
    if len(floors) and int(floors[-1]) - int(floors[0]) < most:
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

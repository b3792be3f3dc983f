"""Encode a slot on whole columns: the cells of all values at once, as `Slot.cells` gives them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.dictionary.slot import Slot
from ruledex.events.arrow.clocks import unsafe_moments, utc_of_wall, wall_time
from ruledex.events.arrow.columns import Leaves
from ruledex.events.arrow.decimals import is_narrow_decimal, take_decimals
from ruledex.events.arrow.pairs import Pairs
from ruledex.events.arrow.straight import StraightCells
from ruledex.events.arrow.taking import Array
from ruledex.events.arrow.typed import TypedCells
from ruledex.events.arrow.values import (
    Distinct,
    distinct,
    is_nameless,
    is_number,
    present,
    take_numbers,
    timestamp_microseconds,
)
from ruledex.language.tree import Attribute
from ruledex.language.value import Family


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
            moments = timestamp_microseconds(values, places)
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

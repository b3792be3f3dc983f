"""Encode lambdas on whole columns: the elements of all events' arrays are the events of one batch for their index."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex import limits
from ruledex.compiled.constants import OFFSET
from ruledex.dictionary.slot import Slot
from ruledex.events.arrow.columns import EventColumns, Path, is_list, plain_layout
from ruledex.events.arrow.taking import Array, flatten_lists, take, valid
from ruledex.events.arrow.values import Distinct, distinct, is_nameless, present
from ruledex.events.cells import CellTable, Pairs
from ruledex.events.elements import element_index
from ruledex.language.lambdas import repeats_elements
from ruledex.language.resolve import over_limit
from ruledex.language.tree import Exists

_LEAST_CODED: Final = 64  # elements; of fewer, to find equal ones takes longer than to match them
_LEAST_EQUAL: Final = 2  # elements per distinct one, likewise


class Elements(NamedTuple):
    """The elements of arrays, and the event of each; and for each event whether there is an array."""

    values: Array
    events: NDArray[np.int64]
    is_array: NDArray[np.bool_]


class ElementColumns:
    """Encodes the lambdas over one array. Made once for many batches."""

    def __init__(self, slot: Slot) -> None:
        exists = slot.operand
        assert isinstance(exists, Exists)
        self._slot, self._exists = slot, exists
        self.path = exists.operand.path

    def encode(self, columns: EventColumns, pairs: Pairs) -> None:
        """Add the cells that the elements of its array give to each event."""
        index = element_index(self._slot)
        elements, n_combinations = self._within_limit(columns, elements_at(columns, self.path))
        if index.there >= 0:
            pairs.add(np.flatnonzero(elements.is_array), index.there)
        if not len(elements.events) or not len(index.key_cells):
            return
        names = [name for name in columns.names if name in index.outer_names]
        if not names:
            coded = _coded(elements.values)
            if coded is not None:
                inner = EventColumns.of_arrays({index.element: coded.values}, len(coded.values))
                matches = index.engine.match(index.encoder.arrow.encode_columns(inner))
                table = CellTable(matches.offsets.astype(OFFSET), index.key_cells[matches.rule])
                pairs.gather(elements.events, coded.codes, table)
                return
        arrays = {name: columns.taken(name, elements.events) for name in names}
        inner = EventColumns.of_arrays({**arrays, index.element: elements.values}, len(elements.events))
        inner.n_combinations = n_combinations[elements.events]
        matches = index.engine.match(index.encoder.arrow.encode_columns(inner))
        pairs.add(np.repeat(elements.events, np.diff(matches.offsets)), index.key_cells[matches.rule])

    def _within_limit(self, columns: EventColumns, elements: Elements) -> tuple[Elements, NDArray[np.int64]]:
        """Return the elements without arrays that are over the limit, and the combinations of elements per event."""
        n_elements = np.bincount(elements.events, minlength=columns.n_events)
        n_combinations = np.maximum(n_elements, 1)
        if columns.n_combinations is not None:
            n_combinations *= columns.n_combinations
        if not repeats_elements(self._exists):
            return elements, n_combinations
        is_over = (n_elements > 1) & (n_combinations > limits.current().event_products)
        if not is_over.any():
            return elements, n_combinations
        over_limit.n += int(is_over.sum())
        kept = np.flatnonzero(~is_over[elements.events])
        within = Elements(take(elements.values, kept), elements.events[kept], elements.is_array & ~is_over)
        return within, n_combinations


def _coded(elements: Array) -> Distinct | None:
    """Return the distinct elements, null among them, and the number of each element's; None if few are equal.

    A lambda that looks at nothing but its element is true of equal elements alike. Elements that can have fields or
    elements themselves are left alone.
    """
    if len(elements) < _LEAST_CODED or is_nameless(elements.type):
        return None
    codes, values = distinct(elements)
    if _LEAST_EQUAL * len(values) > len(elements):
        return None
    null = len(values)
    return Distinct(np.where(codes < 0, null, codes), take(values, np.append(np.arange(null), -1)))


def elements_at(columns: EventColumns, path: Path) -> Elements:
    """Return the elements of the arrays at a path, as `elements_of` in language/arrays.py does for a mapping."""
    found = columns.reached(path)
    values = found.values
    events = np.arange(columns.n_events) if found.events is None else found.events
    is_array = np.zeros(columns.n_events, np.bool_)
    if found.events is not None and found.nulls is not None:  # an event in neither has only empty lists
        is_array[:] = True
        is_array[events] = is_array[found.nulls] = False
    if is_list(values.type):
        is_array[events[valid(values)]] = True
        sizes = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False)
        return Elements(plain_layout(flatten_lists(values)), np.repeat(events, sizes), is_array)
    places = present(values)
    is_array[events[places]] = True
    return Elements(take(values, places), events[places], is_array)

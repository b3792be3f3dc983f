"""Read the rows of columns as mappings of Python values, for functions that no vector computes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import tzinfo
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ruledex.events.arrow.columns import EventColumns, field_of, is_list, plain_layout
from ruledex.events.arrow.taking import Array, flatten_lists, valid
from ruledex.events.arrow.values import OPAQUE, distinct, is_nameless, to_python


def rows_of(columns: EventColumns, names: Collection[str], zone: tzinfo) -> list[dict[str, Any]]:
    """Return one mapping per event, with its values under some names."""
    every = np.arange(columns.n_events)
    found = {name: values_in(columns.taken(name, every), zone) for name in columns.names if name in names}
    return [{name: values[event] for name, values in found.items()} for event in range(columns.n_events)]


def values_in(given: Array, zone: tzinfo) -> list[Any]:
    """Return the values of an array, with None for null. A struct or a map is a mapping, and a list is a list."""
    array = plain_layout(given)
    kind = array.type
    if is_list(kind):
        elements = values_in(flatten_lists(array), zone)
        sizes = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
        ends = [0, *np.cumsum(sizes).tolist()]
        lists = [elements[begin:end] for begin, end in pairwise(ends)]
        return _where_valid(array, lists)
    if pa.types.is_struct(kind):
        fields = {field.name: values_in(field_of(array, field.name), zone) for field in kind}
        return _where_valid(array, [{name: of[at] for name, of in fields.items()} for at in range(len(array))])
    if pa.types.is_map(kind):
        keys, items = values_in(array.keys, zone), values_in(array.items, zone)
        ends = array.offsets.to_numpy().tolist()
        maps = [dict(zip(keys[begin:end], items[begin:end], strict=True)) for begin, end in pairwise(ends)]
        return _where_valid(array, maps)
    if is_nameless(kind) and not pa.types.is_dictionary(kind):
        return _where_valid(array, [OPAQUE] * len(array))
    coded = distinct(array)
    values = [*to_python(coded.values, zone), None]  # the last is that of the code -1
    return [values[code] for code in coded.codes.tolist()]


def _where_valid(array: Array, values: list[Any]) -> list[Any]:
    if not array.null_count:
        return values
    return [value if is_there else None for value, is_there in zip(values, valid(array).tolist(), strict=True)]

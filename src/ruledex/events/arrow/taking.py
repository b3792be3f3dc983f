"""Elements of an Arrow array by their places, whatever its layout.

Arrow takes from most layouts, not from views of texts nor from run ends, and its casts between layouts of nested arrays
are wrong in some cases: they turn empty lists of a view into others, or end the process. So nothing nested is cast
here: lists are read by their own offsets and sizes, and what is taken has the older layouts, without dictionaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Array: TypeAlias = Any  # pyarrow has no types of its own
Places: TypeAlias = NDArray[np.int64]

_OLDER: Final = {pa.string_view().id: pa.large_string(), pa.binary_view().id: pa.large_binary()}


def taken(array: Array, places: Places) -> Array:
    """The elements at some places, null where a place is negative."""
    kind = array.type
    if _is_taken_by_arrow(kind):
        return array.take(pa.array(places, mask=places < 0) if (places < 0).any() else pa.array(places))
    if isinstance(array, pa.ExtensionArray):
        return taken(array.storage, places)
    if kind.id in _OLDER:
        return taken(array.cast(_OLDER[kind.id]), places)
    if pa.types.is_run_end_encoded(kind):
        ends = array.run_ends.to_numpy()
        runs = np.searchsorted(ends, places + array.offset, side="right")
        return taken(array.values, np.where(places < 0, -1, runs))
    if pa.types.is_dictionary(kind):
        return taken(array.dictionary, _gathered(_codes(array), places, -1))
    places = np.where(_gathered(valid(array), places, False), places, -1)
    if pa.types.is_struct(kind):
        return _taken_structs(array, places)
    return _taken_lists(array, places)


def decoded(array: Array) -> Array:
    """The same elements, one after the other, without views, run ends and dictionaries at any depth."""
    return taken(array, np.arange(len(array)))


def takeable(array: Array) -> Array:
    """The same elements in a layout that Arrow itself takes from, for whoever takes from it many times."""
    return array if _is_taken_by_arrow(array.type) else decoded(array)


def joined(chunks: Sequence[Array]) -> Array:
    """The elements of all chunks, which are of one type, as one array."""
    try:
        return pa.concat_arrays(chunks)
    except pa.ArrowException:  # of dictionaries with a null among their values, for one
        return pa.concat_arrays([decoded(chunk) for chunk in chunks])


def flattened(lists: Array) -> Array:
    """The elements of all lists that are not null, one list after the other."""
    try:
        return lists.flatten()
    except pa.ArrowException:  # of dictionaries of lists, for one, where some list is null
        begins, sizes = _bounds(lists)
        return taken(lists.values, _ranges(begins, np.where(valid(lists), sizes, 0)))


def valid(array: Array) -> NDArray[np.bool_]:
    """For each element whether it is there."""
    is_there: NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return is_there


@lru_cache(256)
def _is_taken_by_arrow(kind: Any) -> bool:
    """Whether Arrow itself takes elements of a type: it has no views, run ends or dictionaries at any depth."""
    if isinstance(kind, pa.BaseExtensionType) or kind.id in _OLDER or pa.types.is_run_end_encoded(kind):
        return False
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind) or pa.types.is_dictionary(kind):
        return False
    if pa.types.is_map(kind):
        return _is_taken_by_arrow(kind.key_type) and _is_taken_by_arrow(kind.item_type)
    return all(_is_taken_by_arrow(kind.field(number).type) for number in range(kind.num_fields))


def _taken_structs(array: Array, places: Places) -> Array:
    children = [taken(array.field(number), places) for number in range(array.type.num_fields)]
    fields = [pa.field(field.name, child.type) for field, child in zip(array.type, children, strict=True)]
    bitmap = np.packbits(places >= 0, bitorder="little")
    return pa.Array.from_buffers(pa.struct(fields), len(places), [pa.py_buffer(bitmap)], children=children)


def _taken_lists(array: Array, places: Places) -> Array:
    """Lists of any layout as large lists, and maps as maps."""
    begins, sizes = _bounds(array)
    begins, sizes = _gathered(begins, places, 0), _gathered(sizes, places, 0)
    offsets = np.zeros(len(places) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    elements = _ranges(begins, sizes)
    is_null = pa.array(places < 0)
    if pa.types.is_map(array.type):
        keys, items = taken(array.keys, elements), taken(array.items, elements)
        return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, items, mask=is_null)
    return pa.LargeListArray.from_arrays(pa.array(offsets), taken(array.values, elements), mask=is_null)


def _bounds(array: Array) -> tuple[Places, Places]:
    """The place of the first element of each list among all elements, and how many it has."""
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        begins = np.arange(array.offset, array.offset + len(array)) * kind.list_size
        return begins, np.full(len(array), kind.list_size, np.int64)
    begins = array.offsets.to_numpy().astype(np.int64)
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return begins, array.sizes.to_numpy().astype(np.int64)
    return begins[:-1], np.diff(begins)


def _ranges(begins: Places, sizes: Places) -> Places:
    """As many places from each of the begins on as its size says."""
    before = np.cumsum(sizes) - sizes
    ranges: Places = np.arange(sizes.sum()) + np.repeat(begins - before, sizes)
    return ranges


def _codes(array: Array) -> Places:
    codes: Places = pc.fill_null(array.indices.cast(pa.int64()), -1).to_numpy()
    return codes


def _gathered(given: NDArray[Any], places: Places, of_null: Any) -> NDArray[Any]:
    """What is given for each place, and for a negative one something else."""
    if not len(given):
        return np.full(len(places), of_null, given.dtype)
    return np.where(places < 0, of_null, given[places])

"""Take elements of an Arrow array by their places, whatever its layout.

Arrow takes from most layouts, but not from views of texts or run ends. Its casts between layouts of nested arrays are
wrong in some cases: they change empty lists of a view, or end the process. So nothing nested is cast here. Lists are
read by their own offsets and sizes, and the result has the older layouts, without dictionaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.errors import EventError

Array: TypeAlias = Any  # pyarrow has no types of its own
Places: TypeAlias = NDArray[np.int64]

_OLDER: Final = {pa.string_view().id: pa.large_string(), pa.binary_view().id: pa.large_binary()}


def take(array: Array, places: Places) -> Array:
    """Return the elements at some places, null where a place is negative."""
    kind = array.type
    if _is_taken_by_arrow(kind):
        return array.take(pa.array(places, mask=places < 0) if (places < 0).any() else pa.array(places))
    if isinstance(array, pa.ExtensionArray):
        return take(storage_of(array), places)
    if kind.id in _OLDER:
        return take(array.cast(_OLDER[kind.id]), places)
    if pa.types.is_run_end_encoded(kind):
        ends = array.run_ends.to_numpy()
        runs = np.searchsorted(ends, places + array.offset, side="right")
        return take(array.values, np.where(places < 0, -1, runs))
    if pa.types.is_dictionary(kind):
        return take(array.dictionary, _gather(_codes(array), places, -1))
    places = np.where(_gather(valid(array), places, False), places, -1)
    if pa.types.is_struct(kind):
        return _take_structs(array, places)
    return _take_lists(array, places)


def decode_layout(array: Array) -> Array:
    """Return the same elements without views, run ends and dictionaries at any depth."""
    return take(array, np.arange(len(array)))


def make_takeable(array: Array) -> Array:
    """Return the same elements in a layout that Arrow itself takes from, for taking from it many times."""
    return array if _is_taken_by_arrow(array.type) else decode_layout(array)


def storage_of(array: Array) -> Array:
    """Return an array of an extension type as the values that it stands for: a UUID is a text, as in a mapping."""
    kind = array.type
    if isinstance(kind, pa.Bool8Type):
        return array.cast(pa.bool_())
    if kind.extension_name == "arrow.uuid":
        texts = (None if value is None else str(UUID(bytes=value)) for value in array.storage.to_pylist())
        return pa.array(texts, pa.string())
    if kind.extension_name == "pandas.period":
        message = "a column of periods has only their numbers in Arrow: write them as texts, or give the frame itself"
        raise EventError(message)
    return array.storage


def join_chunks(chunks: Sequence[Array]) -> Array:
    """Return the elements of all chunks, which are of one type, as one array."""
    try:
        return pa.concat_arrays(chunks)
    except pa.ArrowException:  # of dictionaries with a null among their values, for one
        return pa.concat_arrays([decode_layout(chunk) for chunk in chunks])


def flatten_lists(lists: Array) -> Array:
    """Return the elements of all lists that are not null, list by list."""
    try:
        return lists.flatten()
    except pa.ArrowException:  # of dictionaries of lists, for one, where some list is null
        begins, sizes = _bounds(lists)
        return take(lists.values, _ranges(begins, np.where(valid(lists), sizes, 0)))


def valid(array: Array) -> NDArray[np.bool_]:
    """Return for each element whether it is not null."""
    is_there: NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return is_there


@lru_cache(256)
def _is_taken_by_arrow(kind: Any) -> bool:
    """Whether Arrow itself takes elements of a type: if it has no views, run ends or dictionaries at any depth."""
    if isinstance(kind, pa.BaseExtensionType) or kind.id in _OLDER or pa.types.is_run_end_encoded(kind):
        return False
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind) or pa.types.is_dictionary(kind):
        return False
    if pa.types.is_map(kind):
        return _is_taken_by_arrow(kind.key_type) and _is_taken_by_arrow(kind.item_type)
    return all(_is_taken_by_arrow(kind.field(number).type) for number in range(kind.num_fields))


def _take_structs(array: Array, places: Places) -> Array:
    children = [take(array.field(number), places) for number in range(array.type.num_fields)]
    fields = [pa.field(field.name, child.type) for field, child in zip(array.type, children, strict=True)]
    bitmap = np.packbits(places >= 0, bitorder="little")
    return pa.Array.from_buffers(pa.struct(fields), len(places), [pa.py_buffer(bitmap)], children=children)


def _take_lists(array: Array, places: Places) -> Array:
    """Return lists of any layout as large lists, and maps as maps."""
    begins, sizes = _bounds(array)
    begins, sizes = _gather(begins, places, 0), _gather(sizes, places, 0)
    offsets = np.zeros(len(places) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    elements = _ranges(begins, sizes)
    is_null = pa.array(places < 0)
    if pa.types.is_map(array.type):
        keys, items = take(array.keys, elements), take(array.items, elements)
        return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, items, mask=is_null)
    return pa.LargeListArray.from_arrays(pa.array(offsets), take(array.values, elements), mask=is_null)


def _bounds(array: Array) -> tuple[Places, Places]:
    """Return the place of the first element of each list among all elements, and its length."""
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        begins = np.arange(array.offset, array.offset + len(array)) * kind.list_size
        return begins, np.full(len(array), kind.list_size, np.int64)
    begins = array.offsets.to_numpy().astype(np.int64)
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return begins, array.sizes.to_numpy().astype(np.int64)
    return begins[:-1], np.diff(begins)


def _ranges(begins: Places, sizes: Places) -> Places:
    """Return the places of all ranges that begin at `begins` and have these sizes."""
    before = np.cumsum(sizes) - sizes
    ranges: Places = np.arange(sizes.sum()) + np.repeat(begins - before, sizes)
    return ranges


def _codes(array: Array) -> Places:
    codes: Places = pc.fill_null(array.indices.cast(pa.int64()), -1).to_numpy()
    return codes


def _gather(given: NDArray[Any], places: Places, of_null: Any) -> NDArray[Any]:
    """Return `given[place]` for each place, and `of_null` for a negative one."""
    if not len(given):
        return np.full(len(places), of_null, given.dtype)
    return np.where(places < 0, of_null, given[places])

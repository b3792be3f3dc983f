"""Random Arrow arrays of nested types, made buffer by buffer, so that nothing of Arrow's own stands between values and
array: lists of views lie in any order, and what is null has values below it all the same."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

WORDS = ["a", "b", "", "cde", "a text that is too long to lie inside of a view"]
KEYS = ["q", "r", "s"]
SCALARS = [pa.int64(), pa.int8(), pa.uint64(), pa.float32(), pa.string(), pa.large_string(), pa.string_view()]
SCALARS += [pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint16(), pa.int64()), pa.bool_(), pa.null()]


def drawn_type(random: Random, depth: int) -> Any:
    """A type whose lists, structs and maps nest `depth` deep at the most."""
    if depth == 0:
        return random.choice(SCALARS)

    def inner() -> Any:
        return drawn_type(random, depth - 1)

    kinds = ["scalar", "list", "large", "fixed", "view", "large view", "struct", "map", "map", "runs", "dictionary"]
    match random.choice(kinds):
        case "list":
            return pa.list_(inner())
        case "large":
            return pa.large_list(inner())
        case "fixed":
            return pa.list_(inner(), random.choice([0, 1, 2]))
        case "view":
            return pa.list_view(inner())
        case "large view":
            return pa.large_list_view(inner())
        case "struct":
            return pa.struct([(name, inner()) for name in KEYS[: random.choice([1, 2])]])
        case "map":
            return pa.map_(random.choice([pa.string(), pa.string_view()]), inner())
        case "runs":
            return pa.run_end_encoded(random.choice([pa.int16(), pa.int32()]), inner())
        case "dictionary":
            return pa.dictionary(pa.int16(), inner())
    return random.choice(SCALARS)


def drawn_value(random: Random, kind: Any, may_be_null: bool = True) -> Any:
    """A value of a type as Python has it, with nulls at every level."""
    if pa.types.is_null(kind) or (may_be_null and random.random() < 0.2):
        return None
    if pa.types.is_boolean(kind):
        return random.random() < 0.5
    if pa.types.is_integer(kind):
        return random.randrange(5)
    if pa.types.is_floating(kind):
        return random.choice([0.0, 1.0, 2.5])
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return drawn_value(random, kind.value_type, may_be_null)
    if pa.types.is_struct(kind):
        return {field.name: drawn_value(random, field.type) for field in kind}
    if pa.types.is_map(kind):
        return {key: drawn_value(random, kind.item_type) for key in random.sample(KEYS, random.randrange(4))}
    if pa.types.is_nested(kind):
        size = kind.list_size if pa.types.is_fixed_size_list(kind) else random.randrange(4)
        return [drawn_value(random, kind.value_type) for _ in range(size)]
    return random.choice(WORDS)


def array_of(random: Random, values: list[Any], kind: Any) -> Any:
    """An array of these values."""
    if pa.types.is_dictionary(kind):
        return _dictionary(random, values, kind)
    if pa.types.is_run_end_encoded(kind):
        return _runs(random, values, kind)
    if not pa.types.is_nested(kind):
        return pa.array(values, kind)
    if pa.types.is_struct(kind):
        below = [_or_any(random, value, kind) for value in values]
        children = [array_of(random, [value[field.name] for value in below], field.type) for field in kind]
        return pa.Array.from_buffers(kind, len(values), [_bitmap(values)], children=children)
    if pa.types.is_fixed_size_list(kind):
        elements = [element for value in values for element in _or_any(random, value, kind)]
        child = array_of(random, elements, kind.value_type)
        return pa.Array.from_buffers(kind, len(values), [_bitmap(values)], children=[child])
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return _views(random, values, kind)
    return _lists(random, values, kind)


def drawn_chunks(random: Random) -> tuple[Any, list[Any], list[Any]]:
    """A type, a column of it in some chunks, of which some are slices, and the column's values."""
    kind = drawn_type(random, random.choice([0, 1, 2, 2, 3]))
    chunks, values = [], []
    for _ in range(random.choice([1, 1, 2, 3])):
        given = [drawn_value(random, kind) for _ in range(random.randrange(6))]
        array = array_of(random, given, kind)
        array.validate(full=True)
        begin = random.randrange(len(given) + 1)
        end = random.randrange(begin, len(given) + 1) if random.random() < 0.5 else len(given)
        chunks.append(array.slice(begin, end - begin))
        values += given[begin:end]
    return kind, chunks, values


def _dictionary(random: Random, values: list[Any], kind: Any) -> Any:
    entries: list[Any] = [drawn_value(random, kind.value_type, False)]  # which nothing need refer to
    codes: list[int | None] = []
    for value in values:
        if value is None and random.random() < 0.5:
            codes.append(None)
        else:
            codes.append(len(entries))
            entries.append(value)
    return pa.DictionaryArray.from_arrays(pa.array(codes, kind.index_type), array_of(random, entries, kind.value_type))


def _runs(random: Random, values: list[Any], kind: Any) -> Any:
    ends, runs = [], []
    for place, value in enumerate(values):
        if runs and runs[-1] == value and random.random() < 0.8:
            ends[-1] = place + 1
        else:
            ends.append(place + 1)
            runs.append(value)
    return pa.RunEndEncodedArray.from_arrays(
        pa.array(ends, kind.run_end_type), array_of(random, runs, kind.value_type), kind
    )


def _views(random: Random, values: list[Any], kind: Any) -> Any:
    elements: list[Any] = []
    offsets, sizes = [0] * len(values), [0] * len(values)
    for place in random.sample(range(len(values)), len(values)):
        if random.random() < 0.3:
            elements.append(drawn_value(random, kind.value_type))  # of no list
        below = _or_any(random, values[place], kind)
        offsets[place], sizes[place] = len(elements), len(below)
        elements += below
    for place, size in enumerate(sizes):
        if size == 0:
            offsets[place] = random.randrange(len(elements) + 1)
    width = np.int32 if pa.types.is_list_view(kind) else np.int64
    buffers = [_bitmap(values), pa.py_buffer(np.array(offsets, width)), pa.py_buffer(np.array(sizes, width))]
    children = [array_of(random, elements, kind.value_type)]
    return pa.Array.from_buffers(kind, len(values), buffers, children=children)


def _lists(random: Random, values: list[Any], kind: Any) -> Any:
    below = [_or_any(random, value, kind) for value in values]
    offsets = np.cumsum([0, *map(len, below)])
    if pa.types.is_map(kind):
        keys = pa.array([key for value in below for key in value], kind.key_type)
        items = array_of(random, [item for value in below for item in value.values()], kind.item_type)
        fields = [pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)]
        child = pa.StructArray.from_arrays([keys, items], fields=fields)
    else:
        child = array_of(random, [element for value in below for element in value], kind.value_type)
    width = np.int64 if pa.types.is_large_list(kind) else np.int32
    buffers = [_bitmap(values), pa.py_buffer(offsets.astype(width))]
    return pa.Array.from_buffers(kind, len(values), buffers, children=[child])


def _or_any(random: Random, value: Any, kind: Any) -> Any:
    """A value, or where it is null something that lies below it and means nothing."""
    if value is not None:
        return value
    if random.random() < 0.5 or pa.types.is_struct(kind) or pa.types.is_fixed_size_list(kind):
        return drawn_value(random, kind, False)
    return {} if pa.types.is_map(kind) else []


def _bitmap(values: list[Any]) -> Any:
    is_there = [value is not None for value in values]
    return None if all(is_there) else pa.py_buffer(np.packbits(is_there, bitorder="little"))

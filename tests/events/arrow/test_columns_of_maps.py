"""Maps of a table by their keys: as mappings, whatever lies in the buffers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Schema
from ruledex.events.arrow.encoder import encode_arrow
from ruledex.events.mappings import EventEncoder
from tests.events.arrow.test_encoder import dictionary_of, same

RULES = ["m.a = 1", "m.b IS NULL", "m.b != 2", "abs(m.a) = 3", "m.c.d > 1", "m.a < m.b", "m.c IN (4, 5)"]


@pytest.fixture(scope="module")
def dictionary():
    return dictionary_of(RULES, Schema())


def test_entries_of_a_map_that_is_null_count_for_nothing(dictionary):
    keys, items = pa.array(["a", "a", "b", "a"]), pa.array([1, 3, 5, 3])
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 3, 4], pa.int32()), keys, items)
    buffers = maps.buffers()
    hidden = pa.Array.from_buffers(maps.type, 3, [pa.py_buffer(bytes([0b101])), buffers[1]], children=[maps.values])
    rows = [{"m": {"a": 1}}, {"m": None}, {"m": {"a": 3}}]
    assert hidden.null_count == 1
    assert same(encode_arrow(dictionary, pa.table({"m": hidden})), EventEncoder(dictionary).encode(rows))
    assert same(encode_arrow(dictionary, pa.table({"m": hidden})[1:]), EventEncoder(dictionary).encode(rows[1:]))


@pytest.mark.parametrize(
    "keys",
    [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    ids=["large", "view", "dictionary"],
)
def test_keys_are_texts_in_any_layout(dictionary, keys):
    texts = pa.array(["b", "a", "b"])
    texts = texts.dictionary_encode().cast(keys) if pa.types.is_dictionary(keys) else texts.cast(keys)
    maps = pa.MapArray.from_arrays(pa.array([0, 2, 2, 3], pa.int32()), texts, pa.array([2, 1, 7]))
    rows = [{"m": {"b": 2, "a": 1}}, {"m": {}}, {"m": {"b": 7}}]
    assert same(encode_arrow(dictionary, pa.table({"m": maps})), EventEncoder(dictionary).encode(rows))


def test_no_attribute_is_under_a_key_that_is_no_text(dictionary):
    maps = pa.array([[(1, 1)], []], pa.map_(pa.int64(), pa.int64()))
    assert same(encode_arrow(dictionary, pa.table({"m": maps})), EventEncoder(dictionary).encode([{}, {}]))


@pytest.mark.parametrize("n_keys", [3, 300, 70_000])  # whose numbers have one byte, two, and four
def test_an_entry_is_found_among_any_number_of_keys(n_keys):
    kept = [0, n_keys // 2, n_keys - 1]
    dictionary = dictionary_of([f"m.k{key} = {key % 7}" for key in kept], Schema())
    drawn = np.random.default_rng(0).permutation(n_keys).tolist()
    rows = [{"m": {f"k{key}": key % 7 for key in drawn[start::4]}} for start in range(4)]
    maps = pa.array([list(row["m"].items()) for row in rows], pa.map_(pa.string(), pa.int64()))
    assert same(encode_arrow(dictionary, pa.table({"m": maps})), EventEncoder(dictionary).encode(rows))


def test_chunks_of_maps_are_read_as_one(dictionary):
    rows = [{"m": {"a": 1}}, {"m": {"b": 2, "a": 3}}, {"m": {}}, {"m": None}]
    maps = pa.array([row["m"] and list(row["m"].items()) for row in rows], pa.map_(pa.string(), pa.int64()))
    table = pa.table({"m": maps})
    chunked = pa.concat_tables([table[:1], table[1:1], table[1:]])
    assert same(encode_arrow(dictionary, chunked), EventEncoder(dictionary).encode(rows))
